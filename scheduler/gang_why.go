package scheduler

import (
	"rmd/fsm/state"
)

// GangWait says why an application's gang waits.
type GangWait struct {
	Reason Reason // NoReason: there is room for all of them
	Never  bool   // its members can never run together on the nodes that the cluster knows and in its queues
	Fit    int64  // members that have room now, each counted alone
}

// WhyGangWaits returns why the gang of an ask has not started.
func (s *Scheduler) WhyGangWaits(app state.AppSlot, ask state.AskSlot) GangWait {
	d := s.demandOf(app, ask)
	now, ever := s.roomsFor(app, ask), s.roomsFor(app, ask)
	k := s.State.Asks.Get(ask)
	v := pass{View: s.On(s.Partitions[k.Label]), s: s}
	s.State.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if n.Label != k.Label {
			return true
		}
		if n.Reservation == 0 || s.State.Reservations.Get(n.Reservation).App == app {
			now.add(slot, n.Unallocated())
		}
		switch {
		case n.Serving():
			ever.addRoom(slot, n.Total)
		case MayReturn(n):
			ever.addRoom(slot, d.size)
		}
		return true
	})
	w := GangWait{Reason: GangWaits, Fit: now.found}
	switch {
	case s.State.Gangs.Get(app).State == state.GangAsking:
		w.Reason = GangIncomplete
	case s.NeverWithin(d.leaf, k.Label, d.size) || chooseMembers(&ever.g, ever.rooms, ever.limits) == nil:
		w.Reason, w.Never = GangNever, true
	case v.gangLimit(&d) != NoReason:
		w.Reason = v.gangLimit(&d)
	case v.gangFitsIn(0, &d) && chooseMembers(&now.g, now.rooms, now.limits) != nil:
		w.Reason = NoReason
	default:
		hold := s.question(func() Reason { return v.holdGang(&d, ask).why })
		if hold != NoReason { // else it will hold nodes
			w.Reason = hold
		}
	}
	return w
}
