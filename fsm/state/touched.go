package state

// Touched names what an event changed that scheduling depends on: the order of queues and
// applications, their limits, and what is free. A slot is 0 if the event changed no such record.
// The scheduler keeps its views by it.
type Touched struct {
	App         uint32 // an application: its state, its asks, or what it uses
	User, Queue uint32 // the user and the leaf that it had before the event
	Node        uint32 // a node: what is free on it, or whether it is usable
	Cluster     bool   // the sum of the usable nodes may have changed
	Tree        bool   // the queues were configured, or dynamic ones removed
	Created     uint32 // a dynamic queue that was created
	Labels      bool   // labels, or labels of nodes with what is charged for them
	Uses        uint64 // what queues and users have of partitions: bit n%64 of label n, bit 0 of none
}

// Touched is what the last event touched. Each method that applies an event says so with touchApp
// and touchNode.
func (s *State) Touched() Touched { return s.touched }

// touchApp must come before a change of the application's user or leaf.
func (s *State) touchApp(slot uint32, a *App) {
	s.touched.App, s.touched.User, s.touched.Queue = slot, a.UserSlot, a.Queue
}

func (s *State) touchNode(slot uint32) { s.touched.Node = slot }

// touchContainer touches a container's application and its node.
func (s *State) touchContainer(c *Container) {
	s.touchApp(c.App, s.Apps.Get(c.App))
	s.touchNode(c.Node)
}
