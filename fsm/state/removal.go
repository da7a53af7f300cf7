package state

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// Removals returns the containers that a node may forget, and the number of the first one.
func (s *Cluster) Removals(node NodeSlot) (first uint64, containers []yarn.ContainerID) {
	n := s.Nodes.Get(node)
	if n.Removals == 0 {
		return 1, nil
	}
	r := s.Removable.Get(n.Removals)
	return r.First, r.Containers
}

// listRemoval adds a container that is about to be freed to its node's list. A container that was
// never delivered to its AM cannot have started. After the end of the application, the cleanup
// covers all its containers.
func (s *Cluster) listRemoval(c *Container, a *App) {
	n := s.Nodes.Get(c.Node)
	if !n.TakesCommands() || a.State.Ended() || (c.GrantedIn == 0 && !c.AM) {
		return
	}
	r := s.removalsOf(c.Node)
	if len(r.Containers) == MaxRemovals {
		r.Containers, r.First = r.Containers[1:], r.First+1
	}
	if r.Writer != s.writer {
		r.Containers, r.Writer = slices.Clip(r.Containers), s.writer
	}
	r.Containers = append(r.Containers, s.Apps.ContainerID(c))
	s.fold(uint64(c.Node)<<32 | uint64(len(r.Containers)))
	s.fold(r.First)
}

// removalsOf returns a node's Removals for writing. It creates the record if there is none.
func (s *Cluster) removalsOf(node NodeSlot) *Removals {
	if slot := s.Nodes.Get(node).Removals; slot != 0 {
		return s.Removable.Mut(slot)
	}
	slot, r := table.Alloc(&s.Removable)
	r.Node, r.First = node, 1
	s.Nodes.Mut(node).Removals = slot
	return r
}

// dropRemovals empties the list of a node that has left. When the node registers again, it reports
// every container that it still knows.
func (s *Cluster) dropRemovals(n *Node) {
	if n.Removals == 0 {
		return
	}
	r := s.Removable.Mut(n.Removals)
	r.First, r.Containers = r.First+uint64(len(r.Containers)), nil
	s.fold(r.First)
}

var _ = applies((*State).removalsAcked)

func (s *Cluster) removalsAcked(e *event.RemovalsAcked) error {
	if !s.Nodes.Has(e.Node) {
		return broken(e, "no such node")
	}
	first, list := s.Removals(e.Node)
	if e.Through < first || e.Through-first >= uint64(len(list)) {
		return broken(e, "%d containers are listed, from number %d", len(list), first)
	}
	r := s.removalsOf(e.Node)
	r.First, r.Containers = e.Through+1, list[e.Through-first+1:]
	s.fold(uint64(e.Node)<<32 | uint64(len(r.Containers)))
	s.fold(r.First)
	return nil
}

// linkRemovals sets Node.removals, which follows from Removable, in a state from a snapshot. Check
// reports a node with two lists.
func (s *Cluster) linkRemovals() {
	s.Removable.Each(func(slot RemovalsSlot, r *Removals) bool {
		if s.Nodes.Has(r.Node) {
			s.Nodes.Mut(r.Node).Removals = slot
		}
		return true
	})
}

var _ = stored(1, part.Derived[State]{Part: part.Rows(23, "removals",
	func(s *State) *table.Table[RemovalsSlot, Removals] { return &s.Removable }, (*Removals).Code),
	Links: (*State).linkRemovals, Agrees: agrees((*check.Tables).CheckRemovals)})
