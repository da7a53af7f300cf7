package state

import "iter"

// The iterators over the lists of records.go yield each record with its slot, in the order of the
// list. They are inlined: a loop over one costs what a loop by hand does, and allocates nothing.

// list yields the records of a list of a table. The next slot is read before the body runs, so the
// body may remove the record that it is given, but no other.
func list[T any](t *Table[T], first uint32, next func(*T) uint32) iter.Seq2[uint32, *T] {
	return func(yield func(uint32, *T) bool) {
		for slot := first; slot != 0; {
			r := t.Get(slot)
			after := next(r)
			if !yield(slot, r) {
				return
			}
			slot = after
		}
	}
}

// AsksOf are an application's asks, in key order; those for increases come last.
func (s *State) AsksOf(a *App) iter.Seq2[uint32, *Ask] {
	return list(&s.Asks, a.Asks, func(k *Ask) uint32 { return k.Next })
}

// LocationsOf are an ask's hosts and racks, the newest first.
func (s *State) LocationsOf(k *Ask) iter.Seq2[uint32, *Location] {
	return list(&s.Locations, k.Locations, func(l *Location) uint32 { return l.Next })
}

// ContainersOf are an application's containers that are not freed, the newest first.
func (s *State) ContainersOf(a *App) iter.Seq2[uint32, *Container] {
	return list(&s.Containers, a.Containers, func(c *Container) uint32 { return c.nextApp })
}

// ContainersOn are the containers that use a node, the newest first.
func (s *State) ContainersOn(n *Node) iter.Seq2[uint32, *Container] {
	return list(&s.Containers, n.Containers, func(c *Container) uint32 { return c.nextNode })
}

// UndeliveredTo are the containers with something that an application's AM must hear, or
// acknowledge, the newest first.
func (s *State) UndeliveredTo(a *App) iter.Seq2[uint32, *Container] {
	return list(&s.Containers, a.Undelivered, func(c *Container) uint32 { return c.nextUndelivered })
}

// ReservationsOf are an application's reservations, the newest first.
func (s *State) ReservationsOf(a *App) iter.Seq2[uint32, *Reservation] {
	return list(&s.Reservations, a.Reservations, func(r *Reservation) uint32 { return r.nextApp })
}

// HistoryOf are an application's ended attempts, the newest first.
func (s *State) HistoryOf(a *App) iter.Seq2[uint32, *Attempt] {
	return list(&s.Attempts, a.History, func(h *Attempt) uint32 { return h.Next })
}
