package planner

import (
	"slices"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// report returns a full report of node i in a heartbeat session, which is the node's stay at one
// replica.
func (h *house) report(i int, stay, before uint64, response int32, running ...yarn.ContainerID) *input.NodeHeartbeat {
	in := &input.NodeHeartbeat{ID: h.nodes[i], HeartbeatSession: stay, PrevSession: before, Response: response, Full: true}
	for _, id := range running {
		in.Statuses = append(in.Statuses, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	}
	return in
}

// try plans an input and returns the number of its events.
func (h *house) try(in input.Input) (input.Reply, int) {
	h.now++
	r, events := h.p.Plan(h.now, input.Request{Input: in})
	return r, len(events)
}

// heard sends a report, requires that it is believed or refused as late, and returns the number of
// events.
func (h *house) heard(in *input.NodeHeartbeat, believed bool) int {
	h.t.Helper()
	reply, events := h.try(in)
	r := reply.(*input.NodeHeartbeatReply)
	if r.Late == believed {
		h.t.Fatalf("stay %d after %d, response %d: late is %v", in.HeartbeatSession, in.PrevSession, in.Response, r.Late)
	}
	if !believed && (events > 0 || r.Resync || len(r.Kill)+len(r.Launch)+len(r.CleanUp) > 0) {
		h.t.Fatalf("a late report is answered %+v, and led to %d events", r, events)
	}
	return events
}

// TestLateReportOfAnotherReplica checks a report that hangs at replica 1 (session 10) while the
// node continues at replica 2 (session 20) and starts a container. When the report arrives at last,
// the container must live although the report does not name it.
func TestLateReportOfAnotherReplica(t *testing.T) {
	h := newHouse(t, 1, true)
	at := h.run()
	a := h.ask(at, 0, 1)
	h.heard(h.report(0, 10, 0, 0, a...), true)
	b := h.ask(at, 0, 1)
	hangs := h.report(0, 10, 0, 5, a...) // b has not started yet
	both := append(slices.Clone(a), b...)
	h.heard(h.report(0, 20, 10, 5, both...), true)
	h.heard(hangs, false)
	h.heard(h.report(0, 10, 0, 9, a...), false) // whatever its response number
	for _, id := range both {
		if got := h.state(id); got != yarn.ContainerRunning && got != yarn.ContainerAllocated {
			t.Errorf("%s is %s", id, got)
		}
	}
	if n := h.node(0); n.Count != 2 || n.HeartbeatSession != 20 || n.Response != 5 {
		t.Errorf("node: %+v", n)
	}
	// The node returns to replica 1, which knows the session at replica 2 by now.
	h.heard(h.report(0, 30, 20, 5, both...), true)
	h.heard(h.report(0, 20, 10, 6, both...), false)
	h.heard(h.report(0, 40, 20, 6, both...), false) // a replica that does not know it
}

// TestLateReportSameSession checks that copies of an accepted report change nothing, and that older
// reports are refused.
func TestLateReportSameSession(t *testing.T) {
	h := newHouse(t, 1, true)
	at := h.run()
	a := h.ask(at, 0, 1)
	h.heard(h.report(0, 10, 0, 0), true)
	if n := h.heard(h.report(0, 10, 0, 1), true); n != 0 {
		t.Errorf("an idle report led to %d events", n)
	}
	h.heard(h.report(0, 10, 0, 2, a...), true)
	if n := h.heard(h.report(0, 10, 0, 2, a...), true); n != 0 {
		t.Errorf("a replica's repetition led to %d events", n)
	}
	h.heard(h.report(0, 10, 0, 1), false)
	if h.node(0).Count != 1 {
		t.Error("the container is gone")
	}
}

// TestReportsWithoutSession checks that reports without a session, as from simulated nodes, are
// always accepted.
func TestReportsWithoutSession(t *testing.T) {
	h := newHouse(t, 1, true)
	h.heard(h.report(0, 10, 0, 7), true)
	h.heard(h.report(0, 0, 0, 0), true)
	if n := h.node(0); n.HeartbeatSession != 10 {
		t.Errorf("stay %d", n.HeartbeatSession)
	}
}

// TestLateRegistration checks that a late copy of an earlier registration does not end the
// containers that have started since a later one.
func TestLateRegistration(t *testing.T) {
	h := newHouse(t, 1, true)
	at := h.run()
	register := func(stay, before uint64, refused bool) {
		t.Helper()
		in := &input.RegisterNode{ID: h.nodes[0], Rack: "r", Total: yarn.NewResource(8192, 8), NodeManager: true,
			HeartbeatSession: stay, PrevSession: before}
		reply, _ := h.try(in)
		f := reply.Refused()
		if (f != nil) != refused || (refused && f.Reason != input.NodeElsewhere) {
			t.Fatalf("registration %d after %d: %v", stay, before, f)
		}
	}
	register(10, 0, false)
	register(20, 10, false)
	register(20, 10, false) // a repetition before the next report
	ids := h.ask(at, 0, 1)
	h.heard(h.report(0, 21, 20, 0, ids...), true)
	register(10, 0, true)
	register(20, 10, true)
	if n := h.node(0); n.Count != 1 || n.HeartbeatSession != 21 {
		t.Errorf("node: %+v", n)
	}
	register(30, 21, false)
}

// TestUnhealthyAtRegistration checks that an unhealthy node that registers gets nothing and loses
// its containers, as in YARN.
func TestUnhealthyAtRegistration(t *testing.T) {
	h := newHouse(t, 2, true)
	at := h.run()
	ids := h.ask(at, 0, 1)
	h.beat(0, ids...)
	ill := func(i int) {
		t.Helper()
		in := &input.RegisterNode{ID: h.nodes[i], Rack: "r", Total: yarn.NewResource(8192, 8), NodeManager: true,
			Unhealthy: true, Report: "1/1 local-dirs are bad"}
		if i == 0 {
			in.Containers = []input.ContainerStatus{{Container: ids[0], State: yarn.ContainerRunning}}
		}
		h.must(t, in)
		if n := h.node(i); n.State != yarn.NodeUnhealthy || n.Report != in.Report || n.Count != 0 {
			t.Errorf("node: %+v", n)
		}
	}
	ill(0)
	h.nodes = append(h.nodes, yarn.NodeID{Host: "n2", Port: 1})
	ill(2)
	if got := h.p.st.Meta.Cluster; got != yarn.NewResource(8192, 8) {
		t.Errorf("the cluster has %s", got)
	}
	a := h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App))
	r := h.must(t, &input.Allocate{Attempt: at, Response: a.Response}).(*input.AllocateReply)
	if len(r.Completed) != 1 || r.Completed[0].ExitStatus != yarn.ExitAborted {
		t.Errorf("the AM is told %+v", r.Completed)
	}
	h.beat(0)
	if n := h.node(0); n.State != yarn.NodeRunning {
		t.Errorf("healthy again: %+v", n)
	}

	// A draining node keeps draining, whatever its health.
	h.ask(at, 1, 1)
	h.must(t, &input.DrainNode{ID: h.nodes[1]})
	h.must(t, &input.RegisterNode{ID: h.nodes[1], Rack: "r", Total: yarn.NewResource(8192, 8), Unhealthy: true})
	if n := h.node(1); n.State != yarn.NodeDecommissioning || n.Count != 1 {
		t.Errorf("a node that drains: %+v", n)
	}
}

