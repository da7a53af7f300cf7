package planner

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// A report may reach the planner long after it was made. A frontend repeats what it could not bring to
// a leader, and a copy may wait in a connection. Meanwhile the node has gone on, at another frontend or
// by another call, and what the stale copy says of its containers is wrong.
//
// A frontend therefore numbers every unbroken run of a node's heartbeats, and every registration. Such a
// session (HeartbeatSession) begins with a report that names the session before it (PrevSession), as the
// committed state has it; the planner accepts that report only while that one is still the node's. Within
// a session the response numbers tell the order. What led to no event needs no mark: a stale copy of it
// leads to none either, as long as nothing that was accepted lies between.

// stale says whether the node has been heard since a report was made.
func stale(n *state.Node, in *input.NodeHeartbeat) bool {
	switch in.HeartbeatSession {
	case 0: // the frontend keeps the order itself
		return false
	case n.HeartbeatSession:
		return older(in.Response, n.Response)
	}
	return in.PrevSession != n.HeartbeatSession
}

// older says whether one response number is older than another; they count in
// a circle, as YARN's do.
func older(a, b int32) bool {
	d := uint32(b-a) & math.MaxInt32
	return d != 0 && d < 1<<30
}

// heard marks a report as taken in, when it begins a session or has led to events.
func (p *Planner) heard(slot uint32, in *input.NodeHeartbeat) {
	if in.HeartbeatSession == 0 {
		return
	}
	n := p.st.Nodes.Get(slot)
	if n.HeartbeatSession != in.HeartbeatSession || (len(p.sched.Events()) > 0 && n.Response != in.Response) {
		p.sched.Emit(&event.NodeHeard{Node: slot, HeartbeatSession: in.HeartbeatSession, Response: in.Response})
	}
}

// elsewhere refuses a registration of a node that has been heard since it was
// made.
func (p *Planner) elsewhere(slot uint32, in *input.RegisterNode) *input.Fault {
	if slot == 0 || in.HeartbeatSession == 0 {
		return nil
	}
	if n := p.st.Nodes.Get(slot); in.HeartbeatSession != n.HeartbeatSession && in.PrevSession != n.HeartbeatSession {
		return heardElsewhere(in.ID)
	}
	return nil
}

func heardElsewhere(id yarn.NodeID) *input.Fault {
	return input.Faultf(input.NodeElsewhere, "call again", "node %s has registered or reported by another call since", id)
}
