package state

import (
	"fmt"
	"iter"

	"rmd/fsm/event"
	"rmd/internal/codec"
	"rmd/yarn"
)

// A reserved node's idle room may be lent. The container that runs there has a Lease as long as the
// reservation stands. When the reservation ends, its leases end too, and the containers are ordinary
// ones.

func (s *State) containerLent(e *event.ContainerLent) error {
	r := s.Reservation(e.Reservation)
	switch {
	case s.Meta.Level < event.LevelLeases:
		return broken(e, "the feature level is %d", s.Meta.Level)
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
		*s.Leases.place(slot) = Lease{Reservation: e.Reservation, DeadlineMillis: e.DeadlineMillis}
	}
	s.fold(e.Reservation)
	s.fold(uint64(e.DeadlineMillis))
	return nil
}

// endLease ends the lease of a container that ends.
func (s *State) endLease(slot uint32) {
	if s.Leases.Has(slot) {
		s.Leases.release(slot)
	}
}

// endLeases ends the leases of a reservation that ends.
func (s *State) endLeases(r *Reservation) {
	var ended []uint32
	for slot := range s.LeasedFrom(r) {
		ended = append(ended, slot)
	}
	for _, slot := range ended {
		s.Leases.release(slot)
	}
}

// LeasedFrom are the containers that run in room which a reservation has lent, with their slots, the
// newest first.
func (s *State) LeasedFrom(r *Reservation) iter.Seq2[uint32, *Container] {
	return func(yield func(uint32, *Container) bool) {
		if s.Leases.Len() == 0 {
			return
		}
		for slot, c := range s.ContainersOn(s.Nodes.Get(r.Node)) {
			if s.Leases.Has(slot) && !yield(slot, c) {
				return
			}
		}
	}
}

// leasedFrom says whether a container runs in room that a reservation has lent.
func (s *State) leasedFrom(slot uint32, reservation uint64) bool {
	return s.Leases.Has(slot) && s.Leases.Get(slot).Reservation == reservation
}

// declaredLifetime is what an application's tags declare. Tags that declare nothing sensible were
// submitted before there were leases.
func declaredLifetime(tags []string) int64 {
	millis, err := yarn.DeclaredLifetime(tags)
	if err != nil {
		return 0
	}
	return millis
}

// DeclaredLifetime is how long containers of the application run by its own word, its AM's apart; 0 if
// it has declared nothing.
func (a *App) DeclaredLifetime() int64 { return a.declaredMillis }

// DeclaredEnd is when a container of an application that was allocated at a given time ends at the
// latest, by what its application has declared; 0 if it has declared nothing.
func (a *App) DeclaredEnd(allocatedMillis int64, am bool) (end int64) {
	if a.declaredMillis > 0 && !am {
		end = allocatedMillis + a.declaredMillis
	}
	if of := a.SubmittedMillis + a.LifetimeMillis; a.LifetimeMillis > 0 && (end == 0 || of < end) {
		end = of
	}
	return end
}

// checkLeases makes sure that only live containers have leases, of the reservation of their own node.
func (s *State) checkLeases() error {
	var err error
	s.Leases.Each(func(slot uint32, l *Lease) bool {
		c := s.Containers.Get(slot)
		r := s.Reservation(l.Reservation)
		if !c.State.Live() || !c.OnNode || c.AM || r == 0 || s.Reservations.Get(r).Node != c.Node || l.DeadlineMillis < 0 {
			err = fmt.Errorf("container %s is %s and has a lease of r%d until %d", s.ContainerID(c), c.State, l.Reservation, l.DeadlineMillis)
		}
		return err == nil
	})
	return err
}

func (l *Lease) code(c *codec.Coder) {
	c.U64(&l.Reservation)
	c.I64(&l.DeadlineMillis)
}
