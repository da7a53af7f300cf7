package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// TestRecordFields compares whole records, so that no field of an event is forgotten.
func TestRecordFields(t *testing.T) {
	s := world(t)
	at := func(ms int64) *event.TimeAdvanced { return &event.TimeAdvanced{NowMillis: ms} }
	apply(t, s, at(2000), &event.ApplicationSubmitted{App: 7, Name: "name", User: "eve", Queue: "root.a", Type: "SPARK",
		Tags: []string{"x", "y"}, Priority: 4,
		AM: gb(2), KeepContainers: true, MaxAttempts: 3, LifetimeMillis: 99, Context: []byte("ctx")},
		at(3000), &event.AttemptStarted{App: 7, Attempt: 1}, &event.BlacklistChanged{App: 7, Add: []string{"h1"}},
		&event.AttemptActivated{App: 7}, at(4000), &event.AttemptRegistered{App: 7, Host: "h", RPCPort: 5, TrackingURL: "u"},
		ask(7, k1, 1, 1), at(5000), allocated(7, 1, k1, 2), &event.ResponseRecorded{App: 7, Response: 3})
	a := appAt(t, s, 7)
	if a.ID != (yarn.ApplicationID{ClusterTimestamp: 77, Seq: 7}) || a.Details().Name != "name" ||
		s.Names.Text(a.User) != "eve" || a.Details().Type != "SPARK" || len(a.Details().Tags) != 2 ||
		string(a.Details().Context) != "ctx" || a.Priority != 4 || a.AM != gb(2) || !a.KeepContainers || a.Unmanaged ||
		a.MaxAttempts != 3 || a.LifetimeMillis != 99 {
		t.Errorf("submitted: %+v", a)
	}
	if a.SubmittedMillis != 2000 || a.AttemptMillis != 3000 || a.StartedMillis != 4000 || a.Details().Host != "h" ||
		a.RPCPort != 5 || a.Details().TrackingURL != "u" ||
		a.State != yarn.AppRunning || a.Response != 3 || a.NextNumber != 1 || a.AttemptID().Attempt != 1 {
		t.Errorf("running: %+v", a)
	}
	if c := s.Containers.Get(a.Containers); c.AllocatedMillis != 5000 ||
		s.Apps.ContainerID(c).String() != "container_77_0007_01_000001" || c.Key != k1 || c.Node != 2 {
		t.Errorf("container: %+v", c)
	}
	apply(t, s, at(6000), &event.AttemptEnded{App: 7, Final: yarn.FinalFailed, Keep: true, Counts: true,
		Diagnostics: "first", TrackingURL: "v"})
	if a := appAt(t, s, 7); a.Failures != 1 || a.Final != yarn.FinalFailed || a.Details().Diagnostics != "first" ||
		a.Details().TrackingURL != "v" {
		t.Errorf("ended attempt: %+v", a)
	}
	apply(t, s, &event.AttemptStarted{App: 7, Attempt: 2, NonRunnable: true})
	if a := appAt(t, s, 7); a.State != yarn.AppAccepted || a.Response != 0 || a.NextNumber != 0 || a.Blacklist != nil ||
		a.AttemptMillis != 6000 {
		t.Errorf("second attempt: %+v", a)
	}
	apply(t, s, at(7000), &event.AttemptStarted{App: 7, Attempt: 2}, &event.AttemptActivated{App: 7},
		&event.AttemptRegistered{App: 7},
		&event.ContainerCompleted{Container: ref(7, 1)}, &event.AttemptEnded{App: 7, Final: yarn.FinalSucceeded}, at(8000),
		&event.ApplicationEnded{App: 7, State: yarn.AppFinished, Final: yarn.FinalSucceeded, Diagnostics: "last"})
	if a := appAt(t, s, 7); a.AttemptMillis != 6000 || a.StartedMillis != 4000 || a.EndedMillis != 8000 ||
		a.Failures != 1 || a.Final != yarn.FinalSucceeded ||
		a.State != yarn.AppFinished || a.Details().Diagnostics != "last" || a.Containers != 0 {
		t.Errorf("ended: %+v", a)
	}
}

