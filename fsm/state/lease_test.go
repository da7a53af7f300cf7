package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// lending returns reserved with an ask of application 1 for small containers.
func lending(t failer) *State {
	s := reserved(t)
	apply(t, s, ask(1, k2, 4, 1))
	return s
}

// lent returns an event that lends room of the reservation of node 1 to application 1.
func lent(number uint64, deadline int64) *event.ContainerLent {
	return &event.ContainerLent{ContainerAllocated: *allocated(1, number, k2, 1), Reservation: 1, DeadlineMillis: deadline}
}

// recall returns an event that recalls a container with a lease.
func recall(number uint64) *event.PreemptionAsked {
	return &event.PreemptionAsked{Container: ref(1, number), Reservation: 1, Queue: "root.b.x", Cause: yarn.PreemptLease,
		DeadlineMillis: 2000}
}

// TestLease checks that a container has a lease until the container or the reservation ends.
func TestLease(t *testing.T) {
	s := lending(t)
	apply(t, s, lent(3, 9000), lent(4, event.NoLease))
	slot := s.Container(ref(1, 3))
	if s.Leases.Len() != 1 || *s.Leases.Get(slot) != (Lease{Reservation: 1, DeadlineMillis: 9000}) {
		t.Fatalf("%d leases", s.Leases.Len())
	}
	if back, err := decode(encode(s)); err != nil || back.Leases.Len() != 1 ||
		*back.Leases.Get(slot) != *s.Leases.Get(slot) {
		t.Errorf("from a snapshot: %v", err)
	}
	f := s.Fork()
	apply(t, f, recall(3), &event.ContainerReleased{Container: ref(1, 3), ExitStatus: yarn.ExitPreempted})
	if f.Leases.Len() != 0 || f.PreemptionTotals.Preempted[yarn.PreemptLease] != 1 {
		t.Errorf("the container has ended, and has %d leases", f.Leases.Len())
	}
	f = s.Fork()
	apply(t, f, &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelAskGone})
	if f.Leases.Len() != 0 || !f.Containers.Get(slot).State.Live() {
		t.Errorf("the reservation has ended, and there are %d leases", f.Leases.Len())
	}
	if s.Leases.Len() != 1 {
		t.Error("a fork has changed its origin")
	}
}

// TestDeclaredLifetime checks that tags with an impossible lifetime declare nothing. rmd may have
// taken over such an application from another ResourceManager. It also checks that a restored state
// has the same lifetimes, because snapshots contain only the tags.
func TestDeclaredLifetime(t *testing.T) {
	s := lending(t)
	for i, c := range []struct {
		seconds string
		want    int64
	}{{"90", 90_000}, {"0", 0}, {"3153600000", 0}, {"soon", 0}} {
		e := submit(uint32(6+i), "ann", "root.a")
		e.Tags = []string{"etl", yarn.LifetimeTag + "seconds=" + c.seconds}
		apply(t, s, e)
		back, err := decode(encode(s))
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range []*State{s, back} {
			if got := st.Apps.Get(st.Apps.Find(e.App)).DeclaredLifetime(); got != c.want {
				t.Errorf("%s seconds: it declares %d ms", c.seconds, got)
			}
		}
	}
}

// TestLeaseRefusals checks that only room of the node's own reservation can be lent, that the
// deadline must be in the future, and that only leased containers can be recalled.
func TestLeaseRefusals(t *testing.T) {
	with := func(change func(e *event.ContainerLent)) event.Event {
		e := lent(3, 9000)
		change(e)
		return e
	}
	for name, c := range map[string]struct {
		first []event.Event
		e     event.Event
	}{
		"node of no reservation":   {nil, with(func(e *event.ContainerLent) { e.Node = 2 })},
		"unknown reservation":      {nil, with(func(e *event.ContainerLent) { e.Reservation = 2 })},
		"no reservation":           {nil, with(func(e *event.ContainerLent) { e.Reservation = 0 })},
		"deadline passed":          {nil, lent(3, 1000)},
		"no such deadline":         {nil, lent(3, -2)},
		"an AM":                    {nil, with(func(e *event.ContainerLent) { e.AM = true })},
		"not asked":                {nil, with(func(e *event.ContainerLent) { e.Key.Priority = 99 })},
		"another number":           {nil, lent(4, 9000)},
		"larger than what is free": {[]event.Event{ask(1, k2, 4, 3)}, lent(3, 9000)},
		"no lease":                 {nil, allocated(1, 3, k2, 1)},
		"asked back from others":   {nil, recall(1)},
		"asked back of NoLease":    {[]event.Event{lent(3, event.NoLease)}, recall(3)},
	} {
		t.Run(name, func(t *testing.T) {
			s := lending(t)
			apply(t, s, c.first...)
			refuse(t, s, c.e)
		})
	}
	s := ganged(t)
	apply(t, s, gangReserved(1, 1, 1, 2), ask(2, k2, 1, 1))
	refuse(t, s, &event.ContainerLent{ContainerAllocated: *allocated(2, 1, k2, 1), Reservation: 1, DeadlineMillis: 9000})
}

// TestDigestTellsLeasesApart checks that different leases give different digests.
func TestDigestTellsLeasesApart(t *testing.T) {
	seen := map[uint64]string{}
	for name, e := range map[string]event.Event{
		"for a time":       lent(3, 9000),
		"for another time": lent(3, 9001),
		"until recalled":   lent(3, 0),
		"for ever":         lent(3, event.NoLease),
	} {
		s := lending(t)
		apply(t, s, e)
		if other := seen[s.Digest()]; other != "" {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[s.Digest()] = name
	}
}

// TestDamagedLeasesAreSeen damages a lease for every rule of CheckLeases.
func TestDamagedLeasesAreSeen(t *testing.T) {
	for name, spoil := range map[string]func(s *State, slot ContainerSlot, l *Lease){
		"no container":       func(s *State, _ ContainerSlot, l *Lease) { *table.Place(&s.Leases.Table, 99) = *l },
		"reservation":        func(_ *State, _ ContainerSlot, l *Lease) { l.Reservation = 7 },
		"deadline":           func(_ *State, _ ContainerSlot, l *Lease) { l.DeadlineMillis = event.NoLease },
		"recalled, no lease": func(s *State, slot ContainerSlot, _ *Lease) { table.Release(&s.Leases.Table, slot) },
	} {
		s := lending(t)
		apply(t, s, lent(3, 9000), recall(3))
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		slot := s.Container(ref(1, 3))
		spoil(s, slot, s.Leases.Mut(slot))
		if s.Check() == nil {
			t.Errorf("%s: nothing is seen", name)
		}
	}
}
