package event

// NodeSlot is the slot of a node in the table of nodes, by which events name it.
type NodeSlot uint32
