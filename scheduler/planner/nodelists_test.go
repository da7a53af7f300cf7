package planner

import (
	"slices"
	"strings"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

func (h *house) refused(in input.Input) *input.Refusal {
	h.now++
	r, events := h.p.Plan(h.now, input.Request{Input: in})
	if r.Refused() != nil && len(events) > 0 {
		h.t.Errorf("%T is refused and leads to %v", in, kindsOf(events))
	}
	return r.Refused()
}

func (h *house) hosts(in *input.SetHosts) *input.SetHostsReply {
	h.t.Helper()
	return h.must(h.t, in).(*input.SetHostsReply)
}

func (h *house) again(i int) *input.Refusal {
	return h.refused(&input.RegisterNode{ID: h.nodes[i], Rack: "r", Total: yarn.NewResource(8192, 8)})
}

// TestNewClusterHostLists checks that the log entry that creates the cluster also sets the host
// lists. So no refused node can register before the lists are set.
func TestNewClusterHostLists(t *testing.T) {
	h := &house{&plant{p: must(New(state.New(), Options{})), now: 1000}, t}
	h.must(t, &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Include: []string{"N1", "n0"},
		Exclude: []string{"n0"},
		Properties: []input.Property{{Name: confPrefix + "root.queues", Value: "a"},
			{Name: confPrefix + "root.a.capacity", Value: "100"}}})
	if l := h.p.st.Hosts; !slices.Equal(l.Include, []string{"n0", "n1"}) || !slices.Equal(l.Exclude, []string{"n0"}) {
		t.Errorf("host lists of the new cluster: include %q, exclude %q, want [n0 n1] and [n0]",
			l.Include, l.Exclude)
	}
	h.nodes = []yarn.NodeID{{Host: "n0", Port: 1}, {Host: "n1", Port: 1}, {Host: "n2", Port: 1}}
	for i, reason := range []input.Code{input.HostRefused, "", input.HostRefused} {
		if f := h.again(i); f == nil && reason != "" || f != nil && f.Reason != reason {
			t.Errorf("node %d registers: %v", i, f)
		}
	}
}

func TestExcludedHostsDecommissioned(t *testing.T) {
	h := newHouse(t, 3, true)
	at := h.run()
	ids := h.ask(at, 0, 2)
	h.beat(0, ids...)
	r := h.hosts(&input.SetHosts{Exclude: []string{" N0 ", "elsewhere", ""}})
	if !slices.Equal(r.Leaving, h.nodes[:1]) || len(r.Returning) != 0 {
		t.Fatalf("SetHosts: leaving %v, returning %v, want %v and none",
			r.Leaving, r.Returning, h.nodes[:1])
	}
	if n := h.node(0); n.State != yarn.NodeDecommissioned || n.Count != 0 || h.p.st.Meta.UsableNodes != 2 {
		t.Errorf("%s with %d containers, %d nodes usable", n.State, n.Count, h.p.st.Meta.UsableNodes)
	}
	if !h.beat(0, ids...).Shutdown {
		t.Error("its heartbeat is not answered with a shutdown")
	}
	f := h.again(0)
	if f == nil || f.Reason != input.HostRefused ||
		f.What != "Disallowed NodeManager from  n0, Sending SHUTDOWN signal to the NodeManager." {
		t.Errorf("registers: %v", f)
	}
	if f := h.refused(&input.DrainNode{ID: h.nodes[0], Back: true}); f == nil || f.Reason != input.HostRefused {
		t.Errorf("taken back by hand: %v", f)
	}
	if f := h.refused(&input.RegisterNode{ID: yarn.NodeID{Host: "ELSEWHERE", Port: 7},
		Total: yarn.NewResource(1024, 1)}); f == nil || f.Reason != input.HostRefused {
		t.Errorf("another one registers: %v", f)
	}
	if r := h.hosts(&input.SetHosts{}); !slices.Equal(r.Returning, h.nodes[:1]) || len(r.Leaving) != 0 {
		t.Fatalf("allowed again: %+v", r)
	}
	if !h.beat(0).Resync {
		t.Error("a node that is allowed again is not told to register")
	}
	if h.register(0, true); h.node(0).State != yarn.NodeRunning || h.node(0).Total[yarn.Memory] != 8192 {
		t.Errorf("back again: %s with %s", h.node(0).State, h.node(0).Total)
	}
}

