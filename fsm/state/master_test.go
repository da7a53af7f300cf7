package state

import (
	"slices"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

func at(ms int64) *event.TimeAdvanced { return &event.TimeAdvanced{NowMillis: ms} }

// withMaster returns a world with application 3, whose AM is container 1 on node 2.
func withMaster(t failer) *State {
	t.Helper()
	s := world(t)
	am := allocated(3, 1, k1, 2)
	am.AM = true
	apply(t, s, submit(3, "cid", "root.b.y"), at(2000), &event.AttemptStarted{App: 3, Attempt: 1},
		&event.AttemptActivated{App: 3}, ask(3, k1, 1, 1), am)
	return s
}

// TestAMContainerLifecycle follows the AM container from its allocation to its end.
func TestAMContainerLifecycle(t *testing.T) {
	s := withMaster(t)
	a := appAt(t, s, 3)
	if a.MasterNumber != 1 || a.MasterNode != 2 || s.Master(a) != s.Container(ref(3, 1)) || a.LaunchedMillis != 0 {
		t.Fatalf("granted: %+v", a)
	}
	f := s.Fork()
	apply(t, f, at(2500), &event.ContainerLaunched{Container: ref(3, 1)})
	if a := appAt(t, f, 3); a.LaunchedMillis != 2500 {
		t.Errorf("its node reports it: launched at %d", a.LaunchedMillis)
	}
	refuse(t, f, &event.AttemptLaunched{App: 3})
	refuse(t, f, &event.AttemptRegistered{App: 3, ClientAlgorithm: yarn.HMACs})
	apply(t, s, &event.AttemptRegistered{App: 3, Host: "h"}, at(3000), &event.AttemptLaunched{App: 3}, at(3500),
		&event.ContainerLaunched{Container: ref(3, 1)})
	if a := appAt(t, s, 3); a.LaunchedMillis != 3000 {
		t.Errorf("told by its launcher, after it had registered: launched at %d", a.LaunchedMillis)
	}
	refuse(t, s, &event.AttemptLaunched{App: 1})
}

func TestAMContainerByReservation(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 1, 8), allocated(1, 1, k1, 1), submit(3, "cid", "root.b.y"),
		&event.AttemptStarted{App: 3, Attempt: 1}, &event.AttemptActivated{App: 3}, ask(3, k1, 1, 2),
		&event.ReservationMade{Reservation: 1, App: 3, Number: 1, Key: k1, Node: 1, AM: true})
	if a := appAt(t, s, 3); a.MasterNumber != 0 || s.Master(a) != 0 {
		t.Errorf("reserved: %+v", a)
	}
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 1)},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
	if a := appAt(t, s, 3); a.MasterNumber != 1 || a.MasterNode != 1 {
		t.Errorf("fulfilled: %+v", a)
	}
}

