package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// NodeApplication records that a NodeManager has or had containers of an application and must learn
// of the application's end; see nodeapplication.go.
type NodeApplication struct {
	App  yarn.ApplicationID
	Slot AppSlot // the App; 0: it has ended, and this is a pending cleanup
	Node NodeSlot

	prevNode, nextNode NodeApplicationSlot
	nextApp            NodeApplicationSlot
}

// NextOnNode returns the slot of the node's next NodeApplication, or 0.
func (p *NodeApplication) NextOnNode() NodeApplicationSlot { return p.nextNode }

func (p *NodeApplication) code(c *codec.Coder) {
	c.ApplicationID(&p.App)
	codec.Slot(c, &p.Slot)
	codec.Slot(c, &p.Node)
	codec.Slot(c, &p.prevNode)
	codec.Slot(c, &p.nextNode)
	codec.Slot(c, &p.nextApp)
}

// NodeApplications is the table of what NodeManagers keep of applications.
type NodeApplications struct {
	table.Keyed[NodeApplicationSlot, NodeApplication, *NodeApplication]
}

// A NodeApplication records that a NodeManager must learn of an application's end, by
// applicationsToCleanup in YARN's heartbeat response. The NodeManager then aggregates the logs and
// removes the files. Simulated nodes keep no files, so they have no NodeApplications.
//
// A NodeApplication is in up to two lists. The node's list has all of its NodeApplications. The
// application's list has those of a running application. When the application ends, its
// NodeApplications leave that list and become pending cleanups of their nodes, until the node has
// acknowledged them (CleanupsAcked), registers again, or leaves.

func hashNodeApplication(app yarn.ApplicationID, node NodeSlot) uint64 {
	return table.Mix(table.Mix(uint64(app.ClusterTimestamp)^uint64(app.Seq)<<32) ^ uint64(node))
}

func (p *NodeApplication) Hash() uint64 { return hashNodeApplication(p.App, p.Node) }

func (p *NodeApplication) Same(other *NodeApplication) bool {
	return p.App == other.App && p.Node == other.Node
}

// Find returns the slot of the record for an application on a node, or 0 if there is
// none.
func (t *NodeApplications) Find(app yarn.ApplicationID, node NodeSlot) NodeApplicationSlot {
	return t.Lookup(hashNodeApplication(app, node), func(p *NodeApplication) bool {
		return p.Node == node && p.App == app
	})
}

// track records that a NodeManager has a container of an application. If the node has a pending
// cleanup for the same application id, track removes the cleanup, because the cleanup would
// delete the files of this application.
func (t *NodeApplications) track(m *Meta, app AppSlot, a *App, node NodeSlot, n *Node) {
	if slot := t.Find(a.ID, node); slot != 0 {
		if t.Get(slot).Slot == 0 {
			p := t.Mut(slot)
			p.Slot, p.nextApp = app, a.NodeApplications
			a.NodeApplications = slot
			n.PendingCleanups--
			m.fold(uint64(slot)<<32 | uint64(node))
		}
		return
	}
	slot, p := t.Alloc()
	*p = NodeApplication{App: a.ID, Slot: app, Node: node, nextNode: n.NodeApplications, nextApp: a.NodeApplications}
	if n.NodeApplications != 0 {
		t.Mut(n.NodeApplications).prevNode = slot
	}
	n.NodeApplications, a.NodeApplications = slot, slot
	t.Insert(slot)
	m.fold(uint64(slot)<<32 | uint64(node))
}

// endNodeApplications turns the NodeApplications of an application that has ended into pending
// cleanups of their nodes. A node that takes no commands gets none: when it registers again, it
// reports what it still keeps.
func (s *Cluster) endNodeApplications(a *App) {
	for slot := a.NodeApplications; slot != 0; {
		p := s.NodeApplications.Mut(slot)
		next := p.nextApp
		p.Slot, p.nextApp = 0, 0
		n := s.Nodes.Mut(p.Node)
		n.PendingCleanups++
		if !n.takesCommands() {
			s.NodeApplications.drop(&s.Meta, slot, n)
		}
		slot = next
	}
	a.NodeApplications = 0
}

// takesCommands reports whether a node is a NodeManager that sends heartbeats, and so receives
// cleanups and removals in the responses.
func (n *Node) takesCommands() bool { return n.NodeManager && n.Heard() }

// drop removes a pending cleanup, which is only in the node's list.
func (t *NodeApplications) drop(m *Meta, slot NodeApplicationSlot, n *Node) {
	p := t.Get(slot)
	if p.prevNode != 0 {
		t.Mut(p.prevNode).nextNode = p.nextNode
	} else {
		n.NodeApplications = p.nextNode
	}
	if p.nextNode != 0 {
		t.Mut(p.nextNode).prevNode = p.prevNode
	}
	n.PendingCleanups--
	m.fold(uint64(slot))
	t.Release(slot)
}

// dropCleanups removes all pending cleanups of a node.
func (t *NodeApplications) dropCleanups(m *Meta, n *Node) {
	for slot := n.NodeApplications; slot != 0 && n.PendingCleanups > 0; {
		next := t.Get(slot).nextNode
		if t.Get(slot).Slot == 0 {
			t.drop(m, slot, n)
		}
		slot = next
	}
}

// trackApps records the applications with containers on a node. The node may have been a simulated
// one when the containers were allocated.
func (s *Cluster) trackApps(node NodeSlot, n *Node) {
	for _, c := range s.Containers.On(n) {
		app := c.App
		if a := s.Apps.Get(app); !a.State.Ended() {
			s.NodeApplications.track(&s.Meta, app, s.Apps.Mut(app), node, n)
		}
	}
}

var _ = applies((*State).cleanupsAcked)

func (s *Cluster) cleanupsAcked(e *event.CleanupsAcked) error {
	if !s.Nodes.Has(e.Node) {
		return broken(e, "no such node")
	}
	for i, id := range e.Apps {
		if slot := s.NodeApplications.Find(id, e.Node); slot == 0 || s.NodeApplications.Get(slot).Slot != 0 || (i > 0 && !before(e.Apps[i-1], id)) {
			return broken(e, "%s is not to be cleared away there, or out of order", id)
		}
	}
	n := s.Nodes.Mut(e.Node)
	for _, id := range e.Apps {
		s.NodeApplications.drop(&s.Meta, s.NodeApplications.Find(id, e.Node), n)
	}
	return nil
}

// before orders applications by cluster timestamp and sequence number.
func before(a, b yarn.ApplicationID) bool {
	return a.ClusterTimestamp < b.ClusterTimestamp || (a.ClusterTimestamp == b.ClusterTimestamp && a.Seq < b.Seq)
}

var _ = applies((*State).containerSignalled)

func (s *Cluster) containerSignalled(e *event.ContainerSignalled) error {
	slot, c, err := s.containerOf(e, e.Container)
	if err != nil {
		return err
	}
	if e.Command == c.Signal || !c.OnNode || !c.State.Live() {
		return broken(e, "it is %s, with signal %d", c.State, c.Signal)
	}
	s.Nodes.changeCommand(c, func() { c.Signal = e.Command })
	s.fold(uint64(slot)<<8 | uint64(e.Command))
	return nil
}

var nodeApplicationPart = derived{part: keyedRows(17, "node-applications", func(s *State) *table.Keyed[NodeApplicationSlot, NodeApplication, *NodeApplication] {
	return &s.NodeApplications.Keyed
}, (*NodeApplication).code),
	agrees: (*State).checkNodeApplications}
