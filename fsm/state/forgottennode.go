package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/table"
)

// rmd forgets a node that has left for good, so that the state of a cluster whose hosts come and go
// does not grow. The node's slot and the numbers of its host and rack are then reused. Only idle
// heartbeats identify a node by its slot alone. A late one may count as a sign of life of the node
// that has the slot next. All other messages name the node and its heartbeat session.

// Forgettable reports whether a node sends no heartbeats and no container refers to it. The
// completion of a container that an AM has not received yet still names the container's node.
func (s *Cluster) Forgettable(node NodeSlot) bool {
	n := s.Nodes.Get(node)
	if n.Heard() || n.Count > 0 || n.Reservation != 0 {
		return false
	}
	free := true
	s.Apps.Each(func(_ AppSlot, a *App) bool {
		for slot := range s.Containers.UndeliveredTo(a) {
			free = free && s.Containers.Get(slot).Node != node
		}
		return free
	})
	return free
}

var _ = applies((*State).nodeForgotten)

func (s *State) nodeForgotten(e *event.NodeForgotten) error {
	if !s.Nodes.Has(e.Node) || s.Nodes.Get(e.Node).ID != e.ID || !s.Forgettable(e.Node) {
		return broken(e, "no such node, or it is still needed")
	}
	n := s.Nodes.Mut(e.Node)
	s.dropNodeApplications(n)
	if n.Removals != 0 {
		table.Release(&s.Removable, n.Removals)
	}
	s.ReservationBans.FreeRoomChanged(&s.Meta, n)
	s.forgetMasters(e.Node)
	s.Avoided.Drop(e.Node)
	s.Names.Unretain(&s.Meta, n.Host)
	s.Names.Unretain(&s.Meta, n.RackID)
	s.changes.Node(change.NodeChanged, e.Node)
	table.ReleaseKeyed(&s.Nodes.Keyed, e.Node)
	s.Meta.NodeChanges++
	s.fold(uint64(e.Node)<<32 | uint64(e.ID.Port))
	s.fold(table.Hash(e.ID.Host))
	return nil
}

// dropNodeApplications removes all NodeApplications of a node, including those of running
// applications.
func (s *Cluster) dropNodeApplications(n *Node) {
	for slot := n.NodeApplications; slot != 0; {
		p := *s.NodeApplications.Get(slot)
		if p.Slot != 0 {
			s.NodeApplications.LeaveNode(s.Apps.Mut(p.Slot), slot)
			n.PendingCleanups++ // drop subtracts it again
		}
		s.NodeApplications.Drop(&s.Meta, slot, n)
		slot = p.NextNode
	}
}

// forgetMasters clears MasterNode of all applications and attempts whose AM ran on a node.
func (s *State) forgetMasters(node NodeSlot) {
	s.Apps.Each(func(slot AppSlot, a *App) bool {
		if a.MasterNode == node {
			s.Apps.Mut(slot).MasterNode = 0
		}
		return true
	})
	s.Attempts.Each(func(slot AttemptSlot, a *Attempt) bool {
		if a.MasterNode == node {
			s.Attempts.Mut(slot).MasterNode = 0
		}
		return true
	})
}