func TestUnlistedHostsDrain(t *testing.T) {
	h := newHouse(t, 3, true)
	at := h.run()
	ids := h.ask(at, 0, 1)
	h.beat(0, ids...)
	in := &input.SetHosts{Include: []string{"n2", "n3"}, Graceful: true, TimeoutMillis: 60_000}
	r := h.hosts(in)
	deadline := h.now + 60_000
	if !slices.Equal(r.Leaving, h.nodes[:2]) {
		t.Fatalf("SetHosts: leaving %v, want %v", r.Leaving, h.nodes[:2])
	}
	if n := h.node(0); n.State != yarn.NodeDecommissioning || n.DeadlineMillis != deadline {
		t.Errorf("%s until %d, want %d", n.State, n.DeadlineMillis, deadline)
	}
	if r := h.hosts(in); len(r.Leaving) != 0 || h.node(0).DeadlineMillis != deadline {
		t.Errorf("the same lists once more: %+v, until %d", r, h.node(0).DeadlineMillis)
	}
	in.TimeoutMillis = 1000
	if h.hosts(in); h.node(0).DeadlineMillis != deadline-59_000 { // as in YARN, counted from the beginning of the drain
		t.Error("a shorter time does not hold")
	}
	if f := h.refused(&input.RegisterNode{ID: h.nodes[0], Rack: "r", Total: yarn.NewResource(8192, 8), NodeManager: true,
		Containers: []input.ContainerStatus{{Container: ids[0], State: yarn.ContainerRunning}}}); f != nil ||
		h.node(0).State != yarn.NodeDecommissioning {
		t.Errorf("a node that drains restarts: %v, %s", f, h.node(0).State)
	}
	h.must(t, &input.NodesHeard{Nodes: []state.NodeSlot{2}})
	if h.node(1).State != yarn.NodeDecommissioned || h.again(1) == nil {
		t.Errorf("the empty one is %s", h.node(1).State)
	}
	h.now += 2000
	h.must(t, &input.Tick{})
	if h.node(0).State != yarn.NodeDecommissioned || !strings.Contains(h.node(0).Report, "hosts") {
		t.Errorf("after the deadline: %s, %q", h.node(0).State, h.node(0).Report)
	}
	if r := h.hosts(&input.SetHosts{Include: []string{"n0", "n1", "n2"}}); !slices.Equal(r.Returning, h.nodes[:2]) {
		t.Errorf("allowed again: %+v", r)
	}
}

// TestHostsAllowedWhileTheyDrain checks that a draining node that is allowed again keeps its
// containers.
func TestHostsAllowedWhileTheyDrain(t *testing.T) {
	h := newHouse(t, 2, true)
	at := h.run()
	ids := h.ask(at, 0, 1)
	h.beat(0, ids...)
	h.hosts(&input.SetHosts{Exclude: []string{"n0"}, Graceful: true})
	h.beat(0, ids...)
	h.hosts(&input.SetHosts{})
	if !h.beat(0, ids...).Resync {
		t.Fatal("it is not told to register")
	}
	if h.register(0, true, ids...); h.state(ids[0]) != yarn.ContainerRunning || h.node(0).Total[yarn.Memory] != 8192 {
		t.Errorf("%s on %s", h.state(ids[0]), h.node(0).Total)
	}
}

