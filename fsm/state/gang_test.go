package state

import (
	"bytes"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

func gangOf(count int64) *event.GangDeclared {
	return &event.GangDeclared{App: 1, Gang: yarn.Gang{Priority: k1.Priority, AnyRequest: true, Count: count}}
}

func gangReserved(number uint64, container uint64, node NodeSlot, members uint32) *event.GangReserved {
	return &event.GangReserved{Reservation: number, App: 1, Number: container, Node: node, Members: members,
		ExpectedMillis: 9000}
}

// ganged returns a world in which application 1 has a waiting gang of 3 members. Both nodes have
// room.
func ganged(t failer) *State {
	s := world(t)
	apply(t, s, gangOf(3), ask(1, k1, 4, 3))
	return s
}

// TestGang follows a gang from its first ask to an ask beyond its members.
func TestGang(t *testing.T) {
	s := world(t)
	apply(t, s, gangOf(3))
	app := s.Apps.Find(1)
	is := func(want Gang) {
		t.Helper()
		want.Spec = gangOf(3).Gang
		if got := *s.Gangs.Get(app); got != want {
			t.Errorf("it is %+v, not %+v", got, want)
		}
	}
	is(Gang{})
	apply(t, s, ask(1, k1, 2, 3))
	is(Gang{Bound: true, Key: k1, AskedMillis: 1000})
	apply(t, s, &event.TimeAdvanced{NowMillis: 2000}, ask(1, k1, 4, 3))
	is(Gang{State: GangWaiting, Bound: true, Key: k1, AskedMillis: 1000, SinceMillis: 2000})
	apply(t, s, &event.TimeAdvanced{NowMillis: 3000}, ask(1, k1, 3, 3))
	is(Gang{State: GangWaiting, Bound: true, Key: k1, AskedMillis: 1000, SinceMillis: 2000})
	apply(t, s, gangReserved(1, 1, 1, 2), gangReserved(2, 2, 2, 1))
	is(Gang{State: GangWaiting, Bound: true, Key: k1, AskedMillis: 1000, SinceMillis: 2000, ExpectedMillis: 9000})
	if members, nodes := s.GangReserved(app); members != 3 || nodes != 2 || !s.Apps.Get(app).Reserved.IsZero() {
		t.Errorf("it holds %d nodes for %d, charged with %s", nodes, members, s.Apps.Get(app).Reserved)
	}
	back, err := decode(encode(s))
	if err != nil || !bytes.Equal(encode(back), encode(s)) || *back.Gangs.Get(app) != *s.Gangs.Get(app) {
		t.Fatalf("from a snapshot: %v", err)
	}
	apply(t, s, ask(1, k1, 4, 3), &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelGangStarted},
		&event.ReservationCancelled{Reservation: 2, Cause: yarn.CancelGangStarted},
		&event.GangStarted{App: 1}, allocated(1, 3, k1, 1), allocated(1, 4, k1, 1))
	if g := s.Gangs.Get(app); g.State != GangStarting || g.Left != 1 {
		t.Errorf("in between it is %+v", g)
	}
	apply(t, s, allocated(1, 5, k1, 2))
	is(Gang{State: GangServed, Bound: true, Key: k1, AskedMillis: 1000, SinceMillis: 2000})
	apply(t, s, allocated(1, 6, k1, 2)) // not a member of the gang
	apply(t, s, &event.AttemptEnded{App: 1, Keep: true})
	is(Gang{State: GangServed, Bound: true, Key: k1, AskedMillis: 1000, SinceMillis: 2000})
	for n := range uint64(4) {
		apply(t, s, &event.ContainerCompleted{Container: ref(1, n+3)})
	}
	apply(t, s, &event.AttemptStarted{App: 1, Attempt: 2}, &event.AttemptEnded{App: 1})
	is(Gang{})
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	apply(t, s, &event.ApplicationEnded{App: 1, State: yarn.AppFailed})
	if s.Gangs.Len() != 0 {
		t.Error("an application that has ended has a gang")
	}
}

// TestGangAskChanges checks that a gang stops waiting when its attempt asks for fewer than all
// members, and that SinceMillis starts again when it asks for all.
func TestGangAskChanges(t *testing.T) {
	s := ganged(t)
	app := s.Apps.Find(1)
	apply(t, s, &event.TimeAdvanced{NowMillis: 2000}, ask(1, k1, 2, 3))
	if g := s.Gangs.Get(app); g.State != GangAsking || g.AskedMillis != 1000 || g.SinceMillis != 0 {
		t.Errorf("with fewer asked it is %+v", g)
	}
	apply(t, s, ask(1, k1, 3, 3))
	if g := s.Gangs.Get(app); g.State != GangWaiting || g.AskedMillis != 1000 || g.SinceMillis != 2000 {
		t.Errorf("with all asked again it is %+v", g)
	}
	apply(t, s, ask(1, k1, 0, 3))
	if g := s.Gangs.Get(app); g.Bound || g.AskedMillis != 0 {
		t.Errorf("with nothing asked it is %+v", g)
	}
	apply(t, s, ask(1, yarn.SchedulerKey{Priority: k1.Priority, AllocationID: 9}, 3, 3))
	if g := s.Gangs.Get(app); g.State != GangWaiting || g.Key.AllocationID != 9 {
		t.Errorf("with another request it is %+v", g)
	}
	apply(t, s, &event.GangEnded{App: 1, Cause: yarn.GangTimedOut}, allocated(1, 1, s.Gangs.Get(app).Key, 1))
	if g := s.Gangs.Get(app); g.State != GangOver {
		t.Errorf("after its time it is %+v", g)
	}
	apply(t, s, &event.GangEnded{App: 1, Cause: yarn.GangWithdrawn})
	if s.Gangs.Len() != 0 {
		t.Error("a withdrawn gang is kept")
	}
}