// TestFinishing checks that an attempt whose AM has unregistered has no asks and gets nothing
// delivered, while its containers still count.
func TestFinishing(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 3, 2), allocated(1, 1, k1, 1), &event.ResponseRecorded{App: 1, Response: 1},
		allocated(1, 2, k1, 1),
		&event.ContainerLaunched{Container: ref(1, 1)})
	before := *queueAt(t, s, "root.a")
	apply(t, s, at(4000), &event.AttemptUnregistered{App: 1, Final: yarn.FinalSucceeded, Diagnostics: "done",
		TrackingURL: "history"})
	a, q := appAt(t, s, 1), queueAt(t, s, "root.a")
	if a.AttemptState != AttemptFinishing || a.Shown() != yarn.AppFinished || a.State != yarn.AppRunning ||
		a.Final != yarn.FinalSucceeded ||
		a.Details().Diagnostics != "done" || a.Details().TrackingURL != "history" || a.FinishMillis != 4000 ||
		a.Progress != WholeProgress {
		t.Errorf("it is %+v", a)
	}
	if a.Asks != 0 || a.Undelivered != 0 || !a.Pending.IsZero() || a.Live != 2 || a.Activated() || a.Open() ||
		!a.Runnable() {
		t.Errorf("it asks %v, is told %v, holds %d", a.Asks, a.Undelivered, a.Live)
	}
	if q.Used != before.Used || q.AMUsed != gb(1) || q.ActiveApps != 1 || q.Runnable != 1 || !q.Pending.IsZero() ||
		q.ActiveUsers != 0 {
		t.Errorf("its leaf: %+v, before %+v", q, before)
	}
	for _, e := range []event.Event{ask(1, k1, 1, 1), &event.AttemptUnregistered{App: 1}, &event.AttemptResynced{App: 1},
		&event.AttemptReported{App: 1},
		&event.AttemptRegistered{App: 1}, &event.ContainerCompleted{Container: ref(1, 2), Restore: true},
		&event.AttemptEnded{App: 1},
		&event.ApplicationEnded{App: 1, State: yarn.AppFinished}} {
		refuse(t, s, e)
	}
	apply(t, s, &event.ApplicationMoved{App: 1, Queue: "root.b.y"})
	if q := queueAt(t, s, "root.b.y"); q.AMUsed != gb(1) || q.Runnable != 1 || q.Used != gb(4) {
		t.Errorf("moved: %+v", q)
	}
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 2)}, &event.ContainerReleased{Container: ref(1, 1)},
		&event.AttemptEnded{App: 1, Final: yarn.FinalSucceeded, Diagnostics: "done"})
	if q := queueAt(t, s, "root.b.y"); q.Apps() != 0 || q.Runnable != 0 || !q.AMUsed.IsZero() || !q.Used.IsZero() {
		t.Errorf("ended: %+v", q)
	}
	if h := s.Attempts.Get(appAt(t, s, 1).History); !h.Unregistered || h.Final != yarn.FinalSucceeded ||
		h.TrackingURL != "history" {
		t.Errorf("remembered: %+v", h)
	}
}

// TestResync checks that after a resync containers already delivered are kept, completions are
// delivered again, and everything else is dropped.
func TestResync(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 9, 1), allocated(1, 1, k1, 1), allocated(1, 2, k1, 1), allocated(1, 3, k1, 1),
		&event.ResponseRecorded{App: 1, Response: 4},
		&event.ResponseRecorded{App: 1, Response: 5}, &event.ContainerLaunched{Container: ref(1, 1)},
		&event.ContainerLaunched{Container: ref(1, 2)},
		// the completion of 2 is delivered, and not acknowledged
		&event.ContainerReleased{Container: ref(1, 2)}, &event.ResponseRecorded{App: 1, Response: 6},
		allocated(1, 4, k1, 1), allocated(1, 5, k1, 2), &event.BlacklistChanged{App: 1, Add: []string{"h9"}})
	refuse(t, s, &event.AttemptResynced{App: 1}) // 4 and 5 live and were never delivered
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 4)}, &event.ContainerReleased{Container: ref(1, 5)},
		&event.ContainerCompleted{Container: ref(1, 3)},
		&event.AttemptResynced{App: 1})
	a := appAt(t, s, 1)
	if a.Response != 0 || a.Asks != 0 || a.Outstanding != 0 || a.Blacklist != nil || a.AttemptState != AttemptRegistered {
		t.Errorf("it is %+v", a)
	}
	if got := told(t, s, 1); !slices.Equal(got, []uint64{3, 2}) {
		t.Errorf("to be told: %v, want the ends of 3 and 2", got)
	}
	if s.Container(ref(1, 4)) != 0 || s.Container(ref(1, 5)) == 0 || s.Container(ref(1, 1)) == 0 {
		t.Error("what was never told and has ended is forgotten; what its node still holds, and what runs, is not")
	}
	refuse(t, s, &event.AttemptResynced{App: 1}) // no response since the last resync
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 1})
	for number, want := range map[uint64]int32{2: 1, 3: 1} {
		if c := s.Containers.Get(s.Container(ref(1, number))); c.CompletedIn != want || c.GrantedIn != DeliveredEarlier {
			t.Errorf("container %d: granted in %d, ended in %d", number, c.GrantedIn, c.CompletedIn)
		}
	}
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 2}, &event.ContainerCompleted{Container: ref(1, 5)},
		&event.ContainerCompleted{Container: ref(1, 2)})
	if s.Containers.Len() != 1 || appAt(t, s, 1).Undelivered != 0 {
		t.Errorf("%d containers are left, to be told %v", s.Containers.Len(), told(t, s, 1))
	}
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 1)})
	if got := told(t, s, 1); !slices.Equal(got, []uint64{1}) {
		t.Errorf("the end of what it knew is not told: %v", got)
	}
}

