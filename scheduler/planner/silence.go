package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// nodeSilence marks nodes that have missed heartbeats, and ends the marks of nodes that are heard
// again. A silent node loses its reservation, so that the ask may reserve or be served elsewhere at
// once. Its containers stay until the node is lost.
//
// YARN keeps the reservation, which blocks the ask for as long as the node is silent.
func (p *Planner) nodeSilence(in *input.NodeSilence) input.Reply {
	for _, n := range in.Silent {
		since := min(n.SinceMillis, p.now)
		if since > 0 && p.st.Nodes.Has(n.Node) && p.st.Nodes.Get(n.Node).Heard() && !p.st.Nodes.Get(n.Node).Silent() {
			p.sched.CancelOnNode(n.Node, yarn.CancelNodeSilent)
			p.sched.Emit(&event.NodeSilenceChanged{Node: n.Node, SinceMillis: since})
		}
	}
	for _, n := range in.Heard {
		if p.st.Nodes.Has(n) {
			p.heardAgain(n)
		}
	}
	return in.NewReply()
}

// heardAgain ends the mark of a silent node, before anything is allocated there. Its room counts as
// freed, because asks that wait may fit.
func (p *Planner) heardAgain(node state.NodeSlot) {
	if p.st.Nodes.Get(node).Silent() {
		p.sched.Emit(&event.NodeSilenceChanged{Node: node})
		p.sched.NodeFreed(node)
	}
}
