package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/node"
	"rmd/yarn"
)

// house is a small cluster of nodes n0, n1 … with 8 GB each, driven by single inputs.
type house struct {
	*plant
	t *testing.T
}

func newHouse(t *testing.T, nodes int, dialed bool) *house {
	w := &plant{p: must(New(state.New(), Options{Eager: true})), now: 1000}
	h := &house{w, t}
	h.must(t, &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Properties: []input.Property{
		{Name: confPrefix + "root.queues", Value: "a"}, {Name: confPrefix + "root.a.capacity", Value: "100"},
		{Name: confPrefix + "root.a.user-limit-factor", Value: "100"},
		{Name: confPrefix + "maximum-am-resource-percent", Value: "1"},
		{Name: "yarn.resourcemanager.max-completed-applications", Value: "0"}}})
	for i := range nodes {
		h.nodes = append(h.nodes, yarn.NodeID{Host: fmt.Sprintf("n%d", i), Port: 1})
		h.register(i, dialed)
	}
	return h
}

func (h *house) register(i int, dialed bool, containers ...yarn.ContainerID) *input.RegisterNodeReply {
	h.t.Helper()
	in := &input.RegisterNode{ID: h.nodes[i], Rack: "r", Total: yarn.NewResource(8192, 8), NodeManager: dialed}
	for _, id := range containers {
		in.Containers = append(in.Containers, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	}
	return h.must(h.t, in).(*input.RegisterNodeReply)
}

// run submits an application without a managed AM and registers it.
func (h *house) run() yarn.AttemptID {
	h.t.Helper()
	r := h.must(h.t, &input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}).(*input.SubmitApplicationReply)
	at := yarn.AttemptID{App: r.ID, Attempt: 1}
	h.must(h.t, &input.RegisterAttempt{Attempt: at})
	return at
}

// ask asks for n containers on node i and returns those granted.
func (h *house) ask(at yarn.AttemptID, i, n int) (out []yarn.ContainerID) {
	h.t.Helper()
	a, host := h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App)), h.nodes[i].Host
	key, size := yarn.SchedulerKey{Priority: int32(i + 1)}, yarn.NewResource(1024, 1)
	r := h.must(h.t, &input.Allocate{Attempt: at, Response: a.Response, Asks: []input.Ask{
		{Key: key, Name: host, Count: int64(n), Size: size, Relax: true}, {Key: key, Name: "r", Count: int64(n), Size: size},
		{Key: key, Name: yarn.Any, Count: int64(n), Size: size}}})
	for _, g := range r.(*input.AllocateReply).Granted {
		out = append(out, g.Container)
	}
	if len(out) != n {
		h.t.Fatalf("granted %d of %d on %s", len(out), n, host)
	}
	return out
}

// beat sends a full heartbeat of node i.
func (h *house) beat(i int, running ...yarn.ContainerID) *input.NodeHeartbeatReply {
	h.t.Helper()
	in := &input.NodeHeartbeat{ID: h.nodes[i], Full: true}
	for _, id := range running {
		in.Statuses = append(in.Statuses, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	}
	return h.must(h.t, in).(*input.NodeHeartbeatReply)
}

func (h *house) finish(at yarn.AttemptID) {
	h.t.Helper()
	h.must(h.t, &input.FinishAttempt{Attempt: at, Final: yarn.FinalSucceeded})
}

func (h *house) node(i int) *state.Node { return h.p.st.Nodes.Get(h.p.st.Nodes.Find(h.nodes[i])) }

// state returns the state of a container, or 0 if the container is forgotten.
func (h *house) state(id yarn.ContainerID) yarn.ContainerState {
	if slot := containerOn(h.p, h.anyNode(id), id); slot != 0 {
		return h.p.st.Containers.Get(slot).State
	}
	return 0
}

func (h *house) anyNode(id yarn.ContainerID) state.NodeSlot {
	if slot := h.p.st.Container(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number}); slot != 0 {
		return h.p.st.Containers.Get(slot).Node
	}
	return 0
}

