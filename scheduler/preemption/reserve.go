package preemption

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/yarn"
)

// reserveFor reserves the node of a set and warns its containers, if the limits of the
// beneficiary's queues and user allow the container after the set has ended. exchanged is a
// reservation of the beneficiary that is given up for it, or nil. reserveFor reports whether the
// beneficiary gets the room.
func (r *round) reserveFor(w beneficiary, set *victimSet, exchanged *state.Reservation) bool {
	st, o := r.s.State, &r.nodes[set.node]
	a, k := st.Apps.Get(w.app), st.Asks.Get(w.ask)
	found := r.sched.FindPlace(w.app, w.ask, o.node)
	if found.None() || r.sched.WhyNotReserve(a, k, st.Nodes.Get(o.node)) != scheduler.NoReason {
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
		r.sched.Cancel(exchanged.Number, yarn.CancelExchanged)
	}
	r.gain(w.leaf, k.Size, k.Size.Sub(released))
	o.taken = true
	if found.Allocates() {
		r.sched.AllocatePlace(&found) // only the cancelled reservation held the room
		return true
	}
	r.sched.ReservePlace(&found)
	r.sets--
	r.warn(w, set, st.Meta.NextReservation, cause)
	return true
}

// within reports whether the other leaves may lose the containers of a set and the reservation
// dropped, and whether the queues of the beneficiary allow a reservation of a size after that.
func (r *round) within(w beneficiary, size yarn.Resource, set *victimSet, dropped state.ReservationSlot) bool {
	victims := slices.Clone(set.victims)
	if dropped != 0 {
		res := r.s.State.Reservations.Get(dropped)
		victims = append(victims, victim{leaf: r.s.LeafOfReservation(res), size: res.Size, loses: res.Size})
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
func (e *entitlements) withinMaxima(leaf int32, size yarn.Resource) bool {
	return e.s.FullQueue(leaf, size, func(i int32) yarn.Resource { return e.s.Used(i).Sub(e.asked[i]) }) < 0
}

// ask adds (sign 1) or subtracts (sign −1) a size to or from the warned containers of a leaf and
// its ancestors.
func (e *entitlements) ask(leaf int32, size yarn.Resource, sign int64) {
	for i := leaf; i >= 0; i = e.s.Queues[i].Parent {
		e.asked[i] = e.asked[i].Add(size.Times(sign))
	}
}

// drop cancels a reservation of a queue above its guarantee.
func (r *round) drop(slot state.ReservationSlot) {
	res := r.s.State.Reservations.Get(slot)
	r.lose(r.s.LeafOf(r.s.State.Apps.Get(res.App)), res.Size)
	r.sched.Cancel(res.Number, yarn.CancelPreempted)
}

// warn warns the containers of a set.
func (r *round) warn(w beneficiary, set *victimSet, reservation uint64, cause yarn.PreemptionCause) {
	deadline := r.now + r.set.MaxWaitMillis
	switch {
	case r.inside != nil:
		cause = r.inside.cause(r.s.Views, set.victims)
	case r.ranked != nil:
		cause = yarn.PreemptQueuePriority
	case r.balances:
		cause, deadline = yarn.PreemptBalance, r.now+r.set.BalanceMaxWaitMillis
	}
	for _, v := range set.victims {
		r.sched.AskPreemption(v.container, event.PreemptionAsked{
			Reservation:    reservation,
			Queue:          r.s.Config.Queues[w.leaf].Path,
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
		r.gained(r.s.State.Reservations.Get(r.s.State.Reservations.Find(reservation)))
	}
}

// underOf returns how much a gaining leaf is below its guarantee, and overOf how much a losing leaf
// is above it. Both return nothing inside a leaf.
func (e *entitlements) underOf(leaf int32) (none yarn.Resource) {
	if e.inside != nil {
		return none
	}
	return e.leaves[leaf].under
}

func (e *entitlements) overOf(leaf int32) (none yarn.Resource) {
	if e.inside != nil {
		return none
	}
	return yarn.ComponentMax(e.leaves[leaf].over.Sub(e.leaves[leaf].lost), none)
}

// charge records that a container is to end.
func (e *entitlements) charge(v victim) {
	e.ask(v.leaf, v.size, 1)
	if e.inside != nil {
		e.inside.lose(e.s.Views, v)
	} else {
		e.lose(v.leaf, v.loses)
		e.leaves[v.leaf].ends = true
	}
	*e.budget = e.budget.Sub(v.size)
}

// lose records that a leaf loses a size.
func (e *entitlements) lose(leaf int32, size yarn.Resource) {
	b := &e.leaves[leaf]
	b.lost, b.take = b.lost.Add(size), b.take.Sub(size)
	if e.balance != nil {
		e.balance.lost[leaf] = e.balance.lost[leaf].Add(size)
	}
}

// gain records that a leaf gets a size. reserved is the part that is not reserved yet; the rest
// already counts as used.
func (e *entitlements) gain(leaf int32, size, reserved yarn.Resource) {
	if e.inside != nil {
		e.inside.gain(size, reserved)
		return
	}
	e.leaves[leaf].gain = e.leaves[leaf].gain.Sub(reserved)
	if e.balance != nil {
		e.balance.gained[leaf] = e.balance.gained[leaf].Add(reserved)
	}
}

// mayGain reports whether the leaf or, inside a leaf, the application that takes may get this size.
func (e *entitlements) mayGain(leaf int32, size yarn.Resource) bool {
	if e.inside != nil {
		return e.inside.mayGain(e.s.Config.Calculator, size)
	}
	if e.ranked != nil {
		return !e.ranked.partition.Satisfied(leaf, e.ranked.gained[leaf])
	}
	if e.balances {
		return e.s.Config.Calculator.FitsIn(size, e.balance.gain(leaf))
	}
	return e.s.Config.Calculator.FitsIn(size, e.leaves[leaf].gain)
}

func (r *round) victimsOf(slots []state.ContainerSlot) []victim {
	out := make([]victim, len(slots))
	for i, slot := range slots {
		out[i] = r.victimOf(slot)
	}
	return out
}
