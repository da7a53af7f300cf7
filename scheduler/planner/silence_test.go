package planner

import (
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

func nodeNamed(host string) yarn.NodeID { return yarn.NodeID{Host: host, Port: 1} }

// TestNextAMGoesElsewhere checks that the AM of the next attempt prefers other nodes after an AM that
// could not be started, although its node is the emptiest, and gets that node when there is no other.
func TestNextAMGoesElsewhere(t *testing.T) {
	r := newRig(t).dialed()
	r.ok(&input.RegisterNode{ID: nodeNamed("n1"), Rack: "r", Total: yarn.NewResource(4096, 4)})
	id := r.started(nil)
	on := func() state.NodeSlot {
		a := r.app(id)
		slot := r.p.st.Master(a)
		if slot == 0 {
			t.Fatalf("attempt %d has no AM", a.Attempt)
		}
		return r.p.st.Containers.Get(slot).Node
	}
	for n, want := range []state.NodeSlot{1, 2, 1} {
		if got := on(); got != want {
			t.Errorf("attempt %d is on node %d, want %d", n+1, got, want)
		}
		id.Attempt = uint32(n + 1)
		if n == 1 { // the other node is full
			r.ok(&input.SetNodeResource{ID: nodeNamed("n1"), Total: yarn.NewResource(1, 1)})
		}
		r.ok(&input.AttemptLaunchFailed{Attempt: id, Container: 1, NodeFault: true, Diagnostics: "unreachable"})
	}
}

// TestSilenceOfNoNode checks that a mark that cannot be made changes nothing.
func TestSilenceOfNoNode(t *testing.T) {
	r := newRig(t)
	for _, n := range []input.SilentNode{{Node: 0, SinceMillis: 5}, {Node: 9, SinceMillis: 5}, {Node: 1},
		{Node: 1, SinceMillis: -1}} {
		if _, events := r.do(&input.NodeSilence{Silent: []input.SilentNode{n}, Heard: []state.NodeSlot{0, 1, 9}}); len(
			events) > 0 {
			t.Errorf("%+v leads to %v", n, kindsOf(events))
		}
	}
	in := &input.NodeSilence{Silent: []input.SilentNode{{Node: 1, SinceMillis: 1 << 46}, {Node: 1, SinceMillis: 5}}}
	if _, events := r.do(in); !r.p.st.Nodes.Get(1).Silent() {
		t.Errorf("a time in the future leads to %v, want a mark as of now", kindsOf(events))
	}
}

// TestLateHeartbeatKeepsSilence checks that a late copy of a heartbeat does not show that the node is
// alive, and that the next heartbeat does.
func TestLateHeartbeatKeepsSilence(t *testing.T) {
	r := newRig(t)
	r.ok(&input.RegisterNode{ID: nodeNamed("n0"), Rack: "r", Total: yarn.NewResource(16384, 16), HeartbeatSession: 7})
	r.ok(&input.NodeHeartbeat{ID: nodeNamed("n0"), HeartbeatSession: 8, PrevSession: 7, Response: 5})
	r.ok(&input.NodeSilence{Silent: []input.SilentNode{{Node: 1, SinceMillis: 5}}})
	silent := func() bool { return r.p.st.Nodes.Get(1).Silent() }
	if reply, _ := r.do(&input.NodeHeartbeat{ID: nodeNamed("n0"), HeartbeatSession: 6, PrevSession: 7}); !reply.(*input.NodeHeartbeatReply).Late || !silent() {
		t.Errorf("late: %v, silent: %v", reply.(*input.NodeHeartbeatReply).Late, silent())
	}
	if r.do(&input.NodeHeartbeat{ID: nodeNamed("n0"), HeartbeatSession: 8, Response: 6}); silent() {
		t.Error("a heartbeat does not end the silence")
	}
}

// TestSilentNodeKeepsItsContainers checks that containers on a silent node go on, and that the sums of
// the cluster do not change.
func TestSilentNodeKeepsItsContainers(t *testing.T) {
	r := newRig(t).dialed()
	id := r.started(nil)
	before := r.p.st.Meta
	r.ok(&input.NodeSilence{Silent: []input.SilentNode{{Node: 1, SinceMillis: 5}}})
	after := &r.p.st.Meta
	if before.Cluster != after.Cluster || before.UsableNodes != after.UsableNodes ||
		r.app(id).AttemptState != state.AttemptActive || r.app(id).Live != 1 {
		t.Errorf("the cluster was %v, %d nodes, and is %v, %d nodes; %d containers", before.Cluster, before.UsableNodes,
			after.Cluster, after.UsableNodes, r.app(id).Live)
	}
}