// TestCleanUps checks that a node is told to clean up after an ended application in every answer
// until it acknowledges the order.
func TestCleanUps(t *testing.T) {
	h := newHouse(t, 3, true)
	one, two := h.run(), h.run()
	a, b := h.ask(one, 0, 2), h.ask(two, 0, 1)
	c := h.ask(one, 1, 1)
	h.beat(0, append(a, b...)...)
	h.beat(1, c...)
	h.finish(one)
	for range 2 {
		if r := h.beat(0, append(a, b...)...); !slices.Equal(r.CleanUp, []yarn.ApplicationID{one.App}) || len(r.Kill) != 2 {
			t.Fatalf("the node is told to clear away %v and to kill %v", r.CleanUp, r.Kill)
		}
	}
	if r := h.beat(2); len(r.CleanUp) != 0 {
		t.Errorf("a node that had nothing of it is told of %v", r.CleanUp)
	}
	told := &input.NodeHeartbeat{ID: h.nodes[0],
		CleanupsAcked: []yarn.ApplicationID{two.App, one.App, one.App, {ClusterTimestamp: 9, Seq: 9}}}
	for i := range 3 {
		if r := h.must(t, told).(*input.NodeHeartbeatReply); len(r.CleanUp) != 0 {
			t.Errorf("told %d times: %v", i, r.CleanUp)
		}
	}
	if r := h.beat(1, c...); !slices.Equal(r.CleanUp, []yarn.ApplicationID{one.App}) {
		t.Errorf("the other node is told of %v", r.CleanUp)
	}
	h.finish(two)
	if r := h.beat(0); !slices.Equal(r.CleanUp, []yarn.ApplicationID{two.App}) {
		t.Errorf("then it is told of %v", r.CleanUp)
	}
}

// TestCleanUpsInPortions checks that a node is told of many ended applications in portions, even
// after the applications themselves are forgotten.
func TestCleanUpsInPortions(t *testing.T) {
	h := newHouse(t, 1, true)
	const n = node.ToldAtOnce + 30
	for range n {
		at := h.run()
		id := h.ask(at, 0, 1)
		h.beat(0, id...)
		h.finish(at)
		h.beat(0)
	}
	if got := h.p.st.Apps.Len(); got > 10 {
		t.Fatalf("%d applications are remembered", got)
	}
	seen := map[yarn.ApplicationID]bool{}
	for _, want := range []int{node.ToldAtOnce, 30, 0} {
		r := h.beat(0)
		if len(r.CleanUp) != want {
			t.Fatalf("told of %d, want %d", len(r.CleanUp), want)
		}
		for _, id := range r.CleanUp {
			seen[id] = true
		}
		h.must(t, &input.NodeHeartbeat{ID: h.nodes[0], CleanupsAcked: r.CleanUp})
	}
	if len(seen) != n || h.p.st.NodeApplications.Len() != 0 {
		t.Errorf("told of %d applications, %d node applications left", len(seen), h.p.st.NodeApplications.Len())
	}
}

// TestDrainWaitsForApplications checks that a draining node stays until it has been told that the
// applications that ran there have ended, and as long as it still keeps any of them, for instance
// to aggregate logs.
func TestDrainWaitsForApplications(t *testing.T) {
	h := newHouse(t, 2, true)
	at := h.run()
	maps := h.ask(at, 0, 2)
	h.beat(0, maps...)
	h.must(t, &input.DrainNode{ID: h.nodes[0]})
	for range 2 {
		if h.beat(0); h.node(0).State != yarn.NodeDecommissioning || h.node(0).Count != 0 || !h.node(0).Total.IsZero() {
			t.Fatalf("its containers have ended, the application has not: %s with a total of %s", h.node(0).State,
				h.node(0).Total)
		}
		h.must(t, &input.NodesHeard{Nodes: []state.NodeSlot{1}})
	}
	h.finish(at)
	r := h.beat(0)
	if !slices.Equal(r.CleanUp, []yarn.ApplicationID{at.App}) || r.Shutdown {
		t.Fatalf("at the application's end it is told %+v", r)
	}
	told := &input.NodeHeartbeat{ID: h.nodes[0], CleanupsAcked: r.CleanUp, KeepAlive: r.CleanUp}
	for range 2 {
		if r := h.must(t, told).(*input.NodeHeartbeatReply); r.Shutdown || h.node(0).State != yarn.NodeDecommissioning {
			t.Fatalf("it still collects logs and is %s", h.node(0).State)
		}
	}
	told.KeepAlive = nil
	if r := h.must(t, told).(*input.NodeHeartbeatReply); !r.Shutdown || h.node(0).State != yarn.NodeDecommissioned {
		t.Errorf("it has nothing left and is %s", h.node(0).State)
	}
}

// TestSimulatedNodesNoNodeApplications checks that no NodeApplications are kept for simulated
// nodes.
func TestSimulatedNodesNoNodeApplications(t *testing.T) {
	h := newHouse(t, 1, false)
	at := h.run()
	h.beat(0, h.ask(at, 0, 3)...)
	h.finish(at)
	if r := h.beat(0); len(r.CleanUp) != 0 || h.p.st.NodeApplications.Len() != 0 {
		t.Errorf("told of %v, %d node applications", r.CleanUp, h.p.st.NodeApplications.Len())
	}
}

