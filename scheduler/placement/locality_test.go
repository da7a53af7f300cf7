package placement

import (
	"testing"

	"pgregory.net/rapid"

	"rmd/yarn"
)

func TestMayGo(t *testing.T) {
	delay := func(opp, outstanding, entries, nodes, node, rack int64) Delay {
		return Delay{Opportunities: opp, Outstanding: outstanding, Entries: entries, Nodes: nodes, NodeDelay: node, RackDelay: rack}
	}
	for _, c := range []struct {
		at         yarn.Locality
		d          Delay
		fulfilment bool
		want       bool
	}{
		{yarn.NodeLocal, delay(0, 1, 3, 100, 40, -1), false, true},
		{yarn.RackLocal, delay(40, 1, 3, 100, 40, -1), false, false},
		{yarn.RackLocal, delay(41, 1, 3, 100, 40, -1), false, true},
		{yarn.RackLocal, delay(3, 1, 3, 3, 40, -1), false, false}, // no more than the cluster has nodes
		{yarn.RackLocal, delay(4, 1, 3, 3, 40, -1), false, true},
		{yarn.RackLocal, delay(0, 1, 3, 100, -1, -1), false, true}, // no delay
		{yarn.RackLocal, delay(0, 1, 3, 100, 40, -1), true, false}, // a fulfilment waits for its rack like others
		{yarn.OffSwitch, delay(0, 9, 1, 100, 40, -1), false, true}, // "*" alone
		{yarn.OffSwitch, delay(0, 9, 5, 100, 40, -1), true, true},  // a fulfilment
		{yarn.OffSwitch, delay(3, 3, 5, 3, 40, -1), false, false},  // scenario 38
		{yarn.OffSwitch, delay(4, 3, 5, 3, 40, -1), false, true},
		{yarn.OffSwitch, delay(1, 10, 11, 100, 40, -1), false, false}, // 10 · 10/100 = 1
		{yarn.OffSwitch, delay(2, 10, 11, 100, 40, -1), false, true},
		{yarn.OffSwitch, delay(3, 9, 3, 5, 2, 1), false, false}, // scenario 40
		{yarn.OffSwitch, delay(4, 9, 3, 5, 2, 1), false, true},
		{yarn.OffSwitch, delay(5, 9, 3, 5, 2, 10), false, false},
		{yarn.OffSwitch, delay(6, 9, 3, 5, 2, 10), false, true},
	} {
		if got := MayGo(c.at, c.d, c.fulfilment); got != c.want {
			t.Errorf("%s %+v fulfilment %v: %v", c.at, c.d, c.fulfilment, got)
		}
	}
}

// A further visit never takes a level away, and a request that may go off its
// rack after enough visits does so after as many as there are nodes.
func TestMoreVisitsNeverHarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Delay{Opportunities: rapid.Int64Range(0, 50).Draw(t, "visits"), Outstanding: rapid.Int64Range(1, 1_000_000).Draw(t, "asked"),
			Entries: rapid.Int64Range(1, 50).Draw(t, "names"), Nodes: rapid.Int64Range(1, 40).Draw(t, "nodes"),
			NodeDelay: rapid.Int64Range(-1, 60).Draw(t, "node delay"), RackDelay: rapid.Int64Range(-1, 60).Draw(t, "rack delay")}
		for _, at := range []yarn.Locality{yarn.NodeLocal, yarn.RackLocal, yarn.OffSwitch} {
			more := d
			more.Opportunities++
			if MayGo(at, d, false) && !MayGo(at, more, false) {
				t.Fatalf("%s is allowed by %+v and not after one visit more", at, d)
			}
			more.Opportunities = d.Nodes + 1
			if !MayGo(at, more, false) {
				t.Fatalf("%s is not allowed by %+v", at, more)
			}
		}
	})
}
