package planner

import (
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestDrainNodes checks that either all nodes drain or none, and that a repeated input changes
// nothing.
func TestDrainNodes(t *testing.T) {
	h := newHouse(t, 4, true)
	at := h.run()
	h.beat(0, h.ask(at, 0, 1)...)
	states := func(want ...yarn.NodeState) {
		t.Helper()
		for i, s := range want {
			if got := h.node(i).State; got != s {
				t.Errorf("node %d is %s, want %s", i, got, s)
			}
		}
	}
	if f := h.refused(&input.DrainNodes{IDs: []yarn.NodeID{h.nodes[0], {Host: "nobody", Port: 1}}}); f == nil ||
		f.Reason != input.NoSuchNode {
		t.Errorf("with a node that is not known: %v", f)
	}
	if f := h.refused(&input.DrainNodes{}); f == nil || f.Reason != input.InvalidRequest {
		t.Errorf("without nodes: %v", f)
	}
	states(yarn.NodeRunning, yarn.NodeRunning, yarn.NodeRunning, yarn.NodeRunning)

	h.must(t, &input.DrainNode{ID: h.nodes[1]})
	h.must(t, &input.DrainNode{ID: h.nodes[2], Now: true})
	in := &input.DrainNodes{IDs: []yarn.NodeID{h.nodes[0], h.nodes[1], h.nodes[2], h.nodes[0]},
		DeadlineMillis: h.now + 60_000}
	for range 2 {
		h.must(t, in)
		states(yarn.NodeDecommissioning, yarn.NodeDecommissioning, yarn.NodeDecommissioned, yarn.NodeRunning)
		if a, b := h.node(0).DeadlineMillis, h.node(1).DeadlineMillis; a != in.DeadlineMillis || b != in.DeadlineMillis {
			t.Errorf("until %d and %d, want %d", a, b, in.DeadlineMillis)
		}
	}
	h.now++
	if _, events := h.p.Plan(h.now, input.Request{Input: in, Caller: input.Caller{Who: "op"}}); len(events) > 1 {
		t.Errorf("the third time: %v", kindsOf(events))
	}
}

// TestDrainOfARestartedNode checks that a draining node whose NodeManager registers again keeps its
// total at what it uses, and stays as long as it says that it keeps something of an application.
func TestDrainOfARestartedNode(t *testing.T) {
	h := newHouse(t, 2, true)
	at := h.run()
	ids := h.ask(at, 0, 1)
	h.beat(0, ids...)
	h.must(t, &input.DrainNode{ID: h.nodes[0]})
	h.register(0, true, ids...)
	if n := h.node(0); n.State != yarn.NodeDecommissioning || n.Count != 1 || n.Total != n.Allocated {
		t.Fatalf("with its container it is %s and has %s of %s", n.State, n.Allocated, n.Total)
	}
	h.beat(0)
	h.finish(at)
	in := &input.RegisterNode{ID: h.nodes[0], Rack: "r", Total: yarn.NewResource(8192, 8), NodeManager: true,
		Running: []yarn.ApplicationID{at.App}}
	h.must(t, in)
	if n := h.node(0); n.State != yarn.NodeDecommissioning || !n.Total.IsZero() {
		t.Fatalf("with an application that has ended it is %s and has a total of %s", n.State, n.Total)
	}
	in.Running = nil
	h.must(t, in)
	if n := h.node(0); n.State != yarn.NodeDecommissioned {
		t.Errorf("with nothing it is %s", n.State)
	}
}