// TestHistory compares the whole record of an attempt, and checks that the next attempt starts with
// cleared fields.
func TestHistory(t *testing.T) {
	s := withMaster(t)
	apply(t, s, at(3000), &event.AttemptLaunched{App: 3}, at(3500),
		&event.AttemptRegistered{App: 3, Host: "h", RPCPort: 5, TrackingURL: "u"},
		&event.AttemptReported{App: 3, Progress: 4200, TrackingURL: "u2"},
		&event.BlacklistChanged{App: 3, Add: []string{"h7"}})
	if a := appAt(t, s, 3); a.Progress != 4200 || a.Details().TrackingURL != "u2" {
		t.Errorf("reported: %+v", a)
	}
	apply(t, s, &event.AttemptReported{App: 3, Progress: 4300}, &event.ContainerCompleted{Container: ref(3, 1)}, at(4000),
		&event.AttemptEnded{App: 3, Final: yarn.FinalFailed, Counts: true, Diagnostics: "first"})
	a := appAt(t, s, 3)
	want := Attempt{App: s.Apps.Find(3), Number: 1, Final: yarn.FinalFailed, Counted: true, StartedMillis: 2000,
		LaunchedMillis: 3000, EndedMillis: 4000,
		MasterNumber: 1, MasterNode: 2, Host: "h", RPCPort: 5, TrackingURL: "u2", Diagnostics: "first"}
	if got := *s.Attempts.Get(a.History); got != want {
		t.Errorf("remembered %+v\nwant %+v", got, want)
	}
	if a.MasterNumber != 1 || a.Details().Host != "h" || a.Progress != 4300 || a.Details().Diagnostics != "first" ||
		s.Master(a) != 0 {
		t.Errorf("after its end it reads %+v", a)
	}
	first := a.History
	apply(t, s, at(5000), &event.AttemptStarted{App: 3, Attempt: 2})
	if a := appAt(t, s, 3); a.MasterNumber != 0 || a.MasterNode != 0 || a.LaunchedMillis != 0 || a.FinishMillis != 0 ||
		a.Progress != 0 || a.Details().Host != "" || a.RPCPort != 0 ||
		a.Details().TrackingURL != "" || a.Details().Diagnostics != "" || a.Final != yarn.FinalUndefined ||
		a.Blacklist != nil || a.AttemptMillis != 5000 || a.History != first {
		t.Errorf("the second attempt begins as %+v", a)
	}
	apply(t, s, &event.AttemptEnded{App: 3, Final: yarn.FinalKilled})
	if h := s.Attempts.Get(appAt(t, s, 3).History); h.Number != 2 || h.Next != first || h.Counted || h.Unregistered {
		t.Errorf("the second: %+v", h)
	}
	apply(t, s, &event.ApplicationEnded{App: 3, State: yarn.AppKilled}, &event.ApplicationForgotten{App: 3})
	if s.Attempts.Len() != 0 {
		t.Errorf("%d attempts outlive their application", s.Attempts.Len())
	}
}