// TestRegistrationListsEndedApplications checks that the answer to a registration lists the ended
// and unknown applications that the node still keeps.
func TestRegistrationListsEndedApplications(t *testing.T) {
	h := newHouse(t, 2, true)
	lives, over := h.run(), h.run()
	a, b := h.ask(lives, 0, 1), h.ask(over, 0, 1)
	h.beat(0, append(a, b...)...)
	h.finish(over)
	ghost := yarn.ApplicationID{ClusterTimestamp: 1, Seq: 1}
	in := &input.RegisterNode{ID: h.nodes[0], Rack: "r", Total: yarn.NewResource(8192, 8), NodeManager: true,
		Running: []yarn.ApplicationID{lives.App, ghost, over.App}}
	in.Containers = []input.ContainerStatus{{Container: a[0], State: yarn.ContainerRunning},
		{Container: yarn.ContainerID{App: ghost, Attempt: 1, Number: 1}, State: yarn.ContainerRunning}}
	for range 2 {
		r := h.must(t, in).(*input.RegisterNodeReply)
		if !slices.Equal(r.CleanUp, []yarn.ApplicationID{ghost, over.App}) || len(r.Kill) != 1 || r.Number != 1 ||
			!r.Total.IsZero() {
			t.Errorf("RegisterNode = %+v, want to clean up %v, one container to kill, node number 1 and no total",
				r, []yarn.ApplicationID{ghost, over.App})
		}
	}
	if r := h.beat(0, a...); len(r.CleanUp) != 0 {
		t.Errorf("what the registration told is told again: %v", r.CleanUp)
	}
	if r := h.register(1, true); r.Number != 2 {
		t.Errorf("the second node has number %d", r.Number)
	}
	h.finish(lives)
	if r := h.beat(0); !slices.Equal(r.CleanUp, []yarn.ApplicationID{lives.App}) {
		t.Errorf("what lived on is told as %v", r.CleanUp)
	}
}

func TestSignalsSentUntilAcknowledged(t *testing.T) {
	h := newHouse(t, 1, true)
	at := h.run()
	ids := h.ask(at, 0, 2)
	h.beat(0, ids...)
	signal := func(id yarn.ContainerID, command uint8) *input.Refusal {
		h.now++
		r, _ := h.p.Plan(h.now, input.Request{Input: &input.SignalContainer{Container: id, Command: command}})
		return r.Refused()
	}
	if f := signal(ids[0], 1); f != nil {
		t.Fatal(f)
	}
	for range 2 {
		if r := h.beat(0, ids...); !slices.Equal(r.Signals, []input.Signal{{Container: ids[0], Command: 1}}) {
			t.Fatalf("signals: %v", r.Signals)
		}
	}
	had := &input.NodeHeartbeat{ID: h.nodes[0], SignalsAcked: []yarn.ContainerID{ids[0], ids[1], {}}}
	for range 2 {
		if r := h.must(t, had).(*input.NodeHeartbeatReply); len(r.Signals) != 0 || h.node(0).PendingCommands != 0 {
			t.Errorf("signals: %v, %d orders", r.Signals, h.node(0).PendingCommands)
		}
	}
	if f := signal(yarn.ContainerID{App: at.App, Attempt: 1, Number: 99}, 1); f == nil ||
		f.Reason != input.NoSuchContainer {
		t.Errorf("a container that is not there: %v", f)
	}
	if f := signal(ids[0], 4); f == nil || f.Reason != input.InvalidRequest {
		t.Errorf("a command that is none: %v", f)
	}
	if f := signal(ids[1], 3); f != nil {
		t.Fatal(f)
	}
	if r := h.beat(0, ids[0]); len(r.Signals) != 0 || h.state(ids[1]) == yarn.ContainerRunning {
		t.Errorf("a container that is gone: %v", r.Signals)
	}
	if f := signal(ids[1], 3); f == nil || f.Reason != input.NoSuchContainer {
		t.Errorf("a container that has ended: %v", f)
	}
}

