package node

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Silence marks nodes that have missed heartbeats, and ends the marks of nodes that are heard
// again. A silent node loses its reservation, so that the ask may reserve or be served elsewhere at
// once. Its containers stay until the node is lost.
//
// YARN keeps the reservation, which blocks the ask for as long as the node is silent.
func (rp *Reports) Silence(in *input.NodeSilence) input.Reply {
	for _, n := range in.Silent {
		since := min(n.SinceMillis, rp.sched.Now())
		if since > 0 && rp.st.Nodes.Has(n.Node) && rp.st.Nodes.Get(n.Node).Heard() && !rp.st.Nodes.Get(n.Node).Silent() {
			rp.sched.CancelOnNode(n.Node, yarn.CancelNodeSilent)
			rp.sched.Emit(&event.NodeSilenceChanged{Node: n.Node, SinceMillis: since})
		}
	}
	for _, n := range in.Heard {
		if rp.st.Nodes.Has(n) {
			rp.heardAgain(n)
		}
	}
	return in.NewReply()
}

// heardAgain ends the mark of a silent node, before anything is allocated there. Its room counts as
// freed, because asks that wait may fit.
func (rp *Reports) heardAgain(node state.NodeSlot) {
	if rp.st.Nodes.Get(node).Silent() {
		rp.sched.Emit(&event.NodeSilenceChanged{Node: node})
		rp.sched.NodeFreed(node)
	}
}
