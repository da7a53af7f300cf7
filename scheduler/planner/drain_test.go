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
