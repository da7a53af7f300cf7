package state

// Touched names what an event changed that scheduling depends on: the order of queues and
// applications, their limits, and the free resources of nodes. A slot is 0 if the event changed no
// such record. The scheduler uses it to update its views.
type Touched struct {
	App         uint32 // its state, its asks or its use changed
	User, Queue uint32 // the user and the leaf of App before the event
	Node        uint32 // its free resources or its usability changed
	Cluster     bool   // the sum of usable nodes may have changed
	Tree        bool   // queues were configured, or dynamic queues were removed
	Created     uint32 // the dynamic queue that was created
	Labels      bool   // labels or the labels of nodes changed
	Uses        uint64 // partitions whose use changed: bit label%64
	Warnings    bool   // a container got a warning of preemption, or a warning ended
}

// Touched returns what the last event changed. Each method that applies an event calls touchApp and
// touchNode for it.
func (s *State) Touched() Touched { return s.touched }

// touchApp records a change of an application. The caller must call it before it changes the
// application's user or leaf.
func (s *State) touchApp(slot uint32, a *App) {
	s.touched.App, s.touched.User, s.touched.Queue = slot, a.UserSlot, a.Queue
}

func (s *State) touchNode(slot uint32) { s.touched.Node = slot }

// touchContainer records a change of a container's application and node.
func (s *State) touchContainer(c *Container) {
	s.touchApp(c.App, s.Apps.Get(c.App))
	s.touchNode(c.Node)
}