func TestNodeFields(t *testing.T) {
	s := world(t)
	apply(t, s, &event.TimeAdvanced{NowMillis: 2000},
		&event.NodeRegistered{Node: 3, ID: yarn.NodeID{Host: "h3", Port: 9}, HTTPPort: 8042, Rack: "/r", Total: gb(4),
			Version: "3.4"},
		&event.NodeStateChanged{Node: 3, State: yarn.NodeDecommissioning, DeadlineMillis: 70, Report: "drain"})
	n := s.Nodes.Get(3)
	if n.ID.Port != 9 || s.Names.Text(n.Host) != "h3" || s.Names.Text(n.RackID) != "/r" || n.Rack != "/r" ||
		n.HTTPPort != 8042 || n.Version != "3.4" || n.Total != gb(4) ||
		n.Registered != 2000 || n.State != yarn.NodeDecommissioning || n.DeadlineMillis != 70 || n.Report != "drain" {
		t.Errorf("node: %+v", n)
	}
	if s.Meta.Cluster != gb(20) || s.Meta.UsableNodes != 3 {
		t.Errorf("cluster: %s on %d", s.Meta.Cluster, s.Meta.UsableNodes)
	}
	apply(t, s, &event.NodeStateChanged{Node: 3, State: yarn.NodeDecommissioned},
		&event.NodeResourceChanged{Node: 3, Total: gb(6)})
	if s.Meta.Cluster != gb(16) || s.Meta.UsableNodes != 2 {
		t.Errorf("after a node went: %s on %d", s.Meta.Cluster, s.Meta.UsableNodes)
	}
	apply(t, s, &event.NodeRegistered{Node: 3, ID: yarn.NodeID{Host: "h3", Port: 9}, Rack: "/q", Total: gb(5)})
	apply(t, s, &event.LevelRaised{Level: 5}, &event.EpochRaised{Epoch: 6, ClusterTimestamp: 88},
		submit(9, "ann", "root.a"))
	if s.Meta.Level != 5 || s.Meta.Epoch != 6 || appAt(t, s, 9).ID.ClusterTimestamp != 88 || s.Meta.ClusterID != "c" ||
		appAt(t, s, 1).ID.ClusterTimestamp != 77 {
		t.Errorf("cluster: %+v", s.Meta)
	}
	if n := s.Nodes.Get(3); n.State != yarn.NodeRunning || n.Report != "" || n.DeadlineMillis != 0 ||
		s.Names.Text(n.RackID) != "/q" || s.Meta.Cluster != gb(21) || s.Nodes.Next() != 4 {
		t.Errorf("back again: %+v, cluster %s", n, s.Meta.Cluster)
	}
}

