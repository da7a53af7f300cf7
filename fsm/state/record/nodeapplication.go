package record

import (
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

	PrevNode, NextNode NodeApplicationSlot
	NextApp            NodeApplicationSlot
}

// NextOnNode returns the slot of the node's next NodeApplication, or 0.
func (p *NodeApplication) NextOnNode() NodeApplicationSlot { return p.NextNode }

// Code encodes the record, or decodes into it.
func (p *NodeApplication) Code(c *codec.Coder) {
	c.ApplicationID(&p.App)
	codec.Slot(c, &p.Slot)
	codec.Slot(c, &p.Node)
	codec.Slot(c, &p.PrevNode)
	codec.Slot(c, &p.NextNode)
	codec.Slot(c, &p.NextApp)
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

// Hash returns the hash of the key.
func (p *NodeApplication) Hash() uint64 { return hashNodeApplication(p.App, p.Node) }

// Same reports whether the keys are equal.
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

// Track records that a NodeManager has a container of an application. If the node has a pending
// cleanup for the same application id, track removes the cleanup, because the cleanup would
// delete the files of this application.
func (t *NodeApplications) Track(m *Meta, app AppSlot, a *App, node NodeSlot, n *Node) {
	if slot := t.Find(a.ID, node); slot != 0 {
		if t.Get(slot).Slot == 0 {
			p := t.Mut(slot)
			p.Slot, p.NextApp = app, a.NodeApplications
			a.NodeApplications = slot
			n.PendingCleanups--
			m.Fold(uint64(slot)<<32 | uint64(node))
		}
		return
	}
	slot, p := table.Alloc(&t.Keyed.Table)
	*p = NodeApplication{App: a.ID, Slot: app, Node: node, NextNode: n.NodeApplications, NextApp: a.NodeApplications}
	if n.NodeApplications != 0 {
		t.Mut(n.NodeApplications).PrevNode = slot
	}
	n.NodeApplications, a.NodeApplications = slot, slot
	table.InsertKeyed(&t.Keyed, slot)
	m.Fold(uint64(slot)<<32 | uint64(node))
}

// TakesCommands reports whether a node is a NodeManager that sends heartbeats, and so receives
// cleanups and removals in the responses.
func (n *Node) TakesCommands() bool { return n.NodeManager && n.Heard() }

// Drop removes a pending cleanup, which is only in the node's list.
func (t *NodeApplications) Drop(m *Meta, slot NodeApplicationSlot, n *Node) {
	p := t.Get(slot)
	if p.PrevNode != 0 {
		t.Mut(p.PrevNode).NextNode = p.NextNode
	} else {
		n.NodeApplications = p.NextNode
	}
	if p.NextNode != 0 {
		t.Mut(p.NextNode).PrevNode = p.PrevNode
	}
	n.PendingCleanups--
	m.Fold(uint64(slot))
	table.ReleaseKeyed(&t.Keyed, slot)
}

// DropCleanups removes all pending cleanups of a node.
func (t *NodeApplications) DropCleanups(m *Meta, n *Node) {
	for slot := n.NodeApplications; slot != 0 && n.PendingCleanups > 0; {
		next := t.Get(slot).NextNode
		if t.Get(slot).Slot == 0 {
			t.Drop(m, slot, n)
		}
		slot = next
	}
}

// LeaveNode removes a NodeApplication from its application's list.
func (t *NodeApplications) LeaveNode(a *App, slot NodeApplicationSlot) {
	next := t.Get(slot).NextApp
	if a.NodeApplications == slot {
		a.NodeApplications = next
		return
	}
	at := a.NodeApplications
	for t.Get(at).NextApp != slot {
		at = t.Get(at).NextApp
	}
	t.Mut(at).NextApp = next
}