// TestAMAskUsesSubmissionLocations checks that every attempt asks for its AM on the hosts and racks
// of the submission, as in YARN.
func TestAMAskUsesSubmissionLocations(t *testing.T) {
	h := newHouse(t, 3, false)
	submit := func(strict bool, places ...yarn.Place) *state.App {
		t.Helper()
		r := h.must(t, &input.SubmitApplication{User: "u", Queue: "root.a", AM: yarn.NewResource(1024, 1), MaxAttempts: 2,
			AMPlaces: places, AMStrict: strict}).(*input.SubmitApplicationReply)
		return h.p.st.Apps.Get(h.p.st.Apps.ByID(r.ID))
	}
	on := func(a *state.App) string {
		t.Helper()
		c := h.p.st.Master(h.p.st.Apps.Get(h.p.st.Apps.ByID(a.ID)))
		if c == 0 {
			return ""
		}
		return h.p.st.Nodes.Get(h.p.st.Containers.Get(c).Node).ID.Host
	}
	there := submit(true, yarn.Place{Name: "n2", Relax: true}, yarn.Place{Name: "r"})
	if got := on(there); got != "n2" {
		t.Errorf("the AM is on %q, want n2", got)
	}
	// The second attempt asks for the same host.
	h.must(t, &input.FailAttempt{Attempt: there.AttemptID()})
	h.beat(2)
	if a := h.p.st.Apps.Get(h.p.st.Apps.ByID(there.ID)); a.Attempt != 2 || on(there) != "n2" {
		t.Errorf("attempt %d is on %q, want n2", a.Attempt, on(there))
	}
	nowhere := submit(true, yarn.Place{Name: "gone", Relax: true}, yarn.Place{Name: "r"})
	for i := range 3 {
		h.beat(i)
	}
	if got := on(nowhere); got != "" {
		t.Errorf("an AM for a host that is not there is on %s", got)
	}
	rack := submit(false, yarn.Place{Name: "r", Relax: true})
	if got := on(rack); got != "" {
		t.Errorf("an AM that may wait for a better place is on %s at once", got)
	}
	for i := range 6 { // the locality delay of an ask that names places
		h.beat(i % 3)
	}
	if on(rack) == "" {
		t.Error("an AM for a rack waits for ever")
	}
	for _, places := range [][]yarn.Place{{{Name: ""}}, {{Name: yarn.Any}}, {{Name: "a"}, {Name: "a"}}} {
		if r, _ := h.try(&input.SubmitApplication{User: "u", Queue: "root.a", AM: yarn.NewResource(1024, 1),
			AMPlaces: places}); r.Refused() == nil {
			t.Errorf("%d places %+v are taken", len(places), places[0])
		}
	}
}

