package summary

import (
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// Room says how whole the free resources of the nodes with one label are.
//
// No order of nodes by their free resources suits every container: one node may have most memory
// free, another one most GPUs. So a room has a node for each kind, the one with most of it free.
// What is free there is free on one node, so a container of that size would start now.
type Room struct {
	Serving int32         // nodes that take containers
	Empty   int32         // of these, nodes with neither a container nor a reservation
	Node    yarn.Resource // for each kind, the most that one of them has, free or not
	// Blocked is the free room of nodes without a reservation that nobody may use, because what is
	// reserved on other nodes counts as used, so that root is full. See RoomsOf.
	Blocked yarn.Resource
	Open    yarn.Resource // what is free on nodes without a reservation
	Held    yarn.Resource // what is free on nodes with one, and kept for it

	best [yarn.MaxKinds]Spot // by kind; the slot is 0 if no node has any of it free
}

// Spot is what is free on a node that could take a container.
type Spot struct {
	Slot state.NodeSlot
	Free yarn.Resource
}

// Largest is a node with the largest free amount of some kinds.
type Largest struct {
	Spot
	Kinds []int
}

// Rooms returns the rooms of all labels, by the label's number; 0 is for the nodes without a label.
// The calculator and the smallest container are those of the state's own configuration.
func (c *Summary) Rooms(calc yarn.Calculator, least yarn.Resource) []Room {
	c.countRooms.Do(func() { c.rooms = RoomsOf(c.st, calc, least) })
	return c.rooms
}

// RoomsOf computes the rooms of a state. A reserved node counts only as serving: what is free there
// is kept for the reservation. The room that a reservation still misses is Blocked on other nodes: it
// counts as used, although nothing uses it. Reservations of gangs, and those that wait for warned
// containers, do not count as used by root.
func RoomsOf(st *state.State, calc yarn.Calculator, least yarn.Resource) []Room {
	rooms := make([]Room, max(st.Labels.Cap(), 1))
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if !n.TakesContainers() {
			return true
		}
		r := &rooms[n.Label]
		r.Serving++
		r.Node = yarn.ComponentMax(r.Node, n.Total)
		free := yarn.ComponentMax(n.Unallocated(), yarn.Resource{})
		if n.Reservation != 0 {
			r.Held = r.Held.Add(free)
			r.Blocked = r.Blocked.Add(missing(st, st.Reservations.Get(n.Reservation), free))
			return true
		}
		if n.Count == 0 {
			r.Empty++
		}
		r.Open = r.Open.Add(free)
		if calc.HasRoom(n.Unallocated(), least) {
			r.offer(Spot{slot, free}, calc.Kinds)
		}
		return true
	})
	for i := range rooms {
		rooms[i].Blocked = yarn.ComponentMin(rooms[i].Blocked, rooms[i].Open)
	}
	return rooms
}

// missing returns what a reservation that counts as used does not find free on its node.
func missing(st *state.State, r *state.Reservation, free yarn.Resource) yarn.Resource {
	for _, p := range st.PreemptedFor(r) {
		if p.Cause != yarn.PreemptLease {
			return yarn.Resource{}
		}
	}
	if r.Members != 0 {
		return yarn.Resource{}
	}
	return yarn.ComponentMax(r.Size.Sub(free), yarn.Resource{})
}

// offer takes a node for the kinds of which it has more free than the nodes before it. Of two nodes
// with the same amount, it takes the one with more of the other kinds.
func (r *Room) offer(s Spot, kinds int) {
	for k, amount := range s.Free[:kinds] {
		best := &r.best[k]
		if amount > best.Free[k] || amount > 0 && amount == best.Free[k] && slices.Compare(s.Free[:], best.Free[:]) > 0 {
			*best = s
		}
	}
}

// Free returns the largest free amount of each kind. These may be on different nodes.
func (r *Room) Free() (free yarn.Resource) {
	for k := range free {
		free[k] = r.best[k].Free[k]
	}
	return free
}

// Largest returns a node with the largest free amount for each kind, in the order of kinds. It names
// as few nodes as a pass over the kinds finds: one that was named for an earlier kind and has as
// much of this one serves both.
func (r *Room) Largest() []Largest {
	var out []Largest
	for k, s := range r.best {
		if s.Slot == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(l Largest) bool { return l.Free[k] == s.Free[k] })
		if i < 0 {
			i, out = len(out), append(out, Largest{Spot: s})
		}
		out[i].Kinds = append(out[i].Kinds, k)
	}
	return out
}
