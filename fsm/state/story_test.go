package state

import (
	"fmt"
	"slices"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// told returns the containers in an application's undelivered list, newest first.
func told(t *testing.T, s *State, app uint32) []uint64 {
	t.Helper()
	var out []uint64
	for _, c := range s.Containers.UndeliveredTo(appAt(t, s, app)) {
		out = append(out, c.Number)
	}
	return out
}

// TestDelivery follows a container through the responses: it is listed until a later response
// acknowledges it, and freed when its completion was acknowledged.
func TestDelivery(t *testing.T) {
	s := world(t)
	box := func() *Container { return s.Containers.Get(s.Container(ref(1, 1))) }
	want := func(step string, state yarn.ContainerState, listed ...uint64) {
		t.Helper()
		if box().State != state || !slices.Equal(told(t, s, 1), listed) {
			t.Errorf("%s: it is %s, to be told: %v; want %s, %v", step, box().State, told(t, s, 1), state, listed)
		}
	}
	apply(t, s, ask(1, k1, 2, 1), allocated(1, 1, k1, 1))
	want("granted", yarn.ContainerAllocated, 1)
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 1})
	want("told", yarn.ContainerAcquired, 1)
	apply(t, s, allocated(1, 2, k1, 1), &event.ResponseRecorded{App: 1, Response: 2})
	want("acknowledged", yarn.ContainerAcquired, 2)
	apply(t, s, &event.ContainerLaunched{Container: ref(1, 1)})
	want("launched", yarn.ContainerRunning, 2)
	apply(t, s, &event.ContainerReleased{Container: ref(1, 1), ExitStatus: -100, Diagnostics: "gone"})
	want("released", yarn.ContainerReleasing, 1, 2)
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 3})
	want("end told", yarn.ContainerReleasing, 1)
	if c := box(); c.GrantedIn != 1 || c.CompletedIn != 3 || c.ExitStatus != -100 ||
		s.Diagnostics.Get(c.Diagnostics).Text != "gone" {
		t.Errorf("it is %+v", c)
	}
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 1)})
	want("node reports its end", yarn.ContainerCompleted, 1)
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 4})
	if s.Container(ref(1, 1)) != 0 || s.Diagnostics.Len() != 0 {
		t.Error("it is not forgotten after its end was acknowledged")
	}
	apply(t, s, &event.ContainerLaunched{Container: ref(1, 2)},
		&event.ContainerCompleted{Container: ref(1, 2), ExitStatus: 9, Diagnostics: "by itself"})
	c := s.Containers.Get(s.Container(ref(1, 2)))
	if !slices.Equal(told(t, s, 1), []uint64{2}) || c.ExitStatus != 9 ||
		s.Diagnostics.Get(c.Diagnostics).Text != "by itself" || s.Meta.Completed != 2 {
		t.Errorf("ended by itself after it was acknowledged: %+v, to be told %v, %d ended", c, told(t, s, 1),
			s.Meta.Completed)
	}
}

// TestAllocationAndCompletionInOneResponse checks that one response delivers both the allocation
// and the completion.
func TestAllocationAndCompletionInOneResponse(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 2, 1), allocated(1, 1, k1, 1), &event.ContainerCompleted{Container: ref(1, 1)},
		&event.ResponseRecorded{App: 1, Response: 5})
	if c := s.Containers.Get(s.Container(ref(1, 1))); c.GrantedIn != 5 || c.CompletedIn != 5 {
		t.Errorf("told in %d and %d", c.GrantedIn, c.CompletedIn)
	}
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 6})
	if s.Containers.Len() != 0 {
		t.Error("it is not forgotten")
	}
}

// TestNodePendingCommands checks that an AM's container is a pending command until it is launched,
// and a released container until the node reports its completion.
func TestNodePendingCommands(t *testing.T) {
	s := world(t)
	want := func(step string, n int32) {
		t.Helper()
		if got := s.Nodes.Get(1).PendingCommands; got != n {
			t.Errorf("%s: %d pending commands, want %d", step, got, n)
		}
	}
	am := allocated(1, 1, k1, 1)
	am.AM = true
	apply(t, s, ask(1, k1, 3, 1), am)
	want("AM allocated", 1)
	apply(t, s, &event.ContainerLaunched{Container: ref(1, 1)})
	want("AM launched", 0)
	apply(t, s, allocated(1, 2, k1, 1))
	want("container allocated", 0)
	apply(t, s, &event.ContainerReleased{Container: ref(1, 2)}, &event.ContainerReleased{Container: ref(1, 1)})
	want("both released", 2)
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 2)}, &event.ContainerCompleted{Container: ref(1, 1)})
	want("both reported", 0)
	if s.Container(ref(1, 1)) != 0 || s.Container(ref(1, 2)) == 0 {
		t.Error("an AM container is forgotten at once, another when its AM has been told")
	}
}