// TestHostListsKeepOperatorDrains checks that host lists neither begin nor end a drain that an
// operator ordered.
func TestHostListsKeepOperatorDrains(t *testing.T) {
	h := newHouse(t, 3, true)
	h.must(t, &input.DrainNode{ID: h.nodes[0], Now: true})
	if h.node(0).State != yarn.NodeDecommissioned {
		t.Fatalf("drained at once: %s", h.node(0).State)
	}
	at := h.run()
	ids := h.ask(at, 1, 1)
	h.beat(1, ids...)
	h.must(t, &input.DrainNode{ID: h.nodes[1]})
	if f := h.refused(&input.DrainNode{ID: h.nodes[1]}); f == nil || f.Reason != input.AlreadyDone {
		t.Errorf("drained twice: %v", f)
	}
	// later, earlier, and without a deadline
	for _, deadline := range []int64{h.now + 5000, h.now + 9000, h.now + 7000, 0} {
		if h.must(t, &input.DrainNode{ID: h.nodes[1], DeadlineMillis: deadline}); h.node(1).DeadlineMillis != deadline ||
			h.node(1).State != yarn.NodeDecommissioning {
			t.Errorf("n1 is %s until %d, want %s until %d",
				h.node(1).State, h.node(1).DeadlineMillis, yarn.NodeDecommissioning, deadline)
		}
	}
	if r := h.hosts(&input.SetHosts{Exclude: []string{"n0", "n1"}, Graceful: true}); len(r.Leaving) != 0 {
		t.Errorf("SetHosts with a drained and a draining host: leaving %v, want none", r.Leaving)
	}
	if r := h.hosts(&input.SetHosts{}); len(r.Returning) != 0 || h.node(1).State != yarn.NodeDecommissioning {
		t.Errorf("SetHosts without lists: returning %v, n1 is %s, want none and %s",
			r.Returning, h.node(1).State, yarn.NodeDecommissioning)
	}
	h.must(t, &input.DrainNode{ID: h.nodes[1], Now: true})
	if h.node(1).State != yarn.NodeDecommissioned || h.state(ids[0]).Live() {
		t.Errorf("then at once: %s, its container %s", h.node(1).State, h.state(ids[0]))
	}
	for i := range 2 {
		h.must(t, &input.DrainNode{ID: h.nodes[i], Back: true})
		h.register(i, true)
	}
	if h.p.st.Meta.UsableNodes != 3 {
		t.Errorf("%d nodes usable, want 3", h.p.st.Meta.UsableNodes)
	}
}

func TestSetHostsRefusesNonsense(t *testing.T) {
	h := newHouse(t, 1, true)
	if f := h.refused(&input.SetHosts{TimeoutMillis: -1}); f == nil || f.Reason != input.InvalidRequest {
		t.Errorf("SetHosts with a negative timeout: refusal %v, want code %s", f, input.InvalidRequest)
	}
}

// TestNodeWithoutPort checks that a node with port 0 is refused, because port 0 stands for all
// nodes of a host.
func TestNodeWithoutPort(t *testing.T) {
	h := newHouse(t, 1, true)
	if f := h.refused(&input.RegisterNode{ID: yarn.NodeID{Host: "n9"}, Total: yarn.NewResource(1024, 1)}); f == nil ||
		f.Reason != input.InvalidRequest {
		t.Errorf("RegisterNode with port 0: refusal %v, want code %s", f, input.InvalidRequest)
	}
}

// TestForgetNode checks that an operator can remove an inactive node, and that the leader removes
// one only if the host lists do not name it.
func TestForgetNode(t *testing.T) {
	h := newHouse(t, 3, true)
	at := h.run()
	ids := h.ask(at, 0, 1)
	h.beat(0, ids...)
	forget := &input.ForgetNode{ID: h.nodes[0]}
	if f := h.refused(forget); f == nil || f.Reason != input.NotAllowed || !strings.Contains(f.Do, "drain") {
		t.Errorf("while it runs: %v", f)
	}
	h.must(t, &input.ExpireNode{ID: h.nodes[0]})
	if f := h.refused(forget); f == nil || f.Reason != input.NotAllowed || !strings.Contains(f.What, "yet to be told") {
		t.Errorf("before the AM was told of its container's end: %v", f)
	}
	for range 2 {
		h.must(t, &input.Allocate{Attempt: at, Response: h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App)).Response})
	}
	untracked := &input.ForgetNode{ID: h.nodes[0], Untracked: true}
	for _, lists := range []*input.SetHosts{{}, {Include: []string{"n0", "n1", "n2"}},
		{Include: []string{"n1", "n2"}, Exclude: []string{"n0"}}} {
		h.hosts(lists)
		if h.must(t, untracked); h.p.st.Nodes.Find(h.nodes[0]) == 0 {
			t.Fatalf("forgotten although the lists are %+v", lists)
		}
	}
	h.hosts(&input.SetHosts{Include: []string{"n1", "n2"}})
	if h.must(t, untracked); h.p.st.Nodes.Find(h.nodes[0]) != 0 {
		t.Fatal("no list names it, and it is still known")
	}
	if f := h.refused(forget); f == nil || f.Reason != input.NoSuchNode {
		t.Errorf("twice: %v", f)
	}
	late := &input.NodeHeartbeat{ID: h.nodes[0], Full: true, HeartbeatSession: 7}
	if r := h.must(t, late).(*input.NodeHeartbeatReply); !r.Resync {
		t.Errorf("a heartbeat of it is answered %+v", r)
	}
	other := &input.RegisterNode{ID: yarn.NodeID{Host: "n2", Port: 2}, Rack: "r", Total: yarn.NewResource(8192, 8),
		NodeManager: true, HeartbeatSession: 8}
	if r := h.must(t, other).(*input.RegisterNodeReply); r.Number != 1 {
		t.Errorf("the next node has number %d", r.Number)
	}
	if r := h.must(t, late).(*input.NodeHeartbeatReply); !r.Resync || h.p.st.Nodes.Get(1).HeartbeatSession != 8 {
		t.Errorf("a heartbeat of the forgotten node is answered %+v", r)
	}
}

