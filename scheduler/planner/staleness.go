package planner

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// A report may reach the planner long after it was made: a door repeats what it
// could not bring to a leader, and a copy may lie in a connection until that is
// whole again. Meanwhile the node has gone on, at another door or by another
// call, and what the late copy says of its containers is wrong by now.
//
// A door therefore gives every unbroken run of a node's heartbeats, and every
// registration, a number of its own: a stay. A stay begins with a report that
// names the one before it, as the door knows it from the committed state; the
// planner takes that report only while that one is still the node's. Within a
// stay the response numbers tell the order. What has led to no event needs no
// mark: a copy of it that comes late leads to none either, as long as nothing
// that was taken in lies between.

// late says whether the node has been heard since a report was made.
func late(n *state.Node, in *input.NodeHeartbeat) bool {
	switch in.Stay {
	case 0: // the door sees to the order itself
		return false
	case n.Stay:
		return before(in.Response, n.Response)
	}
	return in.Before != n.Stay
}

// before says whether one response number is older than another; they count in
// a circle, as YARN's do.
func before(a, b int32) bool {
	d := uint32(b-a) & math.MaxInt32
	return d != 0 && d < 1<<30
}

// heard marks a report as taken in, when it begins a stay or has led to events.
func (p *Planner) heard(slot uint32, in *input.NodeHeartbeat) {
	if in.Stay == 0 {
		return
	}
	n := p.st.Nodes.Get(slot)
	if n.Stay != in.Stay || (len(p.sched.Events()) > 0 && n.Response != in.Response) {
		p.sched.Emit(&event.NodeHeard{Node: slot, Stay: in.Stay, Response: in.Response})
	}
}

// elsewhere refuses a registration of a node that has been heard since it was
// made.
func (p *Planner) elsewhere(slot uint32, in *input.RegisterNode) *input.Fault {
	if slot == 0 || in.Stay == 0 {
		return nil
	}
	if n := p.st.Nodes.Get(slot); in.Stay != n.Stay && in.Before != n.Stay {
		return heardElsewhere(in.ID)
	}
	return nil
}

func heardElsewhere(id yarn.NodeID) *input.Fault {
	return input.Faultf(input.NodeElsewhere, "call again", "node %s has registered or reported by another call since", id)
}
