package node

import (
	"rmd/fsm/state"
	"rmd/scheduler/planner/due"
)

// A NodeManager without a fixed port registers as a new node at each start, and its old node would
// stay in all lists for ever. So an inactive node is forgotten after a while if its host has another
// node: one that is not inactive, or one that registered later. One entry of each host remains.

// forgottenPerTick limits the nodes that one Tick forgets, because each is looked for in all
// applications. The others follow a second later.
const forgottenPerTick = 20

// ReplacedAt returns when the first node that was replaced is to be forgotten. It skips nodes that
// are due and that AMs have yet to be told of.
func (ns *Nodes) ReplacedAt() int64 {
	first := int64(due.Never)
	ns.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if end := ns.replacedEnd(slot, n); end < first && (end > ns.sched.Now() || ns.st.Forgettable(slot)) {
			first = end
		}
		return first > ns.sched.Now()
	})
	return first
}

// replacedEnd returns when a node is to be forgotten, or never if it was not replaced.
func (ns *Nodes) replacedEnd(slot state.NodeSlot, n *state.Node) int64 {
	if n.Heard() || !ns.sched.Replaced(slot) {
		return due.Never
	}
	return n.LastHeardMillis + ns.sched.Config.NodeReplacedMillis
}

func (ns *Nodes) ForgetReplaced() {
	var ended []state.NodeSlot
	ns.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if ns.replacedEnd(slot, n) <= ns.sched.Now() && ns.st.Forgettable(slot) {
			ended = append(ended, slot)
		}
		return len(ended) < forgottenPerTick
	})
	for _, slot := range ended {
		ns.drop(slot)
	}
}