// TestLateRegistrationOfAnAM checks that a late copy of an AM's first registration changes neither
// its asks nor its response number. A new registration makes the attempt start over, and a copy of
// that one changes nothing more.
func TestLateRegistrationOfAnAM(t *testing.T) {
	h := newHouse(t, 1, true)
	at := h.run()
	h.ask(at, 0, 1)
	app := func() *state.App { return h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App)) }
	h.must(t, &input.Allocate{Attempt: at, Response: app().Response, Asks: []input.Ask{
		{Key: yarn.SchedulerKey{Priority: 9}, Name: yarn.Any, Count: 3, Size: yarn.NewResource(8192, 1), Relax: true}}})
	last := app().Response
	for _, known := range []int32{0, last - 1} {
		r, events := h.try(&input.RegisterAttempt{Attempt: at, HasResponse: true, Response: known})
		if f := r.Refused(); f == nil || f.Reason != input.WrongResponse || events != 1 || app().Response != last ||
			app().Outstanding != 3 {
			t.Errorf("a registration from response %d is answered %+v, and the AM has %d, asking %d", known, r, app().Response,
				app().Outstanding)
		}
	}
	for range 2 {
		h.must(t, &input.RegisterAttempt{Attempt: at, HasResponse: true, Response: last})
		if app().Response != 0 || app().Outstanding != 0 {
			t.Errorf("it has registered again with response %d, asking %d", app().Response, app().Outstanding)
		}
	}
}