// TestHistoryIsBounded checks that the history keeps the newest attempts.
func TestHistoryIsBounded(t *testing.T) {
	s := world(t)
	apply(t, s, submit(3, "cid", "root.b.y"))
	for n := uint32(1); n <= MaxHistory+3; n++ {
		for _, e := range []event.Event{&event.AttemptStarted{App: 3, Attempt: n},
			&event.AttemptEnded{App: 3, Final: yarn.FinalFailed, Counts: n%2 == 0}} {
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	a := appAt(t, s, 3)
	if s.Attempts.Len() != MaxHistory || s.Attempts.Get(a.History).Number != MaxHistory+3 ||
		a.Failures != (MaxHistory+3)/2 {
		t.Errorf("%d are remembered, the newest is %d, %d failed", s.Attempts.Len(),
			s.Attempts.Get(a.History).Number, a.Failures)
	}
}

// TestApplicationIDBlocks checks that each id of a reserved block is given once, and that
// submissions are counted separately.
func TestApplicationIDBlocks(t *testing.T) {
	s := world(t)
	apply(t, s, &event.ApplicationIDsReserved{App: 3, Count: 1}, &event.ApplicationIDsReserved{App: 4, Count: 1000})
	for _, e := range []event.Event{&event.ApplicationIDsReserved{App: 4, Count: 1},
		&event.ApplicationIDsReserved{App: 1004},
		&event.ApplicationIDsReserved{App: 1004, Count: 1<<32 - 1004}} {
		refuse(t, s, e)
	}
	apply(t, s, submit(7, "ann", "root.a"), &event.ApplicationIDsReserved{App: 1004, Count: 1<<32 - 1 - 1004})
	refuse(t, s, &event.ApplicationIDsReserved{App: 1<<32 - 1, Count: 1})
	if s.Meta.Submitted != 3 || s.Meta.NextApp != 1<<32-1 {
		t.Errorf("%d submitted, the next is %d", s.Meta.Submitted, s.Meta.NextApp)
	}
}

// TestIssuedIDsAnyOrder checks that ids given before may be submitted in any order, each once.
func TestIssuedIDsAnyOrder(t *testing.T) {
	s := world(t)
	apply(t, s, &event.ApplicationIDsReserved{App: 3, Count: 2})
	refuse(t, s, &event.ApplicationIDsReserved{App: 4, Count: 1})
	apply(t, s, submit(4, "ann", "root.a"), submit(3, "ann", "root.a"))
	refuse(t, s, submit(3, "ann", "root.a"))
	refuse(t, s, submit(0, "ann", "root.a"))
	apply(t, s, submit(9, "ann", "root.a"))
	if s.Meta.NextApp != 10 {
		t.Errorf("the next is %d", s.Meta.NextApp)
	}
	late := submit(5, "ann", "root.a")
	late.ValidityMillis = 77
	apply(t, s, late, &event.ApplicationLifetimeChanged{App: 5, LifetimeMillis: 88})
	if a := appAt(t, s, 5); a.ValidityMillis != 77 || a.LifetimeMillis != 88 || s.Meta.NextApp != 10 {
		t.Errorf("%+v, the next is %d", a, s.Meta.NextApp)
	}
	refuse(t, s, &event.ApplicationLifetimeChanged{App: 5, LifetimeMillis: -1})
	refuse(t, s, &event.ApplicationLifetimeChanged{App: 99})
}

// TestKeptContainersNotRedelivered checks that the response numbers of an earlier attempt do not
// count for the next attempt.
func TestKeptContainersNotRedelivered(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 1, 1), allocated(1, 1, k1, 1), &event.ResponseRecorded{App: 1, Response: 3},
		&event.ContainerLaunched{Container: ref(1, 1)},
		&event.AttemptEnded{App: 1, Keep: true}, &event.AttemptStarted{App: 1, Attempt: 2})
	if c := s.Containers.Get(s.Container(ref(1, 1))); c.GrantedIn != DeliveredEarlier {
		t.Errorf("it was told in response %d", c.GrantedIn)
	}
}

