package scheduler

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// reserveFor reserves the node of a set and warns its containers, if the limits of the
// beneficiary's queues and user allow the container after the set has ended. exchanged is a
// reservation of the beneficiary that is given up for it, or nil. reserveFor reports whether the
// beneficiary gets the room.
func (r *preemptionRound) reserveFor(w beneficiary, set *preemptionSet, exchanged *state.Reservation) bool {
	st, o := r.s.st, &r.nodes[set.node]
	a, k := st.Apps.Get(w.app), st.Asks.Get(w.ask)
	on := pass{View: r.s}
	d := on.place(w.app, w.ask, o.node, &Limits{}, true)
	if d.state < stateAllocated || !r.s.mayReserve(a, k, st.Nodes.Get(o.node)) {
		return false
	}
	var released yarn.Resource
	if exchanged != nil {
		released = exchanged.Size
	}
	if !r.within(w, k.Size.Sub(released), set, o.reservation) {
		return false
	}
	if o.reservation != 0 {
		r.drop(o.reservation)
	}
	cause := yarn.PreemptGuarantee
	if exchanged != nil {
		cause = yarn.PreemptReservation
		r.s.cancel(exchanged.Number, yarn.CancelExchanged)
	}
	r.gain(w.leaf, k.Size, k.Size.Sub(released))
	o.taken = true
	if d.state == stateAllocated {
		on.allocateNow(&d) // only the cancelled reservation held the room
		return true
	}
	r.s.reserve(&d, k.AM)
	r.sets--
	r.warn(w, set, st.Meta.NextReservation, cause)
	return true
}

// allocateNow allocates room that a cancelled reservation held. The next pass would begin with the
// application that is first in the order of queues. That may be the one that held the reservation: it
// would reserve again, and each round would cancel what the pass before it has made.
func (p *pass) allocateNow(d *decision) {
	if p.accept(d) {
		p.commit(d)
	}
}

// within reports whether the other leaves may lose the containers of a set and the reservation
// dropped, and whether the queues of the beneficiary allow a reservation of a size after that.
func (r *preemptionRound) within(w beneficiary, size yarn.Resource, set *preemptionSet, dropped state.ReservationSlot) bool {
	victims := slices.Clone(set.victims)
	if dropped != 0 {
		res := r.s.st.Reservations.Get(dropped)
		victims = append(victims, victim{leaf: r.s.leafOfReservation(res), size: res.Size, loses: res.Size})
	}
	for _, v := range victims {
		r.ask(v.leaf, v.size, 1)
	}
	ok := r.mayLose(victims) || len(set.victims) == 0 && dropped != 0 && r.givesWay(dropped, w)
	ok = ok && r.withinMaxima(w.leaf, size) && (r.inside == nil || r.inside.withinUserLimit(&r.s, victims))
	for _, v := range victims {
		r.ask(v.leaf, v.size, -1)
	}
	return ok
}

// withinMaxima reports whether a leaf and its ancestors stay within their maxima with an additional
// size, after all warned containers have ended.
func (r *preemptionRound) withinMaxima(leaf int32, size yarn.Resource) bool {
	for i := leaf; i >= 0; i = r.s.queues[i].parent {
		if !r.s.cfg.Calculator.FitsIn(r.s.used(i).Add(size).Sub(r.asked[i]), r.s.at.tree.Capacities[i].EffMax) {
			return false
		}
	}
	return true
}

// ask adds (sign 1) or subtracts (sign −1) a size to or from the warned containers of a leaf and
// its ancestors.
func (r *preemptionRound) ask(leaf int32, size yarn.Resource, sign int64) {
	for i := leaf; i >= 0; i = r.s.queues[i].parent {
		r.asked[i] = r.asked[i].Add(size.Times(sign))
	}
}

// drop cancels a reservation of a queue above its guarantee.
func (r *preemptionRound) drop(slot state.ReservationSlot) {
	res := r.s.st.Reservations.Get(slot)
	r.lose(r.s.LeafOf(r.s.st.Apps.Get(res.App)), res.Size)
	r.s.cancel(res.Number, yarn.CancelPreempted)
}

