package state

import (
	"bytes"
	"errors"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// reserved returns a world in which application 1 has two containers of 3 GB on node 1, delivered
// to its AM, and the node is reserved for 6 GB of application 2.
func reserved(t failer) *State {
	s := world(t)
	apply(t, s, ask(1, k1, 3, 3), allocated(1, 1, k1, 1), allocated(1, 2, k1, 1),
		&event.ResponseRecorded{App: 1, Response: 1}, &event.ContainerLaunched{Container: ref(1, 1)},
		ask(2, k1, 1, 6), &event.ReservationMade{Reservation: 1, App: 2, Number: 1, Key: k1, Node: 1})
	return s
}

// warning returns an event that warns a container of application 1 for the reservation.
func warning(number uint64) *event.PreemptionAsked {
	return &event.PreemptionAsked{Container: ref(1, number), Reservation: 1, Queue: "root.b.x",
		Cause:          yarn.PreemptGuarantee,
		DeadlineMillis: 16_000, Under: gb(6), Over: gb(2), Sets: 41, Cost: 180}
}

// TestPreemption follows two warned containers to their ends. One is preempted, the other ends by
// itself.
func TestPreemption(t *testing.T) {
	s := reserved(t)
	apply(t, s, warning(1), warning(2))
	first, second := s.Container(ref(1, 1)), s.Container(ref(1, 2))
	want := Preemption{Reservation: 1, Queue: "root.b.x", Cause: yarn.PreemptGuarantee, AskedMillis: 1000,
		DeadlineMillis: 16_000, Under: gb(6), Over: gb(2), Sets: 41, Cost: 180}
	if got := *s.Preemptions.Get(first); got != want {
		t.Errorf("remembered is %+v", got)
	}
	n := 0
	for slot := range s.PreemptedFor(s.Reservations.Get(s.Reservations.Find(1))) {
		n++
		if slot != first && slot != second {
			t.Errorf("slot %d is warned", slot)
		}
	}
	if n != 2 {
		t.Errorf("%d containers are warned for the reservation", n)
	}
	apply(t, s, &event.TimeAdvanced{NowMillis: 16_000},
		&event.ContainerReleased{Container: ref(1, 1), ExitStatus: yarn.ExitPreempted},
		&event.ContainerCompleted{Container: ref(1, 2), ExitStatus: yarn.ExitSuccess},
		&event.ContainerCompleted{Container: ref(1, 1)})
	if s.Preemptions.Len() != 0 {
		t.Errorf("%d warnings stand", s.Preemptions.Len())
	}
	if got := s.Preempted.Of(s.Apps.Find(1)); got != (Preempted{Containers: 1, Size: gb(3), ResourceSeconds: gb(45)}) {
		t.Errorf("application 1 has lost %+v", got)
	}
	if n := s.Reservations.Get(s.Reservations.Find(1)).Preempted; n != 1 {
		t.Errorf("%d containers were preempted for the reservation", n)
	}
	want1 := PreemptionTotals{ResourceSeconds: gb(45)}
	want1.Preempted[yarn.PreemptGuarantee] = 1
	if s.PreemptionTotals != want1 {
		t.Errorf("the totals are %+v", s.PreemptionTotals)
	}
	awaiting, err := decode(encode(s))
	if err != nil || awaiting.PreemptionTotals != want1 ||
		awaiting.Reservations.Get(awaiting.Reservations.Find(1)).Preempted != 1 {
		t.Errorf("from a snapshot: %v", err)
	}
	apply(t, s, &event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
	if s.PreemptionTotals != want1 {
		t.Errorf("once the room is used the totals are %+v", s.PreemptionTotals)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	back, err := decode(encode(s))
	if err != nil || !bytes.Equal(encode(back), encode(s)) ||
		back.Preempted.Of(back.Apps.Find(1)) != s.Preempted.Of(s.Apps.Find(1)) {
		t.Errorf("from a snapshot: %v", err)
	}
}

// TestPreemptedUnused checks that containers preempted for a reservation count as unused when the
// reservation is cancelled, and that a withdrawn warning counts only under its cause.
func TestPreemptedUnused(t *testing.T) {
	s := reserved(t)
	apply(t, s, warning(1), warning(2), &event.PreemptionWithdrawn{Container: ref(1, 2), Cause: yarn.WithdrawNotChosen},
		&event.ContainerReleased{Container: ref(1, 1), ExitStatus: yarn.ExitPreempted},
		&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelExchanged})
	var want PreemptionTotals
	want.Preempted[yarn.PreemptGuarantee], want.Withdrawn[yarn.WithdrawNotChosen],
		want.Unused[yarn.CancelExchanged] = 1, 1, 1
	if s.PreemptionTotals != want {
		t.Errorf("the totals are %+v", s.PreemptionTotals)
	}
	if back, err := decode(encode(s)); err != nil || back.PreemptionTotals != want {
		t.Errorf("from a snapshot: %v", err)
	}
}

// TestPreemptionIsToldOnce checks that an AM receives a warning in one response, that an AM that
// registers again receives it again, and that the next attempt's AM receives it if it has the
// container.
func TestPreemptionIsToldOnce(t *testing.T) {
	s := reserved(t)
	told := func() int32 { return s.Preemptions.Get(s.Container(ref(1, 1))).ToldIn }
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 2}, warning(1))
	if a := appAt(t, s, 1); told() != 0 || a.Undelivered == 0 {
		t.Fatalf("told in %d, undelivered %d", told(), a.Undelivered)
	}
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 3})
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 4})
	if a := appAt(t, s, 1); told() != 3 || a.Undelivered != 0 {
		t.Errorf("told in %d, undelivered %d", told(), a.Undelivered)
	}
	apply(t, s, &event.AttemptResynced{App: 1}, &event.ResponseRecorded{App: 1, Response: 1},
		&event.ResponseRecorded{App: 1, Response: 2})
	if a := appAt(t, s, 1); told() != 1 || a.Undelivered != 0 {
		t.Errorf("after a resync told in %d, undelivered %d", told(), a.Undelivered)
	}
	apply(t, s, &event.AttemptEnded{App: 1, Keep: true}, &event.AttemptStarted{App: 1, Attempt: 2},
		&event.AttemptActivated{App: 1}, &event.AttemptRegistered{App: 1},
		&event.ResponseRecorded{App: 1, Response: 7})
	if told() != 7 {
		t.Errorf("the next attempt was told in %d", told())
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// TestPreemptionRefusals checks that Apply rejects warnings, withdrawals and ends of reservations
// that do not fit the state.
func TestPreemptionRefusals(t *testing.T) {
	with := func(change func(e *event.PreemptionAsked)) *event.PreemptionAsked {
		e := warning(2)
		change(e)
		return e
	}
	for name, e := range map[string]event.Event{
		"second warning":                      warning(1),
		"unknown container":                   warning(9),
		"unknown cause":                       with(func(e *event.PreemptionAsked) { e.Cause = 99 }),
		"no cause":                            with(func(e *event.PreemptionAsked) { e.Cause = 0 }),
		"deadline in the past":                with(func(e *event.PreemptionAsked) { e.DeadlineMillis = 999 }),
		"negative amount":                     with(func(e *event.PreemptionAsked) { e.Under = gb(-1) }),
		"negative excess":                     with(func(e *event.PreemptionAsked) { e.Over = gb(-1) }),
		"unknown reservation":                 with(func(e *event.PreemptionAsked) { e.Reservation = 9 }),
		"reservation of another node":         with(func(e *event.PreemptionAsked) { e.Container = ref(1, 3) }),
		"container that has ended":            with(func(e *event.PreemptionAsked) { e.Container = ref(1, 4) }),
		"withdrawn without a warning":         &event.PreemptionWithdrawn{Container: ref(1, 2), Cause: 1},
		"withdrawn without a cause":           &event.PreemptionWithdrawn{Container: ref(1, 1)},
		"withdrawn of nobody":                 &event.PreemptionWithdrawn{Container: ref(9, 1), Cause: 1},
		"reservation cancelled under warning": &event.ReservationCancelled{Reservation: 1, Cause: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := reserved(t)
			apply(t, s, ask(1, k1, 2, 1), allocated(1, 3, k1, 2), allocated(1, 4, k1, 2),
				&event.ContainerReleased{Container: ref(1, 4)}, warning(1))
			refuse(t, s, e)
		})
	}
	s := reserved(t)
	apply(t, s, warning(1), &event.ContainerCompleted{Container: ref(1, 2)},
		&event.NodeResourceChanged{Node: 1, Total: gb(12)})
	refuse(t, s, &event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
	apply(t, s, &event.PreemptionWithdrawn{Container: ref(1, 1), Cause: yarn.WithdrawFulfilled},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})

	s = crowded(t)
	apply(t, s, &event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(7)},
		&event.ResizeReserved{Reservation: 1, Container: ref(1, 1)})
	refuse(t, s, warning(1)) // it would end for its own increase
}