func TestKeys(t *testing.T) {
	s := world(t)
	made := func(which yarn.KeyKind, id int32) *event.MasterKeyCreated {
		return &event.MasterKeyCreated{Which: which, ID: id, Bytes: []byte{byte(id)}, ActivateMillis: 9000}
	}
	apply(t, s, made(yarn.KeyNM, 1))
	if k := s.Keys(yarn.KeyNM); k.Current.ID != 1 || k.Next.ID != 0 || k.MadeMillis != 1000 || k.ActivateMillis != 0 ||
		string(k.Current.Bytes) != "\x01" {
		t.Errorf("the first is in force at once: %+v", k)
	}
	refuse(t, s, made(yarn.KeyNM, 3))
	refuse(t, s, made(yarn.KeyKinds, 2))
	refuse(t, s, &event.MasterKeyCreated{Which: yarn.KeyNM, ID: 2})
	refuse(t, s, &event.KeyActivated{Which: yarn.KeyNM})
	refuse(t, s, &event.KeyActivated{Which: yarn.KeyKinds})
	apply(t, s, at(5000), made(yarn.KeyNM, 2))
	refuse(t, s, made(yarn.KeyNM, 3))
	if k := s.Keys(yarn.KeyNM); k.Current.ID != 1 || k.Next.ID != 2 || k.MadeMillis != 5000 || k.ActivateMillis != 9000 {
		t.Errorf("the next waits: %+v", k)
	}
	apply(t, s, &event.KeyActivated{Which: yarn.KeyNM}, made(yarn.KeyNM, 3), &event.KeyActivated{Which: yarn.KeyNM},
		&event.EpochRaised{Epoch: 1, ClusterTimestamp: 78})
	if k := s.Keys(yarn.KeyNM); k.Previous.ID != 2 || k.Current.ID != 3 || k.Next.ID != 0 || s.Meta.NextKey != 1<<20 {
		t.Errorf("activated twice: %+v, the next after a restore is after %d", k, s.Meta.NextKey)
	}
}

func TestDelegationTokens(t *testing.T) {
	s := world(t)
	issue := &event.DelegationTokenIssued{Sequence: 1, Owner: "ann", Renewer: "yarn", RealUser: "oozie", KeyID: 1,
		MaxMillis: 9000, ExpiresMillis: 3000}
	refuse(t, s, issue)
	key := func(id int32) *event.MasterKeyCreated {
		return &event.MasterKeyCreated{Which: yarn.KeyDelegation, ID: id, Bytes: []byte{1}}
	}
	apply(t, s, key(1))
	bad := *issue
	bad.ExpiresMillis = 9001
	refuse(t, s, &bad)
	apply(t, s, issue)
	refuse(t, s, issue)
	want := DelegationToken{Sequence: 1, Owner: "ann", Renewer: "yarn", RealUser: "oozie", KeyID: 1, IssuedMillis: 1000,
		MaxMillis: 9000, ExpiresMillis: 3000}
	if d := s.Delegations.Find(1); d == nil || *d != want {
		t.Errorf("it is %+v", d)
	}
	refuse(t, s, &event.DelegationTokenRenewed{Sequence: 1, ExpiresMillis: 9001})
	refuse(t, s, &event.DelegationTokenRenewed{Sequence: 2})
	refuse(t, s, &event.DelegationTokenEnded{Sequence: 2})
	apply(t, s, &event.DelegationTokenRenewed{Sequence: 1, ExpiresMillis: 9000}, key(2),
		&event.KeyActivated{Which: yarn.KeyDelegation}, key(3))
	refuse(t, s, &event.KeyActivated{Which: yarn.KeyDelegation}) // a token is signed with the key that would be dropped
	f := s.Fork()
	apply(t, s, &event.DelegationTokenEnded{Sequence: 1}, &event.KeyActivated{Which: yarn.KeyDelegation})
	if s.Delegations.Find(1) != nil || f.Delegations.Find(1) == nil || f.Delegations.Find(1).ExpiresMillis != 9000 {
		t.Error("ended, and still there; or a fork lost it")
	}
}

