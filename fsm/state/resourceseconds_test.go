package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// TestResourceSeconds checks resource-seconds through allocations, every way in which a container
// can end, and a snapshot.
func TestResourceSeconds(t *testing.T) {
	s := world(t)
	at := func(ms int64) *event.TimeAdvanced { return &event.TimeAdvanced{NowMillis: ms} }
	spent := func(now int64, want yarn.Resource) {
		t.Helper()
		if got := s.ResourceSeconds(appAt(t, s, 1), now); got != want {
			t.Errorf("at %d: %s, want %s", now, got, want)
		}
	}
	apply(t, s, at(10_000), ask(1, k1, 4, 1))
	spent(10_000, yarn.Resource{})
	apply(t, s, allocated(1, 1, k1, 1), at(10_500), allocated(1, 2, k1, 1), allocated(1, 3, k1, 2))
	spent(10_500, yarn.NewResource(512, 0)) // rounded down
	spent(9_000, yarn.Resource{})           // the clock of the reader is behind
	spent(12_500, yarn.NewResource(2560+2*2048, 2+2*2))

	// The first container ends at 13,000 ms. It uses nothing afterwards.
	apply(t, s, at(13_000), &event.ContainerCompleted{Container: ref(1, 1)})
	if a := appAt(t, s, 1); a.ResourceSeconds != yarn.NewResource(3072, 3) {
		t.Errorf("one ended after 3 s: %s", a.ResourceSeconds)
	}
	spent(14_500, yarn.NewResource(3072+2*4096, 3+2*4))

	// The second is released while its node still runs it. It ends with the release, not with the
	// node's later report.
	apply(t, s, &event.ContainerLaunched{Container: ref(1, 2)}, at(14_500), &event.ContainerReleased{Container: ref(1, 2)},
		at(20_000), &event.ContainerCompleted{Container: ref(1, 2)})
	if a := appAt(t, s, 1); a.ResourceSeconds != yarn.NewResource(3072+4096, 3+4) {
		t.Errorf("one released after 4 s: %s", a.ResourceSeconds)
	}
	r, err := decode(encode(s))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.ResourceSeconds(appAt(t, r, 1), 21_500), s.ResourceSeconds(appAt(t, s, 1), 21_500); got != want ||
		got != yarn.NewResource(3072+4096+11*1024, 3+4+11) {
		t.Errorf("restored: %s, was %s", got, want)
	}

	// The third is lost before its AM received it. It used resources nevertheless.
	apply(t, s, at(20_500), &event.ContainerCompleted{Container: ref(1, 3), Restore: true},
		&event.AttemptEnded{App: 1, Final: yarn.FinalFailed}, &event.AttemptStarted{App: 1, Attempt: 2})
	spent(99_000, yarn.NewResource(3072+4096+10*1024, 3+4+10)) // of all attempts
	if got := s.ResourceSeconds(appAt(t, s, 2), 99_000); !got.IsZero() {
		t.Errorf("another application used %s", got)
	}
}

// TestNegativeResourceSecondsRejected checks that Check rejects negative resource-seconds.
func TestNegativeResourceSecondsRejected(t *testing.T) {
	s := world(t)
	s.Apps.Mut(s.Apps.Find(1)).ResourceSeconds = yarn.NewResource(-1, 0)
	if s.Check() == nil {
		t.Error("a use below zero passes")
	}
}

// TestNodeHeartbeatSession checks that a registration resets the heartbeat session and response,
// that NodeHeard updates them, and that a snapshot keeps them.
func TestNodeHeartbeatSession(t *testing.T) {
	s := world(t)
	up := nodeUp(3, "h3", gb(4))
	up.HeartbeatSession, up.Address = 7, "10.0.0.3"
	apply(t, s, up)
	if n := s.Nodes.Get(3); n.HeartbeatSession != 7 || n.Response != 0 || n.Address != "10.0.0.3" {
		t.Errorf("registered: %+v", n)
	}
	apply(t, s, &event.NodeHeard{Node: 3, HeartbeatSession: 9, Response: 4})
	r, err := decode(encode(s))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Nodes.Get(3); n.HeartbeatSession != 9 || n.Response != 4 || n.Address != "10.0.0.3" {
		t.Errorf("restored: %+v", n)
	}
	apply(t, s, up)
	if n := s.Nodes.Get(3); n.HeartbeatSession != 7 || n.Response != 0 {
		t.Errorf("registered again: %+v", n)
	}
	for _, e := range []*event.NodeHeard{{Node: 9, HeartbeatSession: 1}, {Node: 3},
		{Node: 3, HeartbeatSession: 1, Response: -1}} {
		refuse(t, s, e)
	}
}

// TestAMLocationsKeptForAttempts checks that the state keeps the places of the AM for later
// attempts.
func TestAMLocationsKeptForAttempts(t *testing.T) {
	s := world(t)
	e := submit(3, "ann", "root.a")
	e.AMPlaces, e.AMStrict = []yarn.Place{{Name: "h1", Relax: true}, {Name: "/r1"}}, true
	apply(t, s, e)
	r, err := decode(encode(s))
	if err != nil {
		t.Fatal(err)
	}
	if a := appAt(t, r, 3); len(a.Details().AMPlaces) != 2 || a.Details().AMPlaces[0] != e.AMPlaces[0] ||
		a.Details().AMPlaces[1] != e.AMPlaces[1] || !a.AMStrict {
		t.Errorf("restored: %+v", a)
	}
}
