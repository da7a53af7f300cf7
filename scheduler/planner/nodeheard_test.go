package planner

import (
	"fmt"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/node"
	"rmd/yarn"
)

// heardPlant returns a plant with idle nodes, or with full nodes and unserved asks. all is one
// batch of heartbeats of all nodes.
func heardPlant(tb testing.TB, full bool) (w *plant, all *input.NodesHeard) {
	w, all = newPlant(tb, plantSize{1000, 100, 1000, 8, false, 0}, Options{}), &input.NodesHeard{}
	if full {
		w.demand(tb, yarn.NewResource(2048, 1))
		for range 3000 {
			w.must(tb, &input.NodeHeartbeat{ID: w.nodes[w.next%1000]})
			w.next++
		}
	}
	for _, id := range w.nodes {
		all.Nodes = append(all.Nodes, w.p.st.Nodes.Find(id))
	}
	return w, all
}

// BenchmarkNodesHeard measures the heartbeat of a node that reports nothing, in a batch of a
// thousand. The budget is 100 ns per node, and no allocation except the one reply.
func BenchmarkNodesHeard(b *testing.B) {
	for _, kind := range []string{"idle", "full"} {
		b.Run(kind, func(b *testing.B) {
			w, all := heardPlant(b, kind == "full")
			req := input.Request{Input: all}
			b.ReportAllocs()
			for b.Loop() {
				if _, events := w.p.Plan(w.now, req); len(events) > 0 {
					b.Fatalf("idle heartbeats led to %v", kindsOf(events))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(all.Nodes)), "ns/node")
		})
	}
}

func TestNodesHeardAllocatesNothing(t *testing.T) {
	for _, full := range []bool{false, true} {
		w, all := heardPlant(t, full)
		req := input.Request{Input: all}
		n := testing.AllocsPerRun(10, func() {
			if _, events := w.p.Plan(w.now, req); len(events) > 0 {
				t.Fatalf("idle heartbeats led to %v", kindsOf(events))
			}
		})
		if n > 1 {
			t.Errorf("full: %v: a batch of %d idle nodes allocates %v times", full, len(all.Nodes), n)
		}
	}
}

// TestNodesHeardEqualsHeartbeats checks that a batch leads to the same events as one heartbeat per
// node.
func TestNodesHeardEqualsHeartbeats(t *testing.T) {
	size := plantSize{20, 3, 20, 4, false, 0}
	one, other := newPlant(t, size, Options{}), newPlant(t, size, Options{})
	for _, w := range []*plant{one, other} {
		w.demand(t, yarn.NewResource(2048, 1))
		for i := range w.nodes {
			if i%5 == 0 {
				w.must(t, &input.DrainNode{ID: w.nodes[i]}) // an empty node that drains is decommissioned on its turn
			}
		}
	}
	all := &input.NodesHeard{Nodes: []state.NodeSlot{0, 999_999}}
	now := one.now + 1
	var beats []byte
	for _, id := range one.nodes {
		_, events := one.p.Plan(now, input.Request{Input: &input.NodeHeartbeat{ID: id}})
		beats = append(beats, fmt.Sprint(kindsOf(events))...)
		all.Nodes = append(all.Nodes, one.p.st.Nodes.Find(id))
	}
	reply, events := other.p.Plan(now, input.Request{Input: all})
	if reply.Refused() != nil || len(events) < 50 {
		t.Fatalf("%v, %d events for %d nodes", reply.Refused(), len(events), len(one.nodes))
	}
	if one.p.st.Digest() != other.p.st.Digest() {
		t.Errorf("heartbeats led to\n%s\nthe batch to\n%v", beats, kindsOf(events))
	}
	if got := other.p.st.Nodes.Get(other.p.st.Nodes.Find(other.nodes[5])).State; got != yarn.NodeDecommissioned {
		t.Errorf("an empty node that drains is %s after its turn", got)
	}
}

// TestNodesHeardIsBounded checks that one batch does not lead to more events than a log entry can
// hold.
func TestNodesHeardIsBounded(t *testing.T) {
	w, all := heardPlant(t, false)
	w.demand(t, yarn.NewResource(1024, 1))
	var total int
	for range 100 {
		_, events := w.p.Plan(w.now, input.Request{Input: all})
		if len(events) > node.HeardEvents+1000 {
			t.Fatalf("one batch led to %d events", len(events))
		}
		if total += len(events); len(events) == 0 {
			break
		}
	}
	if w.p.st.Containers.Len() != 16_000 {
		t.Errorf("%d containers after batches that led to %d events", w.p.st.Containers.Len(), total)
	}
}

// BenchmarkPlanDialed is BenchmarkPlan on Hadoop's NodeManagers. It shows what the table
// NodeApplications costs.
func BenchmarkPlanDialed(b *testing.B) {
	w := newPlant(b, plantSize{1000, 100, 1000, 8, false, 0}, Options{})
	for _, id := range w.nodes {
		w.must(b, &input.RegisterNode{ID: id, Rack: "r", Total: yarn.NewResource(8*2048, 64), NodeManager: true})
	}
	w.demand(b, yarn.NewResource(2048, 1))
	for range 3000 {
		w.turn(b)
	}
	before := w.decisions()
	b.ReportAllocs()
	for b.Loop() {
		w.turn(b)
	}
	n := w.decisions() - before
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "decisions/s")
}