// TestDamageToAMsAndSecretsIsSeen damages one field at a time.
func TestDamageToAMsAndSecretsIsSeen(t *testing.T) {
	base := withMaster(t)
	apply(t, base, &event.AttemptEnded{App: 1, Counts: true}, &event.AttemptStarted{App: 1, Attempt: 2},
		&event.AttemptEnded{App: 1},
		&event.AttemptUnregistered{App: 2}, &event.MasterKeyCreated{Which: yarn.KeyDelegation, ID: 1, Bytes: []byte{1}},
		&event.MasterKeyCreated{Which: yarn.KeyDelegation, ID: 2, Bytes: []byte{1}},
		&event.DelegationTokenIssued{Sequence: 1, Owner: "ann", KeyID: 1})
	app := func(s *State, n uint32) *App { return s.Apps.Mut(s.Apps.Find(n)) }
	newest := func(s *State) *Attempt { return s.Attempts.Mut(app(s, 1).History) }
	keys := func(s *State) *KeySet { return &s.Meta.Keys[yarn.KeyDelegation] }
	for name, spoil := range map[string]func(s *State){
		"history gone":               func(s *State) { app(s, 1).History = 0 },
		"history of another":         func(s *State) { app(s, 2).History = app(s, 1).History },
		"history unknown":            func(s *State) { app(s, 1).History = 99 },
		"attempt of nobody":          func(s *State) { _, h := table.Alloc(&s.Attempts.Table); h.App = s.Apps.Find(1) },
		"attempt's application":      func(s *State) { newest(s).App = s.Apps.Find(2) },
		"attempt's unknown app":      func(s *State) { newest(s).App = 99 },
		"attempt's number":           func(s *State) { newest(s).Number++ },
		"attempt's circle":           func(s *State) { newest(s).Next = app(s, 1).History },
		"attempt's unknown next":     func(s *State) { newest(s).Next = 99 },
		"attempt's unknown node":     func(s *State) { newest(s).MasterNode = 99 },
		"attempt counted":            func(s *State) { newest(s).Counted = true },
		"failures":                   func(s *State) { app(s, 1).Failures = 0 },
		"master's number":            func(s *State) { app(s, 3).MasterNumber = 9 },
		"master without a node":      func(s *State) { app(s, 3).MasterNode = 0 },
		"master on an unknown node":  func(s *State) { app(s, 3).MasterNode = 99 },
		"launched and no master":     func(s *State) { app(s, 1).LaunchedMillis = 5 },
		"progress":                   func(s *State) { app(s, 1).Progress = WholeProgress + 1 },
		"finishing and counted less": func(s *State) { app(s, 2).AttemptState = AttemptPending },
		"client key of an ended one": func(s *State) {
			app(s, 1).ChangeDetails(func(d *AppDetails) { d.ClientKey.Bytes = []byte{1} })
		},
		"client key's algorithm": func(s *State) {
			app(s, 2).ChangeDetails(func(d *AppDetails) { d.ClientKey.Algorithm = yarn.HMACs })
		},
		"key's bytes":               func(s *State) { keys(s).Next.Bytes = nil },
		"key without a current one": func(s *State) { keys(s).Current = MasterKey{} },
		"keys out of order":         func(s *State) { keys(s).Previous = keys(s).Next },
		"next key":                  func(s *State) { s.Meta.NextKey = 1 },
		"token's key":               func(s *State) { s.Delegations.Mut(1).KeyID = 2 },
		"token's number":            func(s *State) { s.Delegations.Mut(1).Sequence = 7 },
		"token's end":               func(s *State) { s.Delegations.Mut(1).ExpiresMillis = 1 },
		"next token":                func(s *State) { s.Meta.NextToken = 0 },
		"token twice":               func(s *State) { _, d := table.Alloc(&s.Delegations.Keyed.Table); *d = *s.Delegations.Get(1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := base.Fork()
			spoil(s)
			if err := s.Check(); err == nil {
				t.Error("Check sees nothing")
			}
		})
	}
}