// TestKeptContainerLaunchedBeforeDelivery checks that such a container runs on for the next
// attempt.
func TestKeptContainerLaunchedBeforeDelivery(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 2, 1), allocated(1, 1, k1, 1), &event.AttemptEnded{App: 1, Keep: true},
		&event.AttemptStarted{App: 1, Attempt: 2}, &event.AttemptActivated{App: 1}, &event.AttemptRegistered{App: 1},
		&event.ContainerLaunched{Container: ref(1, 1)}, ask(1, k1, 2, 1), allocated(1, 1, k1, 1))
	second := event.ContainerRef{App: 1, Attempt: 2, Number: 1}
	if s.Container(second) == 0 || s.Container(second) == s.Container(ref(1, 1)) {
		t.Fatal("the same number of two attempts is not two containers")
	}
	apply(t, s, &event.ContainerReleased{Container: ref(1, 1)}, &event.ResponseRecorded{App: 1, Response: 1})
	if got := told(t, s, 1); len(got) != 2 {
		t.Errorf("to be told: %v", got)
	}
	if appAt(t, s, 1).Live != 1 {
		t.Error("the kept container was not given back")
	}
}

// TestMoveTakesEverythingAlong checks that a move changes the leaf of containers, reservations,
// asks and counts.
func TestMoveTakesEverythingAlong(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 5, 4), allocated(1, 1, k1, 1), allocated(1, 2, k1, 1),
		&event.ReservationMade{Reservation: 1, App: 1, Number: 3, Key: k1, Node: 1})
	root := *queueAt(t, s, "root")
	apply(t, s, &event.ApplicationMoved{App: 1, Queue: "root.b.y"})
	from, to, over := queueAt(t, s, "root.a"), queueAt(t, s, "root.b.y"), queueAt(t, s, "root.b")
	if !from.Used.IsZero() || !from.Pending.IsZero() || !from.AMUsed.IsZero() || from.Containers != 0 ||
		from.Apps() != 0 || from.ActiveUsers != 0 {
		t.Errorf("left behind: %+v", from)
	}
	if to.Used != gb(12) || to.Reserved != gb(4) || to.Pending != gb(12) || to.Containers != 3 || to.AMUsed != gb(1) ||
		to.ActiveUsers != 1 || to.ActiveUsed != gb(12) {
		t.Errorf("arrived: %+v", to)
	}
	if over.Used != gb(12) || over.Runnable != 2 {
		t.Errorf("above: %+v", over)
	}
	if now := queueAt(t, s, "root"); now.Used != root.Used || now.Pending != root.Pending ||
		now.Containers != root.Containers || now.Runnable != root.Runnable {
		t.Errorf("root changed from %+v to %+v", root, *now)
	}
	if s.Users.Find(s.Queues.Find("root.a"), s.Names.Find("ann")) != 0 {
		t.Error("the user is still in the queue it left")
	}
}

// TestActiveAndWaitingUsers checks which users count as active (an activated application and asks)
// and as waiting (only applications that are not activated).
func TestActiveAndWaitingUsers(t *testing.T) {
	s := world(t)
	want := func(step string, active, waiting int32, used yarn.Resource) {
		t.Helper()
		if q := queueAt(t, s, "root.a"); q.ActiveUsers != active || q.WaitingUsers != waiting || q.ActiveUsed != used {
			t.Errorf("%s: %d active with %s, %d waiting; want %d with %s, %d", step, q.ActiveUsers, q.ActiveUsed, q.WaitingUsers,
				active, used, waiting)
		}
	}
	none := yarn.Resource{}
	want("nothing asked", 0, 0, none)
	apply(t, s, ask(1, k1, 2, 2))
	want("asked", 1, 0, none)
	apply(t, s, allocated(1, 1, k1, 1))
	want("allocated", 1, 0, gb(2))
	apply(t, s, allocated(1, 2, k1, 1))
	want("satisfied", 0, 0, none)
	apply(t, s, submit(3, "cid", "root.a"), &event.AttemptStarted{App: 3, Attempt: 1}, ask(3, k1, 1, 1))
	want("a second user waits", 0, 1, none)
	apply(t, s, &event.AttemptActivated{App: 3})
	want("it is activated", 1, 0, none)
	apply(t, s, ask(1, k1, 1, 1))
	want("the first asks again", 2, 0, gb(4))
	apply(t, s, &event.AttemptEnded{App: 1, Keep: true})
	want("the first's attempt ends", 1, 0, none)
}

