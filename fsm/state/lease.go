package state

import (
	"fmt"
	"iter"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Lease means that a container runs in room that its node's reservation has lent. It ends with the
// container or the reservation, whichever ends first.
type Lease struct {
	Reservation    uint64 // number of the reservation
	DeadlineMillis int64  // latest end of the container; 0: when the room is needed
}

// Leases has the leases of containers, by the slot of the Container.
type Leases struct {
	table.Table[ContainerSlot, Lease]
}

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
		*s.Leases.Place(slot) = Lease{Reservation: e.Reservation, DeadlineMillis: e.DeadlineMillis}
	}
	s.fold(e.Reservation)
	s.fold(uint64(e.DeadlineMillis))
	return nil
}

// end removes the lease of a container that ends.
func (t *Leases) end(slot ContainerSlot) {
	if t.Has(slot) {
		t.Release(slot)
	}
}

// endLeases removes the leases of a reservation that ends.
func (s *Running) endLeases(r *Reservation) {
	var ended []ContainerSlot
	for slot := range s.LeasedFrom(r) {
		ended = append(ended, slot)
	}
	for _, slot := range ended {
		s.Leases.Release(slot)
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

// from reports whether a container runs in the room of a reservation.
func (t *Leases) from(slot ContainerSlot, reservation uint64) bool {
	return t.Has(slot) && t.Get(slot).Reservation == reservation
}

// declaredLifetime returns the lifetime that an application's tags declare, or 0. It ignores
// malformed tags: the application was submitted before rmd checked them, or to another
// ResourceManager.
func declaredLifetime(tags []string) int64 {
	millis, err := yarn.DeclaredLifetime(tags)
	if err != nil {
		return 0
	}
	return millis
}

// DeclaredLifetime returns the longest lifetime of the application's containers other than its AM,
// as the application has declared it, or 0 if it has not.
func (a *App) DeclaredLifetime() int64 { return a.declaredMillis }

// DeclaredEnd returns the latest end of a container that was allocated at the given time, according
// to the lifetime that the application declared and the application's own lifetime limit. It is 0
// if there is neither.
func (a *App) DeclaredEnd(allocatedMillis int64, am bool) (end int64) {
	if a.declaredMillis > 0 && !am {
		end = allocatedMillis + a.declaredMillis
	}
	if of := a.SubmittedMillis + a.LifetimeMillis; a.LifetimeMillis > 0 && (end == 0 || of < end) {
		end = of
	}
	return end
}

// checkLeases checks that only live containers have leases, and that the reservation is on the same
// node.
func (s *State) checkLeases() error {
	var err error
	s.Leases.Each(func(slot ContainerSlot, l *Lease) bool {
		c := s.Containers.Get(slot)
		r := s.Reservations.Find(l.Reservation)
		if !c.State.Live() || !c.OnNode || c.AM || r == 0 || s.Reservations.Get(r).Node != c.Node || l.DeadlineMillis < 0 {
			err = fmt.Errorf("container %s is %s and has a lease of r%d until %d", s.Apps.ContainerID(c), c.State, l.Reservation, l.DeadlineMillis)
		}
		return err == nil
	})
	return err
}

func (l *Lease) code(c *codec.Coder) {
	c.U64(&l.Reservation)
	c.I64(&l.DeadlineMillis)
}

var leasePart = derived{part: rows(36, "leases", func(s *State) *table.Table[ContainerSlot, Lease] { return &s.Leases.Table }, (*Lease).code),
	agrees: (*State).checkLeases}
