package state

import (
	"testing"

	"rmd/fsm/state/table"
	"rmd/yarn"
)

// TestMaximumAllocation checks that each kind of resource has its own largest node, and that only
// the last of several equal nodes lowers the maximum. TestMachine compares it with all nodes.
func TestMaximumAllocation(t *testing.T) {
	configured := yarn.NewResource(8192, 4)
	s := New()
	expect := func(when string, mb, vcores int64) {
		t.Helper()
		if got := s.Nodes.MaximumAllocation(configured); got != yarn.NewResource(mb, vcores) {
			t.Errorf("%s: %s, want %d MiB and %d vcores", when, got, mb, vcores)
		}
	}
	nodes := map[string]*Node{}
	set := func(name string, now yarn.NodeState, mb, vcores int64) {
		if nodes[name] == nil {
			slot, n := table.Alloc(&s.Nodes.Keyed.Table)
			_, nodes[name] = slot, n
		}
		n := nodes[name]
		s.changeCapacity(n, func() { n.State, n.Total = now, yarn.NewResource(mb, vcores) })
	}
	expect("no node", 8192, 4)
	set("a", yarn.NodeRunning, 4096, 2)
	expect("one node", 4096, 2)
	set("b", yarn.NodeRunning, 2048, 16)
	set("c", yarn.NodeRunning, 4096, 1)
	expect("three nodes", 4096, 4)
	set("a", yarn.NodeDecommissioning, 4096, 2)
	expect("another node of that size runs", 4096, 4)
	set("c", yarn.NodeRunning, 3000, 1)
	expect("smaller total", 3000, 4)
	set("b", yarn.NodeLost, 2048, 16)
	expect("one node", 3000, 1)
	set("c", yarn.NodeShutdown, 3000, 1)
	expect("only a node that drains", 8192, 4)
	set("b", yarn.NodeRunning, 0, 0)
	expect("a node without anything", 0, 0)
}