// TestFullReports checks that a full report ends the containers that ran on the node and are
// missing in the report, but not containers that have not started there yet.
func TestFullReports(t *testing.T) {
	h := newHouse(t, 1, true)
	at := h.run()
	ids := h.ask(at, 0, 3)
	if r := h.beat(0, ids[0], ids[1]); len(r.Kill) != 0 {
		t.Fatalf("heartbeat that leaves out a container not yet started: kill %v, want none", r.Kill)
	}
	h.must(t, &input.NodeHeartbeat{ID: h.nodes[0]}) // not full
	for i, id := range ids {
		if got := h.state(id); !got.Live() {
			t.Fatalf("container %d is %s", i, got)
		}
	}
	for range 2 {
		h.beat(0, ids[0])
	}
	if h.state(ids[0]) != yarn.ContainerRunning || !h.state(ids[2]).Live() || h.node(0).Count != 2 {
		t.Errorf("named: %s, never there: %s, %d on the node", h.state(ids[0]), h.state(ids[2]), h.node(0).Count)
	}
	a := h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App))
	r := h.must(t, &input.Allocate{Attempt: at, Response: a.Response}).(*input.AllocateReply)
	if len(r.Completed) != 1 || r.Completed[0].Container != ids[1] || r.Completed[0].ExitStatus != yarn.ExitAborted ||
		!strings.HasPrefix(r.Completed[0].Diagnostics, "Container lost") {
		t.Errorf("the AM is told %+v", r.Completed)
	}
}

// TestFullReportFreesWhatWasBeingKilled checks that a released container frees its resource if a
// full report does not name it. The node would never report its end.
func TestFullReportFreesWhatWasBeingKilled(t *testing.T) {
	h := newHouse(t, 1, true)
	at := h.run()
	ids := h.ask(at, 0, 1)
	h.beat(0, ids...)
	a := h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App))
	h.must(t, &input.Allocate{Attempt: at, Response: a.Response, Releases: ids})
	if r := h.beat(0, ids...); !slices.Equal(r.Kill, ids) {
		t.Fatalf("to be killed: %v", r.Kill)
	}
	if h.beat(0); h.node(0).Count != 0 {
		t.Error("its share is not given back")
	}
}

// TestFullReportWithoutTheAM checks that the attempt ends, as on the loss of the node, if a full
// report does not name its AM.
func TestFullReportWithoutTheAM(t *testing.T) {
	h := newHouse(t, 1, false)
	r := h.must(t, &input.SubmitApplication{User: "u", Queue: "root.a", AM: yarn.NewResource(1024, 1), MaxAttempts: 1}).(*input.SubmitApplicationReply)
	hb := h.must(t, &input.NodeHeartbeat{ID: h.nodes[0]}).(*input.NodeHeartbeatReply)
	if len(hb.Launch) != 1 {
		t.Fatalf("to be launched: %v", hb.Launch)
	}
	am := hb.Launch[0].Container
	h.beat(0, am)
	h.must(t, &input.RegisterAttempt{Attempt: yarn.AttemptID{App: r.ID, Attempt: 1}})
	ids := h.ask(yarn.AttemptID{App: r.ID, Attempt: 1}, 0, 2)
	h.beat(0, append(ids, am)...)
	h.beat(0)
	a := h.p.st.Apps.Get(h.p.st.Apps.ByID(r.ID))
	if a.Attempt != 2 || a.Failures != 0 || h.state(am) != 0 || h.state(ids[0]) != 0 || h.state(ids[1]) != 0 {
		t.Errorf("attempt %d after %d failures that count; AM %s, containers %s %s", a.Attempt, a.Failures, h.state(am),
			h.state(ids[0]), h.state(ids[1]))
	}
}

// TestUnhealthyReportIsNotFull checks that an unhealthy report ends containers because the node is
// unhealthy, even if the report is full.
func TestUnhealthyReportIsNotFull(t *testing.T) {
	h := newHouse(t, 1, true)
	at := h.run()
	ids := h.ask(at, 0, 1)
	h.beat(0, ids...)
	h.must(t, &input.NodeHeartbeat{ID: h.nodes[0], Unhealthy: true, Full: true, Report: "disk"})
	a := h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App))
	r := h.must(t, &input.Allocate{Attempt: at, Response: a.Response}).(*input.AllocateReply)
	if len(r.Completed) != 1 || !strings.Contains(r.Completed[0].Diagnostics, "*unhealthy*") {
		t.Errorf("completed after the node became unhealthy: %+v, want one container with *unhealthy*",
			r.Completed)
	}
}

