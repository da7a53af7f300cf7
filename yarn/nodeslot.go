package yarn

// NodeSlot is the place of a node in the table of nodes, by which inputs and events name it; 0
// means none.
type NodeSlot uint32