// TestGangRefusals checks that Apply rejects events that would allocate or reserve a single member,
// and other events that do not fit the gang.
func TestGangRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		first []event.Event
		e     event.Event
	}{
		"member alone": {nil, allocated(1, 1, k1, 1)},
		"reserved as others are": {[]event.Event{ask(2, k1, 2, 3), allocated(2, 1, k1, 1), allocated(2, 2, k1, 1)},
			&event.ReservationMade{Reservation: 1, App: 1, Number: 1, Key: k1, Node: 1}},
		"started without all asked":    {[]event.Event{ask(1, k1, 2, 3)}, &event.GangStarted{App: 1}},
		"started while it holds nodes": {[]event.Event{gangReserved(1, 1, 1, 2)}, &event.GangStarted{App: 1}},
		"started twice":                {[]event.Event{&event.GangStarted{App: 1}}, &event.GangStarted{App: 1}},
		"started by none":              {nil, &event.GangStarted{App: 2}},
		"reserved without all asked":   {[]event.Event{ask(1, k1, 2, 3)}, gangReserved(1, 1, 1, 2)},
		"reserved node":                {[]event.Event{gangReserved(1, 1, 1, 2)}, gangReserved(2, 2, 1, 1)},
		"smaller node":                 {nil, gangReserved(1, 1, 1, 3)},
		"no members":                   {nil, gangReserved(1, 1, 1, 0)},
		"unknown node":                 {nil, gangReserved(1, 1, 9, 1)},
		"another number":               {nil, gangReserved(2, 1, 1, 1)},
		"another container":            {nil, gangReserved(1, 2, 1, 1)},
		"never expected": {nil,
			&event.GangReserved{Reservation: 1, App: 1, Number: 1, Node: 1, Members: 1}},
		"declared while it holds nodes": {[]event.Event{gangReserved(1, 1, 1, 2)}, gangOf(2)},
		"declared out of bounds":        {nil, gangOf(yarn.MaxGangMembers + 1)},
		"declared for a reserved ask": {[]event.Event{&event.GangEnded{App: 1, Cause: yarn.GangWithdrawn},
			allocated(1, 1, k1, 1), allocated(1, 2, k1, 1),
			&event.ReservationMade{Reservation: 1, App: 1, Number: 3, Key: k1, Node: 1}}, gangOf(2)},
		"declared by an ended application": {[]event.Event{&event.AttemptEnded{App: 1},
			&event.ApplicationEnded{App: 1, State: yarn.AppKilled}}, gangOf(2)},
		"ended while it holds nodes": {[]event.Event{gangReserved(1, 1, 1, 2)},
			&event.GangEnded{App: 1, Cause: yarn.GangTimedOut}},
		"ended without a cause": {nil, &event.GangEnded{App: 1}},
		"none ended":            {nil, &event.GangEnded{App: 2, Cause: yarn.GangTimedOut}},
	} {
		t.Run(name, func(t *testing.T) {
			s := ganged(t)
			apply(t, s, c.first...)
			refuse(t, s, c.e)
		})
	}
}

// TestDigestTellsGangsApart checks that different gang events give different digests.
func TestDigestTellsGangsApart(t *testing.T) {
	base := ganged(t)
	seen := map[uint64]string{}
	for name, events := range map[string][]event.Event{
		"declared":           {gangOf(2)},
		"declared otherwise": {gangOf(4)},
		"timed out":          {&event.GangEnded{App: 1, Cause: yarn.GangTimedOut}},
		"withdrawn":          {&event.GangEnded{App: 1, Cause: yarn.GangWithdrawn}},
		"started":            {&event.GangStarted{App: 1}},
		"held":               {gangReserved(1, 1, 1, 2)},
		"held elsewhere":     {gangReserved(1, 1, 2, 2)},
		"held later": {&event.GangReserved{Reservation: 1, App: 1, Number: 1, Node: 1, Members: 2,
			ExpectedMillis: 9001}},
		"held for fewer": {gangReserved(1, 1, 1, 1)},
	} {
		f := base.Fork()
		apply(t, f, events...)
		if other := seen[f.Digest()]; other != "" {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[f.Digest()] = name
	}
}

// TestDamagedGangsAreSeen damages a gang for every rule of CheckGangs.
func TestDamagedGangsAreSeen(t *testing.T) {
	for name, spoil := range map[string]func(s *State, g *Gang){
		"no application": func(s *State, g *Gang) { *table.Place(&s.Gangs.Table, 99) = *g },
		"bounds":         func(_ *State, g *Gang) { g.Spec.Count = 0 },
		"state":          func(_ *State, g *Gang) { g.State = GangAsking },
		"unknown state":  func(_ *State, g *Gang) { g.State = GangOver + 1 },
		"starts":         func(_ *State, g *Gang) { g.Left = 1 },
		"since":          func(_ *State, g *Gang) { g.SinceMillis = 0 },
		"unbound":        func(_ *State, g *Gang) { g.Bound = false },
		"reservation":    func(s *State, _ *Gang) { table.Release(&s.Gangs.Table, s.Apps.Find(1)) },
	} {
		s := ganged(t)
		apply(t, s, gangReserved(1, 1, 1, 2))
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		spoil(s, s.Gangs.Mut(s.Apps.Find(1)))
		if s.Check() == nil {
			t.Errorf("%s: nothing is seen", name)
		}
	}
}
