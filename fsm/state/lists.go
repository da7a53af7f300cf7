package state

import "iter"

// The iterators over the lists of records.go yield each record with its slot, in the order of the
// list. The next slot is read before the body runs, so the body may remove the record that it is
// given, but no other. They are inlined: a loop over one costs what a loop by hand does, and
// allocates nothing.

// AsksOf are an application's asks, in key order; those for increases come last.
func (s *State) AsksOf(a *App) iter.Seq2[uint32, *Ask] {
	return func(yield func(uint32, *Ask) bool) {
		for slot := a.Asks; slot != 0; {
			k := s.Asks.Get(slot)
			next := k.Next
			if !yield(slot, k) {
				return
			}
			slot = next
		}
	}
}

// LocationsOf are an ask's hosts and racks, the newest first.
func (s *State) LocationsOf(k *Ask) iter.Seq2[uint32, *Location] {
	return func(yield func(uint32, *Location) bool) {
		for slot := k.Locations; slot != 0; {
			l := s.Locations.Get(slot)
			next := l.Next
			if !yield(slot, l) {
				return
			}
			slot = next
		}
	}
}

// ContainersOf are an application's containers that are not freed, the newest first.
func (s *State) ContainersOf(a *App) iter.Seq2[uint32, *Container] {
	return func(yield func(uint32, *Container) bool) {
		for slot := a.Containers; slot != 0; {
			c := s.Containers.Get(slot)
			next := c.nextApp
			if !yield(slot, c) {
				return
			}
			slot = next
		}
	}
}

// ContainersOn are the containers that use a node, the newest first.
func (s *State) ContainersOn(n *Node) iter.Seq2[uint32, *Container] {
	return func(yield func(uint32, *Container) bool) {
		for slot := n.Containers; slot != 0; {
			c := s.Containers.Get(slot)
			next := c.nextNode
			if !yield(slot, c) {
				return
			}
			slot = next
		}
	}
}

// UndeliveredTo are the containers with something that an application's AM must hear, or
// acknowledge, the newest first.
func (s *State) UndeliveredTo(a *App) iter.Seq2[uint32, *Container] {
	return func(yield func(uint32, *Container) bool) {
		for slot := a.Undelivered; slot != 0; {
			c := s.Containers.Get(slot)
			next := c.nextUndelivered
			if !yield(slot, c) {
				return
			}
			slot = next
		}
	}
}

// ReservationsOf are an application's reservations, the newest first.
func (s *State) ReservationsOf(a *App) iter.Seq2[uint32, *Reservation] {
	return func(yield func(uint32, *Reservation) bool) {
		for slot := a.Reservations; slot != 0; {
			r := s.Reservations.Get(slot)
			next := r.nextApp
			if !yield(slot, r) {
				return
			}
			slot = next
		}
	}
}

// HistoryOf are an application's ended attempts, the newest first.
func (s *State) HistoryOf(a *App) iter.Seq2[uint32, *Attempt] {
	return func(yield func(uint32, *Attempt) bool) {
		for slot := a.History; slot != 0; {
			h := s.Attempts.Get(slot)
			next := h.Next
			if !yield(slot, h) {
				return
			}
			slot = next
		}
	}
}