// warn warns the containers of a set.
func (r *preemptionRound) warn(w beneficiary, set *preemptionSet, reservation uint64, cause yarn.PreemptionCause) {
	deadline := r.s.now + r.set.MaxWaitMillis
	switch {
	case r.inside != nil:
		cause = r.inside.cause(r.s.Scheduler, set.victims)
	case r.ranked != nil:
		cause = yarn.PreemptQueuePriority
	case r.balances:
		cause, deadline = yarn.PreemptBalance, r.s.now+r.set.BalanceMaxWaitMillis
	}
	for _, v := range set.victims {
		r.s.AskPreemption(v.container, event.PreemptionAsked{
			Reservation:    reservation,
			Queue:          r.s.cfg.Queues[w.leaf].Path,
			Cause:          cause,
			DeadlineMillis: deadline,
			Under:          r.underOf(w.leaf),
			Over:           r.overOf(v.leaf),
			Sets:           set.compared,
			Cost:           set.cost,
		})
	}
	for _, v := range set.victims {
		r.charge(v)
	}
	if r.inside == nil && len(set.victims) > 0 {
		r.gained(r.s.st.Reservations.Get(r.s.st.Reservations.Find(reservation)))
	}
}

// underOf returns how much a gaining leaf is below its guarantee, and overOf how much a losing leaf
// is above it. Both return nothing inside a leaf.
func (r *preemptionRound) underOf(leaf int32) (none yarn.Resource) {
	if r.inside != nil {
		return none
	}
	return r.leaves[leaf].under
}

func (r *preemptionRound) overOf(leaf int32) (none yarn.Resource) {
	if r.inside != nil {
		return none
	}
	return yarn.ComponentMax(r.leaves[leaf].over.Sub(r.leaves[leaf].lost), none)
}

// charge records that a container is to end.
func (r *preemptionRound) charge(v victim) {
	r.ask(v.leaf, v.size, 1)
	if r.inside != nil {
		r.inside.lose(r.s.Scheduler, v)
	} else {
		r.lose(v.leaf, v.loses)
		r.leaves[v.leaf].ends = true
	}
	*r.budget = r.budget.Sub(v.size)
}

// lose records that a leaf loses a size.
func (r *preemptionRound) lose(leaf int32, size yarn.Resource) {
	b := &r.leaves[leaf]
	b.lost, b.take = b.lost.Add(size), b.take.Sub(size)
	if r.balance != nil {
		r.balance.lost[leaf] = r.balance.lost[leaf].Add(size)
	}
}

// gain records that a leaf gets a size. reserved is the part that is not reserved yet; the rest
// already counts as used.
func (r *preemptionRound) gain(leaf int32, size, reserved yarn.Resource) {
	if r.inside != nil {
		r.inside.gain(size, reserved)
		return
	}
	r.leaves[leaf].gain = r.leaves[leaf].gain.Sub(reserved)
	if r.balance != nil {
		r.balance.gained[leaf] = r.balance.gained[leaf].Add(reserved)
	}
}

// mayGain reports whether the leaf or, inside a leaf, the application that takes may get this size.
func (r *preemptionRound) mayGain(leaf int32, size yarn.Resource) bool {
	if r.inside != nil {
		return r.inside.mayGain(r.s.cfg.Calculator, size)
	}
	if r.ranked != nil {
		return !r.ranked.partition.Satisfied(leaf, r.ranked.gained[leaf])
	}
	if r.balances {
		return r.s.cfg.Calculator.FitsIn(size, r.balance.gain(leaf))
	}
	return r.s.cfg.Calculator.FitsIn(size, r.leaves[leaf].gain)
}

func (r *preemptionRound) victimsOf(slots []state.ContainerSlot) []victim {
	out := make([]victim, len(slots))
	for i, slot := range slots {
		out[i] = r.victimOf(slot)
	}
	return out
}
