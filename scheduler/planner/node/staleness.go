package node

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// A report may reach the planner long after the node sent it: a frontend repeats what it could not
// deliver to a leader, and a copy may wait in a connection. Meanwhile the node may have called
// another frontend or sent a newer report. Then the old report's statements about containers are
// wrong.
//
// Therefore a frontend gives a number, the HeartbeatSession, to each unbroken run of a node's
// heartbeats and to each registration. The first report of a session also has the number of the
// session before it, PrevSession, which the frontend reads from the committed state. The planner
// accepts that report only if PrevSession is still the node's session. Within a session, response
// numbers tell the order. A report that led to no events is not recorded: as long as no newer
// report was accepted, a copy of it leads to no events either.

// Stale reports whether the planner has accepted a report of the node that is newer than this one.
func Stale(n *state.Node, in *input.NodeHeartbeat) bool {
	switch in.HeartbeatSession {
	case 0: // the frontend delivers heartbeats in order
		return false
	case n.HeartbeatSession:
		return older(in.Response, n.Response)
	}
	return in.PrevSession != n.HeartbeatSession
}

// older reports whether response number a is older than b. Numbers wrap around, as YARN's do.
func older(a, b int32) bool {
	d := uint32(b-a) & math.MaxInt32
	return d != 0 && d < 1<<30
}

// heard records a report if it begins a session or has led to events.
func (rp *Reports) heard(slot state.NodeSlot, in *input.NodeHeartbeat) {
	if in.HeartbeatSession == 0 {
		return
	}
	n := rp.st.Nodes.Get(slot)
	if n.HeartbeatSession != in.HeartbeatSession || (len(rp.sched.Events()) > 0 && n.Response != in.Response) {
		rp.sched.Emit(&event.NodeHeard{Node: slot, HeartbeatSession: in.HeartbeatSession, Response: in.Response})
	}
}

// elsewhere refuses a registration if the planner has since accepted a report or registration of
// the node.
func (rp *Reports) elsewhere(slot state.NodeSlot, in *input.RegisterNode) *input.Refusal {
	if slot == 0 || in.HeartbeatSession == 0 {
		return nil
	}
	if n := rp.st.Nodes.Get(slot); in.HeartbeatSession != n.HeartbeatSession && in.PrevSession != n.HeartbeatSession {
		return heardElsewhere(in.ID)
	}
	return nil
}

func heardElsewhere(id yarn.NodeID) *input.Refusal {
	return input.Refusef(input.NodeElsewhere, "call again", "node %s has registered or reported by another call since", id)
}
