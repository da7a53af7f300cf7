package scheduler

import (
	"rmd/fsm/state"
	"rmd/yarn"
)

// GangWait says why an application's gang waits.
type GangWait struct {
	Reason Reason // NoReason: the next pass starts it, unless another queue comes first
	Never  bool   // its members can never run together on the present nodes and in the present queues
	Fit    int64  // members that have room now, each counted alone
}

// WhyGangWaits returns why the gang of an ask has not started. The current partition must be that
// of the ask.
func (s *Scheduler) WhyGangWaits(app, ask uint32) GangWait {
	d := s.demandOf(app, ask)
	mine := func(n *state.Node) bool { return n.Reservation == 0 || s.st.Reservations.Get(n.Reservation).App == app }
	now := s.gangRoomIf(app, ask, mine, func(n *state.Node) yarn.Resource { return n.Unallocated() })
	w := GangWait{Reason: GangWaits, Fit: now.found}
	ever := s.gangRoomIf(app, ask, func(*state.Node) bool { return true }, func(n *state.Node) yarn.Resource { return n.Total })
	switch {
	case s.st.Gangs.Get(app).State == state.GangAsking:
		w.Reason = GangIncomplete
	case !s.gangFitsQueue(&d) || chooseMembers(&ever.g, ever.rooms, ever.limits) == nil:
		w.Reason, w.Never = GangNever, true
	case s.gangLimit(&d) != NoReason:
		w.Reason = s.gangLimit(&d)
	case s.gangFitsIn(0, &d) && chooseMembers(&now.g, now.rooms, now.limits) != nil:
		w.Reason = NoReason
	}
	return w
}

// gangRoomIf collects the room for members on all nodes for which may returns true. free returns
// the room of a node.
func (s *Scheduler) gangRoomIf(app, ask uint32, may func(*state.Node) bool, free func(*state.Node) yarn.Resource) *gangRooms {
	r := s.roomsFor(app, ask)
	k := s.st.Asks.Get(ask)
	s.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if n.Label == k.Label && may(n) {
			r.add(slot, free(n))
		}
		return true
	})
	return r
}
