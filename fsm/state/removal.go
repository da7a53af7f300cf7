package state

import (
	"slices"

	"rmd/fsm/event"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Removals are the completed containers that a node may forget: YARN's
// containersToBeRemovedFromNM. A container is listed when its AM has acknowledged the completion, or
// when the attempt that would have heard of it has ended; until then the node answers
// getContainerStatuses with the container's exit status. A NodeManager reports a completion once,
// so the list is replicated: any replica may serve the next heartbeat.
type Removals struct {
	Node       uint32
	First      uint64             // number of the first of Containers; numbers begin at 1
	Containers []yarn.ContainerID // what is there is never overwritten; see writer
	writer     *writer            // not in snapshots: which state may append in place
}

// writer stands for one state in records that forks share. A list that a state has made may grow in
// place, as forks do not look beyond the length that they know. Any other state copies it first: two
// that append to one array would overwrite each other's.
type writer struct{ _ byte } // not empty: the addresses of two must differ

// MaxRemovals bounds the list of a node. A node keeps the status of a container dropped from the list
// until the application ends.
const MaxRemovals = 256

// ListsRemovals says whether the cluster's level has lists of removals. Below it a node may forget
// a container as soon as it has reported its end.
func (s *State) ListsRemovals() bool { return s.Meta.Level >= event.LevelRemovals }

// Removals returns the containers that a node may forget and the number of the first one.
func (s *State) Removals(node uint32) (first uint64, containers []yarn.ContainerID) {
	n := s.Nodes.Get(node)
	if n.removals == 0 {
		return 1, nil
	}
	r := s.Removable.Get(n.removals)
	return r.First, r.Containers
}

// listRemoval lets the node forget a container that is about to be freed. A container
// never delivered to its AM cannot have been started, and after the application's end the cleanup
// covers all of them.
func (s *State) listRemoval(c *Container, a *App) {
	n := s.Nodes.Get(c.Node)
	if !s.ListsRemovals() || !n.takesCommands() || a.State.Ended() || (c.GrantedIn == 0 && !c.AM) {
		return
	}
	r := s.removalsOf(c.Node)
	if len(r.Containers) == MaxRemovals {
		r.Containers, r.First = r.Containers[1:], r.First+1
	}
	if r.writer != s.writer {
		r.Containers, r.writer = slices.Clip(r.Containers), s.writer
	}
	r.Containers = append(r.Containers, s.ContainerID(c))
	s.fold(uint64(c.Node)<<32 | uint64(len(r.Containers)))
	s.fold(r.First)
}

// removalsOf is a node's record for writing; it is made when there is none.
func (s *State) removalsOf(node uint32) *Removals {
	if slot := s.Nodes.Get(node).removals; slot != 0 {
		return s.Removable.mut(slot)
	}
	slot, r := s.Removable.alloc()
	r.Node, r.First = node, 1
	s.Nodes.mut(node).removals = slot
	return r
}

// dropRemovals empties the list of a node that has left: it registers again, with every container
// that it still knows.
func (s *State) dropRemovals(n *Node) {
	if n.removals == 0 {
		return
	}
	r := s.Removable.mut(n.removals)
	r.First, r.Containers = r.First+uint64(len(r.Containers)), nil
	s.fold(r.First)
}

func (s *State) removalsAcked(e *event.RemovalsAcked) error {
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

// linkRemovals makes what nodes say of their lists, which follows from these, in a state from a
// snapshot. Two lists of one node are left to Check.
func (s *State) linkRemovals() {
	s.Removable.Each(func(slot uint32, r *Removals) bool {
		if s.Nodes.Has(r.Node) {
			s.Nodes.mut(r.Node).removals = slot
		}
		return true
	})
}

func (r *Removals) code(c *codec.Coder) {
	c.U32(&r.Node)
	c.U64(&r.First)
	codec.List(c, &r.Containers, func(c *codec.Coder, id *yarn.ContainerID) { c.ContainerID(id) })
}