func TestReservationAndRequestFields(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 3, 6), allocated(1, 1, k1, 1),
		&event.AskCountersUpdated{App: 1, Key: k1, Opportunities: 5, ReReservations: 6}, &event.TimeAdvanced{NowMillis: 4000},
		&event.ReservationMade{Reservation: 1, App: 1, Number: 2, Key: k1, Node: 1, AM: true})
	r := s.Reservations.Get(s.Reservations.Find(1))
	if r.Key != k1 || r.Node != 1 || r.Attempt != 1 || r.Container != 2 || r.Size != gb(6) || !r.AM ||
		r.MadeMillis != 4000 {
		t.Errorf("reservation: %+v", r)
	}
	k := s.Asks.Get(s.Asks.Find(appAt(t, s, 1), k1))
	if k.Opportunities != 5 || k.ReReservations != 0 || k.Reservations != 1 {
		t.Errorf("a new reservation starts the re-reservations again: %+v", k)
	}
	f := s.Fork()
	apply(t, f, &event.AskCountersUpdated{App: 1, Key: k1, ReReservations: 4},
		&event.ContainerCompleted{Container: ref(1, 1)},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
	if k := f.Asks.Get(f.Asks.Find(appAt(t, f, 1), k1)); k.ReReservations != 0 || k.Reservations != 0 || k.Count != 1 {
		t.Errorf("a fulfillment ends the re-reservations: %+v", k)
	}
	f = s.Fork()
	apply(t, f, &event.AskChanged{App: 1, Key: k1, Name: "h1", Count: 2}, ask(1, k1, 1, 6), allocated(1, 3, k1, 2))
	if k := f.Asks.Get(f.Asks.Find(appAt(t, f, 1), k1)); k.Count != 0 || k.Locations != 0 || k.Entries != 1 {
		t.Errorf("the last of an ask that a reservation keeps: %+v", k)
	}
	apply(t, s, &event.AskChanged{App: 1, Key: k1, Name: "h2", Count: 2}, ask(1, k1, 0, 6))
	if k := s.Asks.Get(s.Asks.Find(appAt(t, s, 1), k1)); k.Count != 0 || k.Locations != 0 || k.Entries != 1 {
		t.Errorf("an ask of nothing that a reservation keeps: %+v", k)
	}
	apply(t, s, &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelAskGone})
	if s.Asks.Find(appAt(t, s, 1), k1) != 0 || s.Meta.Cancelled[yarn.CancelAskGone] != 1 {
		t.Error("the ask outlives its last reservation, or the cause is not counted")
	}
	apply(t, s, &event.RequestRecorded{Key: "c/1", BodyHash: 5, Reply: []byte("r")})
	if q, ok := s.Requests.Find("c/1"); !ok || q.BodyHash != 5 || string(q.Reply) != "r" || q.AtMillis != 4000 {
		t.Errorf("request: %+v", q)
	}
	v := s.Versions.Current()
	if v.Version != 1 || !v.Dominant || v.AtMillis != 1000 || len(v.Properties) != 1 || v.Properties[0].Value != "b" ||
		len(s.Versions.Kinds()) != 2 {
		t.Errorf("configuration: %+v", v)
	}
	if New().Names.Text(0) != "" || New().Versions.Current() != nil || len(New().Versions.Kinds()) != 2 ||
		New().Queues.Root() != 0 {
		t.Error("an empty state has a configuration")
	}
}

func TestAskFields(t *testing.T) {
	s := world(t)
	for _, relax := range []bool{false, true} {
		apply(t, s, &event.AskChanged{App: 1, Key: k1, Name: yarn.Any, Count: 2, Size: gb(3), Relax: relax},
			&event.AskChanged{App: 1, Key: k1, Name: "h1", Count: 1, Relax: !relax})
		k := s.Asks.Get(s.Asks.Find(appAt(t, s, 1), k1))
		l := s.Locations.Get(s.Location(k, s.Names.Find("h1")))
		if k.Relax != relax || k.Count != 2 || k.Size != gb(3) || k.Entries != 2 || l.Relax == relax || l.Count != 1 {
			t.Errorf("ask %+v, location %+v", k, l)
		}
	}
}

// TestAMAsks checks that asks before the AM's registration are for the AM itself, except for
// unmanaged applications.
func TestAMAsks(t *testing.T) {
	s := world(t)
	un := submit(4, "cid", "root.a")
	un.Unmanaged = true
	apply(t, s, submit(3, "cid", "root.a"), un, &event.AttemptStarted{App: 3, Attempt: 1},
		&event.AttemptStarted{App: 4, Attempt: 1},
		&event.AttemptActivated{App: 3}, &event.AttemptActivated{App: 4})
	if q := queueAt(t, s, "root.a"); q.AMUsed != gb(2) || s.Users.Get(appAt(t, s, 3).UserSlot).AMUsed != gb(1) {
		t.Errorf("AMs use %s", q.AMUsed)
	}
	for app, want := range map[uint32]bool{1: false, 3: true, 4: false} {
		apply(t, s, ask(app, k1, 1, 1))
		if got := s.Asks.Get(s.Asks.Find(appAt(t, s, app), k1)).AM; got != want {
			t.Errorf("application %d: the ask is for its AM: %v", app, got)
		}
	}
}