// TestReservationBansForgotten checks that forgetting an application removes its reservation bans,
// because another application gets its slot.
func TestReservationBansForgotten(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 2, 5), allocated(1, 1, k1, 1), &event.ResponseRecorded{App: 1, Response: 1}, ask(2, k1, 2, 5),
		&event.ReservationMade{Reservation: 1, App: 2, Number: 1, Key: k1, Node: 1},
		&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator},
		&event.ReservationMade{Reservation: 2, App: 1, Number: 2, Key: k1, Node: 1},
		&event.ReservationCancelled{Reservation: 2, Cause: yarn.CancelOperator})
	slot := s.Apps.Find(2)
	if !s.ReservationBans.Forbids(s.Nodes.Get(1), slot, k1) || s.ReservationBans.Forbids(s.Nodes.Get(2), slot, k1) ||
		s.ReservationBans.Forbids(s.Nodes.Get(1), slot, k2) {
		t.Fatal("the key is not banned from the node, or more than it is")
	}
	apply(t, s, &event.AttemptEnded{App: 2}, &event.ApplicationEnded{App: 2, State: yarn.AppFailed},
		&event.ApplicationForgotten{App: 2},
		submit(3, "bob", "root.b.x"))
	if s.Apps.Find(3) != slot {
		t.Fatalf("application 3 is at slot %d, %d was free", s.Apps.Find(3), slot)
	}
	if s.ReservationBans.Forbids(s.Nodes.Get(1), slot, k1) {
		t.Error("another application inherits the ban")
	}
	if !s.ReservationBans.Forbids(s.Nodes.Get(1), s.Apps.Find(1), k1) {
		t.Error("the other application's ban went too")
	}
	f := s.Fork() // application 3's ban comes before application 1's in the list
	apply(t, f, &event.AttemptStarted{App: 3, Attempt: 1}, &event.AttemptActivated{App: 3}, ask(3, k1, 1, 5),
		&event.ReservationMade{Reservation: 3, App: 3, Number: 1, Key: k1, Node: 1},
		&event.ReservationCancelled{Reservation: 3, Cause: yarn.CancelOperator},
		&event.AttemptEnded{App: 3}, &event.ApplicationEnded{App: 3, State: yarn.AppFailed},
		&event.ApplicationForgotten{App: 3})
	if f.ReservationBans.Len() != 1 || !f.ReservationBans.Forbids(f.Nodes.Get(1), f.Apps.Find(1), k1) {
		t.Errorf("%d bans are left, application 1's among them: %v", f.ReservationBans.Len(),
			f.ReservationBans.Forbids(f.Nodes.Get(1), f.Apps.Find(1), k1))
	}
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 1)})
	if s.ReservationBans.Forbids(s.Nodes.Get(1), s.Apps.Find(1), k1) || s.ReservationBans.Len() != 0 {
		t.Error("a ban ends when the node's free room changes")
	}
}

// TestEndedApplicationDroppedQueue checks that the queue of an ended application may be removed,
// and that the application does not refer to another queue with the same slot.
func TestEndedApplicationDroppedQueue(t *testing.T) {
	s := world(t)
	apply(t, s, &event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppFinished},
		tree(2, parent("root.b"), leaf("root.b.x"), leaf("root.b.y")),
		tree(3, parent("root.b"), leaf("root.b.x"), leaf("root.b.y"), leaf("root.new")))
	if q := appAt(t, s, 1).Queue; q != 0 {
		t.Errorf("it names %s", s.Queues.Get(q).Path)
	}
}

func TestTreeOfQueues(t *testing.T) {
	s := world(t)
	root := s.Queues.Get(s.Queues.Root())
	var names []string
	for _, c := range root.Children {
		names = append(names, s.Queues.Get(c).Name)
	}
	if !slices.Equal(names, []string{"a", "b"}) || s.Queues.Find("root.b.x") == 0 || s.Queues.Find("root.b.z") != 0 ||
		queueAt(t, s, "root.b.x").Parent != s.Queues.Find("root.b") {
		t.Errorf("children %v", names)
	}
	apply(t, s, tree(2, parent("root.b"), leaf("root.b.y"), leaf("root.b.x"), leaf("root.a")))
	if names := fmt.Sprint(s.Queues.Get(queueAt(t, s, "root.b").Children[0]).Name, len(s.Versions),
		s.Versions.Current().Version); names != "y2 2" && names != "y 2 2" {
		t.Errorf("after the second configuration: %s", names)
	}
}