// TestDigestTellsPreemptionsApart checks that different preemption events give different digests.
func TestDigestTellsPreemptionsApart(t *testing.T) {
	base := reserved(t)
	digest := func(events ...event.Event) uint64 { f := base.Fork(); apply(t, f, events...); return f.Digest() }
	seen := map[uint64]string{}
	with := func(change func(e *event.PreemptionAsked)) *event.PreemptionAsked {
		e := warning(1)
		change(e)
		return e
	}
	for name, events := range map[string][]event.Event{
		"warned":                {warning(1)},
		"another container":     {warning(2)},
		"no reservation":        {with(func(e *event.PreemptionAsked) { e.Reservation = 0 })},
		"another deadline":      {with(func(e *event.PreemptionAsked) { e.DeadlineMillis++ })},
		"another queue":         {with(func(e *event.PreemptionAsked) { e.Queue = "root.b.y" })},
		"another cause":         {with(func(e *event.PreemptionAsked) { e.Cause = yarn.PreemptBalance })},
		"withdrawn":             {warning(1), &event.PreemptionWithdrawn{Container: ref(1, 1), Cause: yarn.WithdrawNoRoom}},
		"withdrawn otherwise":   {warning(1), &event.PreemptionWithdrawn{Container: ref(1, 1), Cause: yarn.WithdrawMoved}},
		"ended by preemption":   {warning(1), &event.ContainerReleased{Container: ref(1, 1), ExitStatus: yarn.ExitPreempted}},
		"ended without warning": {&event.ContainerReleased{Container: ref(1, 1), ExitStatus: yarn.ExitPreempted}},
	} {
		d := digest(events...)
		if other, twice := seen[d]; twice {
			t.Errorf("%q and %q have one digest", name, other)
		}
		seen[d] = name
	}
}