func TestUnusedContainersExpire(t *testing.T) {
	h := newHouse(t, 1, true)
	at := h.run()
	ids := h.ask(at, 0, 3)
	h.beat(0, ids[0])
	in := &input.ExpireContainers{Containers: []yarn.ContainerID{ids[0], ids[1], {App: at.App, Attempt: 1, Number: 77}}}
	for range 2 {
		h.must(t, in)
	}
	a := h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App))
	r := h.must(t, &input.Allocate{Attempt: at, Response: a.Response}).(*input.AllocateReply)
	if len(r.Completed) != 1 || r.Completed[0].Container != ids[1] || r.Completed[0].ExitStatus != yarn.ExitAborted ||
		r.Completed[0].Diagnostics != "Container expired since it was unused" {
		t.Errorf("completed after the expiry: %+v, want only %s with exit status %d, as unused",
			r.Completed, ids[1], yarn.ExitAborted)
	}
	if h.state(ids[0]) != yarn.ContainerRunning || h.state(ids[2]) != yarn.ContainerAcquired {
		t.Errorf("launched: %s, not named: %s", h.state(ids[0]), h.state(ids[2]))
	}
}

// TestTotalOfAnAdministrator checks that a total that an administrator set outlives registrations
// and drains, and is sent to a node that registers.
func TestTotalOfAnAdministrator(t *testing.T) {
	h := newHouse(t, 1, true)
	changes := h.p.st.Meta.NodeChanges
	set := yarn.NewResource(4096, 4)
	h.must(t, &input.SetNodeResource{ID: h.nodes[0], Total: set})
	if h.p.st.Meta.NodeChanges != changes+1 {
		t.Error("the change is not counted")
	}
	if r := h.register(0, true); r.Total != set || h.node(0).Total != set {
		t.Errorf("a registration tells %s, in force %s", r.Total, h.node(0).Total)
	}
	at := h.run()
	ids := h.ask(at, 0, 1)
	h.beat(0, ids...)
	h.must(t, &input.DrainNode{ID: h.nodes[0]})
	if h.beat(0, ids...); h.node(0).Total != h.node(0).Allocated {
		t.Fatalf("a draining node has %s", h.node(0).Total)
	}
	h.must(t, &input.DrainNode{ID: h.nodes[0], Back: true})
	if h.register(0, true, ids...); h.node(0).Total != set || h.node(0).Count != 1 {
		t.Errorf("back again it has %s and %d containers", h.node(0).Total, h.node(0).Count)
	}
}

func TestDialedNodesAreNotOrderedToLaunch(t *testing.T) {
	h := newHouse(t, 1, true)
	h.must(t, &input.SubmitApplication{User: "u", Queue: "root.a", AM: yarn.NewResource(1024, 1)})
	if r := h.beat(0); len(r.Launch) != 0 || h.node(0).Count != 1 {
		t.Errorf("to be launched: %v, %d containers", r.Launch, h.node(0).Count)
	}
}

// TestCheapestToDrain checks the order of nodes by the cost of draining them: an idle node, one
// with data of an application, one with a container, and last the node whose AM would take its
// whole application down.
func TestCheapestToDrain(t *testing.T) {
	h := newHouse(t, 4, true)
	at := yarn.AttemptID{App: h.must(t, &input.SubmitApplication{User: "u", Queue: "root.a",
		AM: yarn.NewResource(1024, 1)}).(*input.SubmitApplicationReply).ID, Attempt: 1}
	a := h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App))
	master := int(a.MasterNode) - 1
	h.beat(master, yarn.ContainerID{App: at.App, Attempt: 1, Number: a.MasterNumber})
	h.must(t, &input.RegisterAttempt{Attempt: at})
	var others []int
	for i := range 4 {
		if i != master {
			others = append(others, i)
		}
	}
	data, busy, idle := others[0], others[1], others[2]
	maps := h.ask(at, data, 1)
	h.beat(data, maps...)
	h.ask(at, busy, 1)
	h.now += 10_000
	h.beat(data) // The container on it has ended.
	h.now += 10_000
	h.must(t, &input.Tick{})
	got := explain.CheapestToDrain(h.p.st, 9)
	var order []int
	for _, c := range got {
		order = append(order, slices.IndexFunc(h.nodes, func(id yarn.NodeID) bool { return id.String() == c.ID }))
	}
	if want := []int{idle, data, busy, master}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v: %+v", order, want, got)
	}
	for i, part := range []string{"nothing runs there", "data of 1 running application", "1 container, 0 AMs",
		"1 container, 1 AM"} {
		if !strings.Contains(got[i].Reason, part) {
			t.Errorf("the reason %q does not say %q", got[i].Reason, part)
		}
	}
	if c := got[3]; c.WorkMillis <= got[2].WorkMillis {
		t.Errorf("with the AM %d ms are lost, with one container %d ms", c.WorkMillis, got[2].WorkMillis)
	}
	if two := explain.CheapestToDrain(h.p.st, 2); !slices.Equal(two, got[:2]) {
		t.Errorf("two of them: %+v", two)
	}
}
