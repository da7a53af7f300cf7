package planner

import "rmd/fsm/state"

// A NodeManager without a fixed port registers as a new node at each start, and its old node would
// stay in all lists for ever. So an inactive node is forgotten after a while if its host has another
// node: one that is not inactive, or one that registered later. One entry of each host remains.

// forgottenPerTick limits the nodes that one Tick forgets, because each is looked for in all
// applications. The others follow a second later.
const forgottenPerTick = 20

// replacedAt returns when the first node that was replaced is to be forgotten. It skips nodes that
// are due and that AMs have yet to be told of.
func (p *Planner) replacedAt() int64 {
	first := int64(never)
	p.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if end := p.replacedEnd(slot, n); end < first && (end > p.now || p.st.Forgettable(slot)) {
			first = end
		}
		return first > p.now
	})
	return first
}

// replacedEnd returns when a node is to be forgotten, or never if it was not replaced.
func (p *Planner) replacedEnd(slot state.NodeSlot, n *state.Node) int64 {
	if n.Heard() || !p.sched.Replaced(slot) {
		return never
	}
	return n.LastHeardMillis + p.Config().NodeReplacedMillis
}

func (p *Planner) forgetReplaced() {
	var due []state.NodeSlot
	p.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if p.replacedEnd(slot, n) <= p.now && p.st.Forgettable(slot) {
			due = append(due, slot)
		}
		return len(due) < forgottenPerTick
	})
	for _, slot := range due {
		p.dropNode(slot)
	}
}