// TestOldConfigurationsAreForgotten checks that the number of queue configurations is bounded.
func TestOldConfigurationsAreForgotten(t *testing.T) {
	s := world(t)
	for v := uint64(2); v < MaxQueueVersions+20; v++ {
		apply(t, s, tree(v, leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y")))
	}
	if n := len(s.Versions); n != MaxQueueVersions || s.Versions.Current().Version != MaxQueueVersions+19 {
		t.Errorf("%d versions, the last is %d", n, s.Versions.Current().Version)
	}
}

func TestBlacklistIsASortedSet(t *testing.T) {
	s := world(t)
	apply(t, s, &event.BlacklistChanged{App: 1, Add: []string{"z", "h2", "/r1", "z"}},
		&event.BlacklistChanged{App: 1, Add: []string{"h2"}, Remove: []string{"z", "unknown"}})
	a := appAt(t, s, 1)
	if len(a.Blacklist) != 2 || !slices.IsSorted(a.Blacklist) {
		t.Errorf("it is %v", a.Blacklist)
	}
	if !a.Blacklisted(s.Nodes.Get(1)) || !a.Blacklisted(s.Nodes.Get(2)) {
		t.Error("a host, or a rack, is refused")
	}
	apply(t, s, &event.BlacklistChanged{App: 1, Remove: []string{"/r1"}})
	if appAt(t, s, 1).Blacklisted(s.Nodes.Get(1)) {
		t.Error("taken off, and still refused")
	}
}

// TestStaleRequests checks both limits, number and age on the log's clock.
func TestStaleRequests(t *testing.T) {
	s := New()
	apply(t, s, &event.TimeAdvanced{NowMillis: 1})
	for i := range MaxRequests + 7 {
		if i == 20 {
			apply(t, s, &event.TimeAdvanced{NowMillis: 1 + RequestKeepMillis/2})
		}
		if err := s.Apply(&event.RequestRecorded{Key: fmt.Sprint(i), BodyHash: uint64(i), Reply: []byte{1}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Requests.Stale(&s.Meta); n != 7 {
		t.Errorf("%d are over the number, want 7", n)
	}
	apply(t, s, &event.TimeAdvanced{NowMillis: 1 + RequestKeepMillis})
	if n := s.Requests.Stale(&s.Meta); n != 20 {
		t.Errorf("%d are over number or age, want 20", n)
	}
	apply(t, s, &event.RequestsForgotten{Count: 20})
	if _, ok := s.Requests.Find("19"); ok || s.Requests.Stale(&s.Meta) != 0 {
		t.Error("the oldest are still remembered")
	}
	if r, ok := s.Requests.Find("20"); !ok || r.BodyHash != 20 {
		t.Error("a younger one is forgotten")
	}
	apply(t, s, &event.RequestsForgotten{Count: uint32(s.Requests.Len())}, &event.RequestRecorded{Key: "again"})
	if _, ok := s.Requests.Find("again"); !ok || s.Meta.OldestRequest != s.Meta.NewestRequest {
		t.Error("after all are forgotten, the next is not the oldest and the newest")
	}
}

func TestAsksStandInKeyOrder(t *testing.T) {
	s := world(t)
	for _, p := range []int32{5, -3, 9, 0, 5, 2} {
		apply(t, s, ask(1, yarn.SchedulerKey{Priority: p}, 1, 1))
	}
	var got []int32
	for k := appAt(t, s, 1).Asks; k != 0; k = s.Asks.Get(k).Next {
		got = append(got, s.Asks.Get(k).Key.Priority)
	}
	if !slices.Equal(got, []int32{-3, 0, 2, 5, 9}) {
		t.Errorf("they stand as %v", got)
	}
	apply(t, s, ask(1, yarn.SchedulerKey{Priority: 2}, 0, 1), ask(1, yarn.SchedulerKey{Priority: -3}, 0, 1),
		ask(1, yarn.SchedulerKey{Priority: 9}, 0, 1))
	if appAt(t, s, 1).Outstanding != 2 || s.Asks.Len() != 2 {
		t.Error("an ask of nothing is still there")
	}
}

func TestJoinTokens(t *testing.T) {
	s := world(t)
	apply(t, s, &event.JoinTokenCreated{Hash: []byte{1}, Voter: true, ExpiresMillis: 1500, CreatedBy: "op"},
		&event.JoinTokenCreated{Hash: []byte{2}, ExpiresMillis: 9000},
		&event.JoinTokenUsed{Hash: []byte{2}, By: "r2"})
	f := s.Fork()
	apply(t, s, &event.TimeAdvanced{NowMillis: 1500}, &event.JoinTokensExpired{})
	if _, ok := s.JoinTokens.Find([]byte{1}); ok {
		t.Error("an expired token is still there")
	}
	if tok, ok := s.JoinTokens.Find([]byte{2}); !ok || tok.UsedBy != "r2" {
		t.Errorf("join token 2: %+v, found %v, want it used by r2", tok, ok)
	}
	if _, ok := f.JoinTokens.Find([]byte{1}); !ok {
		t.Error("a fork lost its token")
	}
}
