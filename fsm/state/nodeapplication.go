package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// endNodeApplications turns the NodeApplications of an application that has ended into pending
// cleanups of their nodes. A node that takes no commands gets none: when it registers again, it
// reports what it still keeps.
func (s *Cluster) endNodeApplications(a *App) {
	for slot := a.NodeApplications; slot != 0; {
		p := s.NodeApplications.Mut(slot)
		next := p.NextApp
		p.Slot, p.NextApp = 0, 0
		n := s.Nodes.Mut(p.Node)
		n.PendingCleanups++
		if !n.TakesCommands() {
			s.NodeApplications.Drop(&s.Meta, slot, n)
		}
		slot = next
	}
	a.NodeApplications = 0
}

// trackApps records the applications with containers on a node. The node may have been a simulated
// one when the containers were allocated.
func (s *Cluster) trackApps(node NodeSlot, n *Node) {
	for _, c := range s.Containers.On(n) {
		app := c.App
		if a := s.Apps.Get(app); !a.State.Ended() {
			s.NodeApplications.Track(&s.Meta, app, s.Apps.Mut(app), node, n)
		}
	}
}

var _ = applies((*State).cleanupsAcked)

func (s *Cluster) cleanupsAcked(e *event.CleanupsAcked) error {
	if !s.Nodes.Has(e.Node) {
		return broken(e, "no such node")
	}
	for i, id := range e.Apps {
		if slot := s.NodeApplications.Find(id, e.Node); slot == 0 || s.NodeApplications.Get(slot).Slot != 0 ||
			(i > 0 && !before(e.Apps[i-1], id)) {
			return broken(e, "%s is not to be cleared away there, or out of order", id)
		}
	}
	n := s.Nodes.Mut(e.Node)
	for _, id := range e.Apps {
		s.NodeApplications.Drop(&s.Meta, s.NodeApplications.Find(id, e.Node), n)
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
	s.Nodes.ChangeCommand(c, func() { c.Signal = e.Command })
	s.fold(uint64(slot)<<8 | uint64(e.Command))
	return nil
}

var _ = stored(1, part.Derived[State]{Part: part.Keyed(17, "node-applications",
	func(s *State) *table.Keyed[NodeApplicationSlot, NodeApplication, *NodeApplication] {
		return &s.NodeApplications.Keyed
	}, (*NodeApplication).Code),
	Agrees: agrees((*check.Tables).CheckNodeApplications)})
