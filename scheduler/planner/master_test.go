package planner

import (
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// rig is a planner with two leaves and one node.
type rig struct {
	*testing.T
	p   *Planner
	now int64
}

func newRig(t *testing.T, more ...string) *rig {
	t.Helper()
	r := &rig{T: t, p: must(New(state.New(), Options{Eager: true})), now: 1_000_000}
	set := append([]string{confPrefix + "root.queues", "a,b", confPrefix + "root.a.capacity", "50",
		confPrefix + "root.b.capacity", "50",
		confPrefix + "maximum-am-resource-percent", "1", confPrefix + "root.a.user-limit-factor", "10",
		confPrefix + "root.a.maximum-capacity", "100"}, more...)
	in := &input.InitCluster{ClusterID: "c", ClusterTimestamp: 77, Entropy: testEntropy}
	for i := 0; i < len(set); i += 2 {
		in.Properties = append(in.Properties, input.Property{Name: set[i], Value: set[i+1]})
	}
	r.ok(in)
	r.ok(&input.RegisterNode{ID: yarn.NodeID{Host: "n0", Port: 1}, Rack: "r", Total: yarn.NewResource(16384, 16)})
	return r
}

// do plans an input ten milliseconds after the one before.
func (r *rig) do(in input.Input) (input.Reply, []event.Event) {
	r.Helper()
	r.now += 10
	reply, events := r.p.Plan(r.now, input.Request{Input: in})
	if err := r.p.st.Check(); err != nil {
		r.Fatalf("after %T: %v", in, err)
	}
	return reply, events
}

func (r *rig) ok(in input.Input) input.Reply {
	r.Helper()
	reply, _ := r.do(in)
	if f := reply.Refused(); f != nil {
		r.Fatalf("%T is refused: %v", in, f)
	}
	return reply
}

func (r *rig) refused(in input.Input, code input.Code, words ...string) {
	r.Helper()
	reply, events := r.do(in)
	f := reply.Refused()
	if f == nil || f.Reason != code || !onlyTime(events) {
		r.Errorf("%T is answered %+v with %d events, want %s", in, reply, len(events), code)
		return
	}
	for _, w := range words {
		if !strings.Contains(f.What, w) {
			r.Errorf("%T: %q does not say %q", in, f.What, w)
		}
	}
}

// dialed makes the node a Hadoop NodeManager, which the leader calls to launch AMs.
func (r *rig) dialed() *rig {
	r.ok(&input.RegisterNode{ID: yarn.NodeID{Host: "n0", Port: 1}, Rack: "r", Total: yarn.NewResource(16384, 16),
		NodeManager: true})
	return r
}

// started submits an application whose AM is allocated at once.
func (r *rig) started(change func(in *input.SubmitApplication)) yarn.AttemptID {
	r.Helper()
	in := &input.SubmitApplication{Name: "x", User: "ann", Queue: "a", AM: yarn.NewResource(1024, 1), MaxAttempts: 2}
	if change != nil {
		change(in)
	}
	id := yarn.AttemptID{App: r.ok(in).(*input.SubmitApplicationReply).ID, Attempt: 1}
	if a := r.app(id); a.MasterNumber != 1 || a.MasterNode != 1 || r.p.st.Master(a) == 0 {
		r.Fatalf("its AM is %d on node %d", a.MasterNumber, a.MasterNode)
	}
	return id
}

func (r *rig) app(id yarn.AttemptID) *state.App {
	r.Helper()
	slot := r.p.st.Apps.ByID(id.App)
	if slot == 0 {
		r.Fatalf("there is no %s", id.App)
	}
	return r.p.st.Apps.Get(slot)
}

func (r *rig) report(id yarn.AttemptID, number uint64, s yarn.ContainerState, exit int32) {
	r.Helper()
	r.ok(&input.NodeHeartbeat{ID: yarn.NodeID{Host: "n0", Port: 1}, Statuses: []input.ContainerStatus{
		{Container: yarn.ContainerID{App: id.App, Attempt: id.Attempt, Number: number}, State: s, ExitStatus: exit}}})
}

func TestIssuedApplicationIDs(t *testing.T) {
	r := newRig(t)
	first := r.ok(&input.NewApplication{}).(*input.NewApplicationReply)
	second := r.ok(&input.NewApplication{}).(*input.NewApplicationReply)
	if first.ID.String() != "application_77_0001" || second.ID.Seq != 2 || first.Maximum != yarn.NewResource(8192, 4) {
		t.Errorf("NewApplication gave %+v, then %+v, want application_77_0001, then sequence 2, and maximum %v",
			first, second, yarn.NewResource(8192, 4))
	}
	submit := func(id yarn.ApplicationID) *input.SubmitApplication {
		return &input.SubmitApplication{ID: id, User: "ann", Queue: "a", AM: yarn.NewResource(1024, 1)}
	}
	r.ok(submit(second.ID))
	r.ok(submit(first.ID))
	if _, events := r.do(submit(first.ID)); len(events) > 0 {
		t.Error("submitted twice: it is written twice")
	}
	third := first.ID
	third.Seq = 10
	r.refused(submit(third), input.InvalidRequest) // a later application will get this ID
	third.Seq = 5000
	r.ok(submit(third))
	if id := r.ok(&input.SubmitApplication{User: "ann", Queue: "a", AM: yarn.NewResource(1024, 1)}).(*input.SubmitApplicationReply).ID; id.Seq != 3 {
		t.Errorf("a submission without an id after 2 gets %s", id)
	}
	if id := r.ok(&input.NewApplication{}).(*input.NewApplicationReply).ID; id.Seq != 4 {
		t.Errorf("after 3 comes %s", id)
	}
	for _, bad := range []yarn.ApplicationID{{ClusterTimestamp: 78, Seq: 20}, {ClusterTimestamp: 77}} {
		r.refused(submit(bad), input.InvalidRequest)
	}
	third.Seq = 1<<32 - 1
	r.refused(submit(third), input.TooLarge)
	third.Seq = maxApplication
	r.ok(submit(third))
	for range idBlockSize - 4 {
		r.ok(&input.NewApplication{})
	}
	r.refused(&input.NewApplication{}, input.TooLarge)
}

func TestMaximumOfAttempts(t *testing.T) {
	for _, c := range []struct {
		global, asked, want uint32
	}{{0, 0, 3}, {0, 2, 2}, {0, 9, 3}, {5, 9, 5}, {5, 0, 3}, {2, 0, 3}} {
		set := []string{"yarn.resourcemanager.am.max-attempts", "3"}
		if c.global > 0 {
			set = append(set, "yarn.resourcemanager.am.global.max-attempts", string(rune('0'+c.global)))
		}
		r := newRig(t, set...)
		id := r.started(func(in *input.SubmitApplication) { in.MaxAttempts = c.asked })
		if got := r.app(id).MaxAttempts; got != c.want {
			t.Errorf("max attempts with a global maximum of %d and %d asked: %d, want %d",
				c.global, c.asked, got, c.want)
		}
	}
}

// TestAttemptFailureValidityInterval checks that with a validity interval only recent failures
// count.
func TestAttemptFailureValidityInterval(t *testing.T) {
	for _, validity := range []int64{0, 1000} {
		r := newRig(t)
		id := r.started(func(in *input.SubmitApplication) { in.ValidityMillis = validity })
		for n := uint32(1); n <= 3; n++ {
			id.Attempt = n
			r.ok(&input.ExpireAttempt{Attempt: id})
			r.now += 2000
			if ended := r.app(id).State.Ended(); ended != (validity == 0 && n >= 2) {
				t.Fatalf("validity %d, failure %d: ended %v", validity, n, ended)
			}
			if validity == 0 && n == 2 {
				break
			}
		}
		if validity == 0 {
			continue
		}
		r.now -= 1999
		id.Attempt = 4
		r.ok(&input.ExpireAttempt{Attempt: id})
		if a := r.app(id); a.State != yarn.AppFailed || a.Failures != 4 {
			t.Errorf("two failures within the interval: %s after %d", a.State, a.Failures)
		}
	}
}

func TestAMLaunch(t *testing.T) {
	r := newRig(t).dialed()
	id := r.started(nil)
	if _, events := r.do(&input.AttemptLaunched{Attempt: id, Container: 2}); len(events) > 0 {
		t.Error("another container's launch is written")
	}
	r.ok(&input.AttemptLaunched{Attempt: id, Container: 1})
	if a := r.app(id); a.LaunchedMillis != r.now {
		t.Errorf("launched at %d, it is %d", a.LaunchedMillis, r.now)
	}
	for _, in := range []input.Input{&input.AttemptLaunched{Attempt: id, Container: 1},
		&input.AttemptLaunchFailed{Attempt: id, Container: 1},
		&input.AttemptLaunched{Attempt: yarn.AttemptID{App: id.App, Attempt: 2}, Container: 1}} {
		if _, events := r.do(in); len(events) > 0 {
			t.Errorf("%T %+v is written", in, in)
		}
	}
	// The node runs the AM although no heartbeat has reported it, so a kill waits for the node.
	r.ok(&input.KillApplication{ID: id.App})
	if n := r.p.st.Nodes.Get(1); n.Count != 1 || n.PendingCommands != 1 {
		t.Errorf("its node holds %d containers, %d orders", n.Count, n.PendingCommands)
	}
	r.report(id, 1, yarn.ContainerCompleted, 137)
	if n := r.p.st.Nodes.Get(1); n.Count != 0 {
		t.Errorf("its node holds %d containers", n.Count)
	}
}

func TestLaunchThatFailed(t *testing.T) {
	r := newRig(t).dialed()
	id := r.started(nil)
	for n := range uint32(2) {
		id.Attempt = 1 + n
		r.ok(&input.AttemptLaunchFailed{Attempt: id, Container: 1, NodeFault: true, Diagnostics: "unreachable"})
		if a := r.app(id); a.Failures != 0 || a.Attempt != 2+n || a.State != yarn.AppAccepted {
			t.Fatalf("a node's fault: %d failures, attempt %d, %s", a.Failures, a.Attempt, a.State)
		}
	}
	for n := range uint32(2) {
		id.Attempt = 3 + n
		r.ok(&input.AttemptLaunchFailed{Attempt: id, Container: 1, Diagnostics: "refused"})
	}
	a := r.app(id)
	h := r.p.st.Attempts.Get(a.History)
	if a.State != yarn.AppFailed || a.Failures != 2 || !h.Counted || h.Number != 4 ||
		!strings.Contains(h.Diagnostics, "Error launching "+id.String()+". Got exception: refused") {
		t.Errorf("%s after %d failures, the last: %+v", a.State, a.Failures, h)
	}
	id = r.started(nil)
	for n := uint32(1); n <= 8; n++ { // The attempts have a limit.
		id.Attempt = n
		r.ok(&input.AttemptLaunchFailed{Attempt: id, Container: 1, NodeFault: true})
	}
	if a := r.app(id); a.State != yarn.AppFailed || a.Failures != 0 {
		t.Errorf("%s after %d attempts and %d failures", a.State, a.Attempt, a.Failures)
	}
}

// TestAMRegistersBeforeLaunchReport checks an AM that registers before its launch is reported.
func TestAMRegistersBeforeLaunchReport(t *testing.T) {
	r := newRig(t).dialed()
	id := r.started(nil)
	r.ok(&input.RegisterAttempt{Attempt: id, Host: "h"})
	if _, events := r.do(&input.AttemptLaunchFailed{Attempt: id, Container: 1}); len(events) > 0 {
		t.Error("a registered AM failed to launch")
	}
	r.ok(&input.AttemptLaunched{Attempt: id, Container: 1})
	if a := r.app(id); a.LaunchedMillis == 0 || a.AttemptState != state.AttemptRegistered {
		t.Errorf("it is %+v", a)
	}
}

// TestUnregisterWaitsForContainer checks that an unregistered AM keeps its application open until
// its container ends, whatever the exit status.
func TestUnregisterWaitsForContainer(t *testing.T) {
	size := yarn.NewResource(1024, 1)
	for _, how := range []string{"ends", "fails", "expires", "killed", "node lost"} {
		r := newRig(t).dialed()
		id := r.started(nil)
		r.report(id, 1, yarn.ContainerRunning, 0)
		r.ok(&input.RegisterAttempt{Attempt: id})
		r.ok(&input.Allocate{Attempt: id, Asks: []input.Ask{{Name: yarn.Any, Count: 2, Size: size, Relax: true}}})
		finish := &input.FinishAttempt{Attempt: id, Final: yarn.FinalFailed, Diagnostics: "why", TrackingURL: "history"}
		r.ok(finish)
		a := r.app(id)
		if a.Shown() != yarn.AppFinished || a.State.Ended() || a.Live != 3 || a.FinishMillis != r.now {
			t.Fatalf("it is %s, %d live", a.State, a.Live)
		}
		if x := must(explain.Application(r.p.sched, id.App)); x.State != yarn.AppFinished.String() || x.Waiting {
			t.Errorf("explained as %+v", x)
		}
		if _, events := r.do(finish); len(events) > 0 {
			t.Error("repeated, it is written again")
		}
		if reply, events := r.do(&input.Allocate{Attempt: id, Response: 7,
			Asks: []input.Ask{{Name: yarn.Any, Count: 1, Size: size}}}); reply.Refused() != nil ||
			reply.(*input.AllocateReply).Response != 8 || len(events) > 0 {
			t.Errorf("a last heartbeat: %+v, %d events", reply, len(events))
		}
		r.refused(&input.RegisterAttempt{Attempt: id}, input.NoSuchAttempt)
		r.refused(&input.MoveApplication{ID: id.App, Queue: "b"}, input.AlreadyEnded)
		r.refused(&input.SetLifetime{ID: id.App, LifetimeMillis: 5}, input.AlreadyEnded)
		r.refused(&input.SetPriority{ID: id.App, Priority: 5}, input.AlreadyEnded)
		r.ok(&input.FailAttempt{Attempt: id})
		switch how {
		case "ends":
			r.report(id, 1, yarn.ContainerCompleted, 0)
		case "fails":
			r.report(id, 1, yarn.ContainerCompleted, 1)
		case "expires":
			r.ok(&input.ExpireAttempt{Attempt: id})
		case "killed":
			r.ok(&input.KillApplication{ID: id.App, Diagnostics: "killed"})
		default:
			r.ok(&input.ExpireNode{ID: yarn.NodeID{Host: "n0", Port: 1}})
		}
		a = r.app(id)
		if a.State != yarn.AppFinished || a.Final != yarn.FinalFailed || a.Details().Diagnostics != "why" ||
			a.Details().TrackingURL != "history" || a.Live != 0 || a.Failures != 0 {
			t.Errorf("%s: it is %s %s %q %q with %d live", how, a.State, a.Final, a.Details().Diagnostics,
				a.Details().TrackingURL, a.Live)
		}
		r.ok(finish)
		r.refused(&input.Allocate{Attempt: id, Response: 7}, input.NoSuchAttempt)
	}
}

// TestUnregisterFinishesImmediately checks that an application finishes with its unregistration if
// its AM is unmanaged or runs on a node that is not dialed.
func TestUnregisterFinishesImmediately(t *testing.T) {
	for _, unmanaged := range []bool{false, true} {
		r := newRig(t)
		in := &input.SubmitApplication{User: "ann", Queue: "a", AM: yarn.NewResource(1024, 1), Unmanaged: unmanaged}
		id := yarn.AttemptID{App: r.ok(in).(*input.SubmitApplicationReply).ID, Attempt: 1}
		r.refused(&input.FinishAttempt{Attempt: id}, input.NotRegistered)
		r.ok(&input.RegisterAttempt{Attempt: id})
		r.refused(&input.FinishAttempt{Attempt: id, Final: 99}, input.InvalidRequest)
		r.ok(&input.FinishAttempt{Attempt: id, Final: yarn.FinalSucceeded})
		if a := r.app(id); a.State != yarn.AppFinished || a.Final != yarn.FinalSucceeded ||
			!r.p.st.Attempts.Get(a.History).Unregistered || a.Progress != 10_000 {
			t.Errorf("unmanaged %v: %+v", unmanaged, a)
		}
	}
}

func TestFailAttempt(t *testing.T) {
	r := newRig(t)
	id := r.started(nil)
	r.ok(&input.FailAttempt{Attempt: id, User: "ann"})
	a := r.app(id)
	if h := r.p.st.Attempts.Get(a.History); a.Attempt != 2 || a.Failures != 1 ||
		h.Diagnostics != "Attempt failed by user." {
		t.Errorf("attempt %d, %d failures, %+v", a.Attempt, a.Failures, h)
	}
	if _, events := r.do(&input.FailAttempt{Attempt: id}); len(events) > 0 {
		t.Error("an attempt that is over failed again")
	}
	r.refused(&input.FailAttempt{Attempt: yarn.AttemptID{App: id.App, Attempt: 3}}, input.NoSuchAttempt)
	r.refused(&input.FailAttempt{Attempt: yarn.AttemptID{App: yarn.ApplicationID{Seq: 99}, Attempt: 1}},
		input.NoSuchApplication)
}

func TestSetLifetime(t *testing.T) {
	r := newRig(t, confPrefix+"root.a.maximum-application-lifetime", "100")
	id := r.started(nil)
	for asked, want := range map[int64]int64{5000: 5000, 0: 100_000, 200_000: 100_000} {
		r.ok(&input.SetLifetime{ID: id.App, LifetimeMillis: asked})
		if got := r.app(id).LifetimeMillis; got != want {
			t.Errorf("%d became %d, want %d", asked, got, want)
		}
	}
	r.refused(&input.SetLifetime{ID: id.App, LifetimeMillis: -1}, input.InvalidRequest)
	r.refused(&input.SetLifetime{ID: yarn.ApplicationID{Seq: 99}}, input.NoSuchApplication)
}

func TestMoveTargetQueueACL(t *testing.T) {
	r := newRig(t, "yarn.acl.enable", "true", "yarn.admin.acl", "root", confPrefix+"root.acl_submit_applications", " ",
		confPrefix+"root.acl_administer_queue", " ",
		confPrefix+"root.a.acl_submit_applications", "ann", confPrefix+"root.b.acl_submit_applications", "bob ops")
	id := r.started(nil)
	r.refused(&input.MoveApplication{ID: id.App, Queue: "b", User: "ann", Groups: []string{"dev"}}, input.NotAllowed)
	r.ok(&input.MoveApplication{ID: id.App, Queue: "b", User: "ann", Groups: []string{"ops"}})
	r.refused(&input.MoveApplication{ID: id.App, Queue: "a", User: "bob"}, input.NotAllowed)
	r.ok(&input.MoveApplication{ID: id.App, Queue: "a"})
}

// TestAllocateResponseContents checks what the answer to an AM contains besides containers, and
// that releases of containers of other attempts are refused.
func TestAllocateResponseContents(t *testing.T) {
	r := newRig(t, "yarn.cluster.max-application-priority", "9")
	id := r.started(func(in *input.SubmitApplication) { in.Priority, in.PrioritySet = 7, true })
	r.ok(&input.RegisterAttempt{Attempt: id, TrackingURL: "old"})
	reply := r.ok(&input.Allocate{Attempt: id, Progress: 1234,
		Asks: []input.Ask{{Name: yarn.Any, Count: 1, Size: yarn.NewResource(1024, 1), Relax: true}}}).(*input.AllocateReply)
	if reply.Priority != 7 || len(reply.Granted) != 1 || reply.Granted[0].AllocatedMillis != r.now {
		t.Errorf("%+v at %d", reply, r.now)
	}
	r.ok(&input.Allocate{Attempt: id, Response: 1, Progress: 1234})
	for i, c := range []struct {
		progress uint32
		url      string
		written  bool
	}{{1299, "", false}, {1300, "", true}, {1300, "old", false}, {1300, "new", true}, {99_999, "", true},
		{10_000, "", false}} {
		a := r.app(id)
		_, events := r.do(&input.Allocate{Attempt: id, Response: a.Response, Progress: c.progress, TrackingURL: c.url})
		if (len(events) > 0) != c.written {
			t.Errorf("%d: %d %q gives %d events", i, c.progress, c.url, len(events))
		}
	}
	if a := r.app(id); a.Progress != 10_000 || a.Details().TrackingURL != "new" {
		t.Errorf("progress %d and URL %q at the end, want 10000 and \"new\"",
			a.Progress, a.Details().TrackingURL)
	}
	other := yarn.ContainerID{App: id.App, Attempt: 2, Number: 1}
	call := func(releases ...yarn.ContainerID) *input.Allocate {
		return &input.Allocate{Attempt: id, Response: r.app(id).Response, Progress: 10_000, Releases: releases}
	}
	r.refused(call(other), input.InvalidRelease, other.String())
	r.refused(&input.Allocate{Attempt: id, Response: r.app(id).Response, BlacklistAdd: []string{"*"}},
		input.InvalidBlacklist)
	r.ok(call(yarn.ContainerID{App: id.App, Attempt: 1, Number: 99}))
	keep := r.started(func(in *input.SubmitApplication) { in.KeepContainers = true })
	r.ok(&input.RegisterAttempt{Attempt: keep})
	r.ok(&input.Allocate{Attempt: keep, Releases: []yarn.ContainerID{{App: keep.App, Attempt: 9, Number: 1}}})
	r.refused(&input.Allocate{Attempt: keep, Releases: []yarn.ContainerID{{App: id.App, Attempt: 1, Number: 1}}},
		input.InvalidRelease)
}
