package api

// Labels are the node labels of the cluster. The first one, whose name is empty, stands for the nodes
// without a label.
type Labels struct {
	Enabled bool    `json:"enabled"`          // yarn.node-labels.enabled
	Source  string  `json:"source,omitempty"` // centralized, delegated-centralized, distributed
	Labels  []Label `json:"labels"`
}

// Label is a node label, with what its nodes have.
type Label struct {
	Name        string   `json:"name"`
	Exclusive   bool     `json:"exclusive"`
	Removed     bool     `json:"removed,omitempty"` // applications still ask for it
	Nodes       int      `json:"nodes"`             // registered ones
	UsableNodes int      `json:"usable_nodes"`
	Total       Resource `json:"total"` // of usable nodes
	Used        Resource `json:"used"`  // containers and reservations
	Reserved    Resource `json:"reserved"`
	Free        Resource `json:"free"`
	Pending     Resource `json:"pending"`
	Queues      int      `json:"queues"` // leaves that may use it
	WaitingApps int      `json:"waiting_apps"`
}

// LabelDetails are a label with the queues that may use it, or use it, and the applications that
// wait for it: the longest wait first, at most 100.
type LabelDetails struct {
	Label
	Shares []LabelShare `json:"queue_shares"`
	Apps   []LabelApp   `json:"apps"`
}

// LabelShare is what a queue has of a label. Percentages are of the parent, absolute ones of the nodes
// with the label.
type LabelShare struct {
	Queue      string `json:"queue"`
	Label      string `json:"label"`
	Accessible bool   `json:"accessible"` // it may use the label
	Default    bool   `json:"default,omitempty"`
	QueueShare
	Users []LabelUser `json:"users,omitempty"` // of a leaf: those that use the label
}

// LabelUser is what a user of a leaf has of a label.
type LabelUser struct {
	Name   string   `json:"name"`
	Used   Resource `json:"used"`
	AMUsed Resource `json:"am_used"`
	Limit  Resource `json:"limit"`
}

// LabelApp is an application that waits for containers on nodes with a label.
type LabelApp struct {
	ID            string   `json:"id"`
	Queue         string   `json:"queue"`
	User          string   `json:"user"`
	Outstanding   int64    `json:"outstanding"` // containers that it asks for there
	Pending       Resource `json:"pending"`
	AM            bool     `json:"am,omitempty"` // its ApplicationMaster waits
	WaitingMillis int64    `json:"waiting_ms,omitempty"`
}

// AddLabels adds labels. A label that exists keeps its exclusivity unless Change is set.
type AddLabels struct {
	Labels []NewLabel `json:"labels"`
	Change bool       `json:"change,omitempty"`
	DryRun bool       `json:"dry_run,omitempty"`
}

// NewLabel is a label to add. It is exclusive unless given.
type NewLabel struct {
	Name      string `json:"name"`
	Exclusive *bool  `json:"exclusive,omitempty"`
}

// RemoveLabels removes labels. Nodes that have one have none then.
type RemoveLabels struct {
	Names  []string `json:"names"`
	DryRun bool     `json:"dry_run,omitempty"`
}

// LabelMap is one page of the map from hosts and NodeManagers to labels, by host and port.
type LabelMap struct {
	Nodes []MappedNode `json:"nodes"`
	Next  string       `json:"next,omitempty"`
}

// MappedNode is a host with all its NodeManagers, or a NodeManager (host:port) whose label is not its
// host's.
type MappedNode struct {
	Node       string `json:"node"`
	Label      string `json:"label"`      // empty: none
	Registered int    `json:"registered"` // NodeManagers that have the label from here
}

// MapLabels gives hosts, or NodeManagers, labels: all of them or none.
type MapLabels struct {
	Nodes     []NodeLabel `json:"nodes"`
	KnownOnly bool        `json:"known_only,omitempty"` // refuse hosts that never registered
	DryRun    bool        `json:"dry_run,omitempty"`
}

// NodeLabel gives a host with all its NodeManagers, or one NodeManager (host:port), a label; empty:
// none.
type NodeLabel struct {
	Node  string `json:"node"`
	Label string `json:"label"`
}

// LabelChange tells what a change of labels did, or with DryRun would do.
type LabelChange struct {
	Index  uint64 `json:"index,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	// Unregistered are hosts and NodeManagers of the request that have not registered: at most 100.
	Unregistered []string `json:"unregistered,omitempty"`

	// The rest is told of a dry run. Containers on the nodes go on.
	Relabelled   int           `json:"relabelled,omitempty"` // registered nodes that get another label
	Containers   int64         `json:"containers,omitempty"` // live on them
	Reservations int           `json:"reservations,omitempty"`
	Nodes        []NodeRelabel `json:"nodes,omitempty"` // at most 100
}

// NodeRelabel is a registered node that gets another label.
type NodeRelabel struct {
	Node       string   `json:"node"`
	From       string   `json:"from"`
	To         string   `json:"to"`
	Containers int32    `json:"containers"`
	Used       Resource `json:"used"`
}
