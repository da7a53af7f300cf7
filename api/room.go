package api

// Room says how whole the free resources of the nodes with one label are: what is free on one node,
// and how many nodes are free as a whole.
type Room struct {
	ServingNodes int `json:"serving_nodes"` // nodes that take containers
	EmptyNodes   int `json:"empty_nodes"`   // of these, nodes with neither a container nor a reservation
	// Largest names, for each resource kind, a node with most of it free. Nodes that are reserved or
	// over-committed do not count, nor do those where the smallest container does not fit. It is
	// empty if no container can start.
	Largest []LargestRoom `json:"largest_free"`
	// Blocked is the part of the free room that nobody may use, because what is reserved on other
	// nodes counts as used. A container may wait although it fits on one node.
	Blocked Resource `json:"blocked_by_reservations,omitempty"`
}

// LargestRoom is what is free on one node, which has more of some kinds free than all other nodes.
type LargestRoom struct {
	Node  string   `json:"node"`
	Kinds []string `json:"kinds"`
	Free  Resource `json:"free"` // on this node, of all kinds
}

// LabelRoom is the Room of a label.
type LabelRoom struct {
	Label string `json:"label"` // empty for the nodes without a label
	Room
}