// TestDamagedPreemptionsAreSeen has a damaged record for every rule of CheckPreemptions and for
// each reference.
func TestDamagedPreemptionsAreSeen(t *testing.T) {
	for name, spoil := range map[string]func(s *State, slot ContainerSlot){
		"container":   func(s *State, _ ContainerSlot) { table.Place(&s.Preemptions.Table, 99) },
		"application": func(s *State, _ ContainerSlot) { table.Place(&s.Preempted.Table, 99).AMs = 1 },
		"ended container": func(s *State, _ ContainerSlot) {
			*table.Place(&s.Preemptions.Table, s.Container(ref(1, 2))) = *s.Preemptions.Get(s.Container(ref(1, 1)))
		},
		"cause":       func(s *State, slot ContainerSlot) { s.Preemptions.Mut(slot).Cause = 99 },
		"deadline":    func(s *State, slot ContainerSlot) { s.Preemptions.Mut(slot).DeadlineMillis = 1 },
		"amount":      func(s *State, slot ContainerSlot) { s.Preemptions.Mut(slot).Over = gb(-1) },
		"reservation": func(s *State, slot ContainerSlot) { s.Preemptions.Mut(slot).Reservation = 9 },
		"undelivered warning": func(s *State, slot ContainerSlot) {
			s.Containers.RemoveUndelivered(slot, s.Apps.Mut(s.Apps.Find(1)))
		},
		"nothing lost": func(s *State, _ ContainerSlot) { table.Place(&s.Preempted.Table, s.Apps.Find(1)) },
		"less than nothing lost": func(s *State, _ ContainerSlot) {
			*table.Place(&s.Preempted.Table, s.Apps.Find(1)) = Preempted{Containers: 1, Size: gb(-1)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := reserved(t)
			apply(t, s, warning(1), &event.ContainerReleased{Container: ref(1, 2)})
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			spoil(s, s.Container(ref(1, 1)))
			if err := s.Check(); !errors.Is(err, ErrInconsistent) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}
