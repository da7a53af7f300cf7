package scheduler

import (
	"testing"

	"pgregory.net/rapid"

	"rmd/yarn"
)

func TestLocalityDelay(t *testing.T) {
	after := func(opp, outstanding, entries, nodes, node, rack int64) delay {
		return delay{opportunities: opp, outstanding: outstanding, entries: entries, nodes: nodes, nodeDelay: node,
			rackDelay: rack}
	}
	for _, c := range []struct {
		at          yarn.Locality
		d           delay
		fulfillment bool
		want        bool
	}{
		{yarn.NodeLocal, after(0, 1, 3, 100, 40, -1), false, true},
		{yarn.RackLocal, after(40, 1, 3, 100, 40, -1), false, false},
		{yarn.RackLocal, after(41, 1, 3, 100, 40, -1), false, true},
		{yarn.RackLocal, after(3, 1, 3, 3, 40, -1), false, false}, // at most as many offers as the cluster has nodes
		{yarn.RackLocal, after(4, 1, 3, 3, 40, -1), false, true},
		{yarn.RackLocal, after(0, 1, 3, 100, -1, -1), false, true}, // no delay
		{yarn.RackLocal, after(0, 1, 3, 100, 40, -1), true, false}, // a fulfillment waits for its rack as well
		{yarn.OffSwitch, after(0, 9, 1, 100, 40, -1), false, true}, // "*" alone
		{yarn.OffSwitch, after(0, 9, 5, 100, 40, -1), true, true},  // a fulfillment
		{yarn.OffSwitch, after(3, 3, 5, 3, 40, -1), false, false},  // scenario 38
		{yarn.OffSwitch, after(4, 3, 5, 3, 40, -1), false, true},
		{yarn.OffSwitch, after(1, 10, 11, 100, 40, -1), false, false}, // 10 · 10/100 = 1
		{yarn.OffSwitch, after(2, 10, 11, 100, 40, -1), false, true},
		{yarn.OffSwitch, after(3, 9, 3, 5, 2, 1), false, false}, // scenario 40
		{yarn.OffSwitch, after(4, 9, 3, 5, 2, 1), false, true},
		{yarn.OffSwitch, after(5, 9, 3, 5, 2, 10), false, false},
		{yarn.OffSwitch, after(6, 9, 3, 5, 2, 10), false, true},
	} {
		if got := c.d.allows(c.at, c.fulfillment); got != c.want {
			t.Errorf("%s %+v fulfillment %v: %v", c.at, c.d, c.fulfillment, got)
		}
	}
}

// TestLocalityDelayMonotonic checks that a further offer never disallows a locality, and that a
// request that may leave its rack after enough offers may do so after as many offers as there are
// nodes.
func TestLocalityDelayMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := delay{opportunities: rapid.Int64Range(0, 50).Draw(t, "visits"),
			outstanding: rapid.Int64Range(1, 1_000_000).Draw(t, "asked"),
			entries:     rapid.Int64Range(1, 50).Draw(t, "names"), nodes: rapid.Int64Range(1, 40).Draw(t, "nodes"),
			nodeDelay: rapid.Int64Range(-1, 60).Draw(t, "node delay"), rackDelay: rapid.Int64Range(-1, 60).Draw(t, "rack delay")}
		for _, at := range []yarn.Locality{yarn.NodeLocal, yarn.RackLocal, yarn.OffSwitch} {
			more := d
			more.opportunities++
			if d.allows(at, false) && !more.allows(at, false) {
				t.Fatalf("%s is allowed by %+v and not after one visit more", at, d)
			}
			more.opportunities = d.nodes + 1
			if !more.allows(at, false) {
				t.Fatalf("%s is not allowed by %+v", at, more)
			}
		}
	})
}