// TestDrainTimesOfTheLists checks that the drain timeout of a host counts from the beginning of its
// drain. The same lists change no deadline, and another timeout moves it in either direction.
func TestDrainTimesOfTheLists(t *testing.T) {
	h := newHouse(t, 3, true)
	at := h.run()
	h.beat(0, h.ask(at, 0, 1)...)
	lists := &input.SetHosts{Exclude: []string{"n0", "n1"}, Graceful: true, TimeoutMillis: 60_000,
		Timeouts: []input.HostTimeout{{Host: " N1 ", Millis: 5000}, {Host: "n2", Millis: 1}}}
	h.hosts(lists)
	since := h.now
	hold := func(n0, n1 int64) {
		t.Helper()
		for i, want := range []int64{n0, n1} {
			if n := h.node(i); n.State != yarn.NodeDecommissioning || n.DeadlineMillis != want {
				t.Errorf("node %d is %s until %d, want %d", i, n.State, n.DeadlineMillis, want)
			}
		}
	}
	hold(since+60_000, since+5000)
	h.hosts(lists)
	hold(since+60_000, since+5000)
	for _, millis := range []int64{90_000, 30_000} {
		lists.TimeoutMillis = millis
		h.hosts(lists)
		hold(since+millis, since+5000)
	}
	lists.TimeoutMillis, lists.Timeouts[0].Millis = 0, 0
	h.hosts(lists)
	hold(0, 0)
	lists.TimeoutMillis = 60_000
	h.must(t, &input.DrainNode{ID: h.nodes[0], DeadlineMillis: since + 99_000})
	h.hosts(lists)
	hold(since+60_000, 0)
	lists.Timeouts = []input.HostTimeout{{Host: "n0", Millis: -1}}
	if f := h.refused(lists); f == nil || f.Reason != input.InvalidRequest {
		t.Errorf("a time below 0: %v", f)
	}
}

// TestUntrackedHostsStop checks that a host outside the include list becomes SHUTDOWN and an
// excluded host DECOMMISSIONED. Both may register again when the lists allow them.
func TestUntrackedHostsStop(t *testing.T) {
	h := newHouse(t, 3, true)
	h.hosts(&input.SetHosts{Include: []string{"n0", "n2"}, Exclude: []string{"n2"}})
	for i, want := range []yarn.NodeState{yarn.NodeRunning, yarn.NodeShutdown, yarn.NodeDecommissioned} {
		if h.node(i).State != want {
			t.Errorf("node %d is %s, want %s", i, h.node(i).State, want)
		}
	}
	if f := h.again(1); f == nil || f.Reason != input.HostRefused {
		t.Errorf("the host that no list names registers: %v", f)
	}
	h.hosts(&input.SetHosts{})
	for i := range 3 {
		if h.register(i, true); h.node(i).State != yarn.NodeRunning {
			t.Errorf("node %d is %s", i, h.node(i).State)
		}
	}
}
