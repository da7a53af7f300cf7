package state

import (
	"iter"

	"rmd/fsm/event"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
)

// A reservation may lend the idle room of its node. A container that runs there has a Lease as long
// as the reservation exists. When the reservation ends, its leases end too, and their containers
// become ordinary ones.

var _ = applies((*State).containerLent)

func (s *Running) containerLent(e *event.ContainerLent) error {
	r := s.Reservations.Find(e.Reservation)
	switch {
	case r == 0 || s.Reservations.Get(r).Node != e.Node || s.Reservations.Get(r).Members != 0:
		return broken(e, "the node is not reserved by it, or for a gang")
	case e.AM && e.DeadlineMillis != event.NoLease:
		return broken(e, "an AM would borrow")
	case e.DeadlineMillis > 0 && e.DeadlineMillis <= s.Meta.NowMillis || e.DeadlineMillis < event.NoLease:
		return broken(e, "the deadline has passed")
	}
	slot, err := s.allocate(e, &e.ContainerAllocated, r)
	if err != nil {
		return err
	}
	if e.DeadlineMillis != event.NoLease {
		*table.Place(&s.Leases.Table, slot) = Lease{Reservation: e.Reservation, DeadlineMillis: e.DeadlineMillis}
	}
	s.fold(e.Reservation)
	s.fold(uint64(e.DeadlineMillis))
	return nil
}

// endLeases removes the leases of a reservation that ends.
func (s *Running) endLeases(r *Reservation) {
	var ended []ContainerSlot
	for slot := range s.LeasedFrom(r) {
		ended = append(ended, slot)
	}
	for _, slot := range ended {
		table.Release(&s.Leases.Table, slot)
	}
}

// LeasedFrom returns the containers that run in the room of a reservation, with their slots, newest
// first.
func (s *Running) LeasedFrom(r *Reservation) iter.Seq2[ContainerSlot, *Container] {
	return func(yield func(ContainerSlot, *Container) bool) {
		if s.Leases.Len() == 0 {
			return
		}
		for slot, c := range s.Containers.On(s.Nodes.Get(r.Node)) {
			if s.Leases.Has(slot) && !yield(slot, c) {
				return
			}
		}
	}
}

var _ = stored(1, part.Derived[State]{Part: part.Rows(36, "leases",
	func(s *State) *table.Table[ContainerSlot, Lease] { return &s.Leases.Table }, (*Lease).Code),
	Agrees: agrees((*check.Tables).CheckLeases)})
