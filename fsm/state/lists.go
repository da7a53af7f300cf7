package state

import "iter"

// The iterators over the lists of records.go yield each record with its slot, in list order. The
// compiler inlines them, so they cost as little as a hand-written loop and allocate nothing.

// list yields the records of a list of a table. It reads the next slot before it yields a record,
// so the loop body may remove this record, but no other.
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

// AsksOf returns an application's asks in key order. Hidden asks for increases come last.
func (s *State) AsksOf(a *App) iter.Seq2[uint32, *Ask] {
	return list(&s.Asks, a.Asks, func(k *Ask) uint32 { return k.Next })
}

// LocationsOf returns an ask's hosts and racks, newest first.
func (s *State) LocationsOf(k *Ask) iter.Seq2[uint32, *Location] {
	return list(&s.Locations, k.Locations, func(l *Location) uint32 { return l.Next })
}

// ContainersOf returns an application's containers that are not freed, newest first.
func (s *State) ContainersOf(a *App) iter.Seq2[uint32, *Container] {
	return list(&s.Containers, a.Containers, func(c *Container) uint32 { return c.nextApp })
}

// ContainersOn returns the containers that use a node, newest first.
func (s *State) ContainersOn(n *Node) iter.Seq2[uint32, *Container] {
	return list(&s.Containers, n.Containers, func(c *Container) uint32 { return c.nextNode })
}

// UndeliveredTo returns the containers about which an application's AM must receive, or
// acknowledge, something, newest first.
func (s *State) UndeliveredTo(a *App) iter.Seq2[uint32, *Container] {
	return list(&s.Containers, a.Undelivered, func(c *Container) uint32 { return c.nextUndelivered })
}

// ReservationsOf returns an application's reservations, newest first.
func (s *State) ReservationsOf(a *App) iter.Seq2[uint32, *Reservation] {
	return list(&s.Reservations, a.Reservations, func(r *Reservation) uint32 { return r.nextApp })
}

// HistoryOf returns an application's ended attempts, newest first.
func (s *State) HistoryOf(a *App) iter.Seq2[uint32, *Attempt] {
	return list(&s.Attempts, a.History, func(h *Attempt) uint32 { return h.Next })
}
