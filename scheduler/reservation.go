package scheduler

import (
	"math/bits"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// A reservation keeps a node for an ask that does not fit there yet. This file has its whole life:
//
//	made          reserve      a pass finds the node too full, and nothing forbids a reservation
//	re-reserved   fulfill      at the node's heartbeat it is still too full; backfill.go may lend idle room
//	fulfilled     fulfill      the node has room: the reservation becomes a container
//	exchanged     exchanged    its application gives it up for an allocation elsewhere
//	moved         moveReservation  another node is expected to have room sooner
//	cancelled     cancel…      by blacklist, node, ask, size, attempt, operator or limit
//
// Package planner calls the exported functions. If an application moves to another queue, the state
// moves its reservations too.

// reserve makes a reservation. accept has already checked the limits.
func (s *Scheduler) reserve(d *decision, am bool) {
	next := s.State.Meta.NextReservation + 1
	if d.increaseOf != 0 {
		s.Emit(&event.ResizeReserved{Reservation: next, Container: s.State.Apps.Ref(s.State.Containers.Get(d.increaseOf))})
		return
	}
	a := s.State.Apps.Get(d.app)
	s.Emit(&event.ReservationMade{Reservation: next, App: a.ID.Seq, Number: s.State.Meta.NextNumber(a), Key: d.key,
		Node: d.node, AM: am})
}

// A Place is what an ask could get on a node, whatever the limits are: the node as a reservation, a
// container, or nothing.
type Place struct {
	decision
	am bool
}

// FindPlace returns what an ask could get on a node, as the pass does that fulfills a reservation.
func (s *Scheduler) FindPlace(app state.AppSlot, ask state.AskSlot, node state.NodeSlot) Place {
	p := s.passOn(s.State.Nodes.Get(node))
	return Place{p.place(app, ask, node, &Limits{}, true), s.State.Asks.Get(ask).AM}
}

// None reports whether the ask can have neither the node nor a container there.
func (p *Place) None() bool { return p.state < stateAllocated }

// Allocates reports whether the node has the room for a container now.
func (p *Place) Allocates() bool { return p.state == stateAllocated }

// ReservePlace reserves a node.
func (s *Scheduler) ReservePlace(p *Place) { s.reserve(&p.decision, p.am) }

// AllocatePlace allocates room that a cancelled reservation held. The next pass would begin with the
// application that is first in the order of queues. That may be the one that held the reservation: it
// would reserve again, and each round of preemption would cancel what the pass before it has made.
func (s *Scheduler) AllocatePlace(p *Place) {
	if on := s.passOn(s.State.Nodes.Get(p.node)); on.accept(&p.decision) {
		on.commit(&p.decision)
	}
}

// WhyNotReserve returns which limit on reservations refuses an ask another one on a node, or NoReason.
func (s *rules) WhyNotReserve(a *state.App, k *state.Ask, n *state.Node) Reason {
	why := s.reservationLimit(a, k, 1)
	if why == NoReason && s.State.ReservationBans.Forbids(n, k.App, k.Key) { // an operator has cancelled one
		return s.lackOfRoom(k)
	}
	return why
}

// reservationLimit returns the reason of an ask that a limit on reservations refuses some more of them.
// It returns NoReason if none does. Passes, gangs, preemption and explanations ask it.
func (s *rules) reservationLimit(a *state.App, k *state.Ask, more int64) Reason {
	if s.ReservationLimit(a, k, more) != "" {
		return s.lackOfRoom(k)
	}
	return NoReason
}

// ReservationLimit returns the key of the limit on reservations that refuses an ask some more of them; ""
// if none does. YARN has no such limits.
func (s *rules) ReservationLimit(a *state.App, k *state.Ask, more int64) (key string) {
	beyond := func(count, limit int64) bool { return limit >= 0 && count+more > limit }
	switch {
	case beyond(int64(k.Reservations), s.Config.MaxReservationsPerKey):
		return capacity.KeyReservationsPerKey
	case beyond(int64(s.Queues[s.LeafOf(a)].Reserving), s.Config.MaxReservationsPerQueue):
		return capacity.KeyReservationsPerQueue
	case beyond(int64(s.State.Reservations.Len()), s.Config.MaxReservationsPerCluster):
		return capacity.KeyReservationsPerCluster
	}
	return ""
}

// lackOfRoom returns the reason of an ask that may not reserve. As without these limits, it waits for
// room.
func (s *rules) lackOfRoom(k *state.Ask) Reason {
	if s.State.Gangs.HoldsBack(k) {
		return GangWaits
	}
	return NodeTooSmallFree
}

// needsMore reports whether a key may reserve another node. A container reserves further nodes the
// longer it waits. What is reserved counts as used, so that one container may keep all other
// applications from nodes with room.
func (s *rules) needsMore(a *state.App, k *state.Ask) bool {
	c := claim{
		outstanding:    k.Count,
		reserved:       int64(k.Reservations),
		reReservations: int64(k.ReReservations),
		size:           k.Size,
		minAlloc:       s.Config.MinAlloc,
		maxAlloc:       s.Config.Queues[s.LeafOf(a)].MaxAlloc,
	}
	return c.needsMore(s.Config.Calculator)
}

// claim has the data that decide how many nodes a key may reserve.
type claim struct {
	outstanding    int64 // containers that it still asks for
	reserved       int64 // nodes reserved
	reReservations int64 // heartbeats of its reserved nodes since the last change
	size           yarn.Resource
	minAlloc       yarn.Resource
	maxAlloc       yarn.Resource // of the queue
}

// needsMore reports whether the key may reserve another node: S + N − R > 0. The starvation S grows
// with re-reservations, more slowly for large asks.
//
// Source: Hadoop 3.4.2, RegularContainerAllocator.shouldAllocOrReserveNewContainer.
func (k claim) needsMore(c yarn.Calculator) bool {
	return k.starvation(c)+k.outstanding-k.reserved > 0
}

// starvation returns S = trunc((RR/R)·(1 − min(size/max, (max−min)/max))), computed exactly.
func (k claim) starvation(c yarn.Calculator) int64 {
	if k.reserved == 0 {
		return 0
	}
	whole := ratio(c, k.size, k.maxAlloc)
	if most := ratio(c, k.maxAlloc.Sub(k.minAlloc), k.maxAlloc); most.Cmp(whole) < 0 {
		whole = most
	}
	rest := whole.Den - whole.Num
	if rest <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(k.reReservations), uint64(rest))
	divisor := uint64(k.reserved) * uint64(whole.Den)
	if hi >= divisor {
		return k.outstanding + k.reserved // more than any key can want
	}
	q, _ := bits.Div64(hi, lo, divisor)
	return int64(min(q, 1<<31))
}

// ratio returns a/b by memory, or the largest a[i]/b[i] over all resources.
func ratio(c yarn.Calculator, a, b yarn.Resource) yarn.Fraction {
	if !c.Dominant {
		return part(a[yarn.Memory], b[yarn.Memory])
	}
	best := yarn.Fraction{Num: 0, Den: 1}
	for i := 0; i < c.Kinds; i++ {
		if f := part(a[i], b[i]); best.Cmp(f) < 0 {
			best = f
		}
	}
	return best
}

func part(a, b int64) yarn.Fraction {
	if b <= 0 || a <= 0 {
		return yarn.Fraction{Num: 0, Den: 1}
	}
	return yarn.NewFraction(a, b)
}

// exchanged returns the newest reservation of a key that covers need, to be given up for an
// allocation elsewhere, or 0 if there is none. If limits is set, the exchange must reduce the use
// of these nodes, so the reservation must be on one of them.
func (v *pass) exchanged(a *state.App, k *state.Ask, need yarn.Resource, limits bool) state.ReservationSlot {
	for slot, r := range v.State.Reservations.Of(a) {
		if r.Key == k.Key && r.IncreaseOf == k.IncreaseOf && v.Config.Calculator.FitsIn(need, r.Size) &&
			(!limits || v.Here(r)) && !v.HasPreempted(r) {
			return slot
		}
	}
	return 0
}

// fulfill runs the pass on a reserved node. It fulfills the reservation, counts a re-reservation,
// cancels the reservation, or does nothing. It checks no limits, because the reservation already
// counts as used.
func (p *pass) fulfill(node state.NodeSlot) {
	n := p.State.Nodes.Get(node)
	r := p.State.Reservations.Get(n.Reservation)
	if r.Members != 0 {
		p.fulfillGang(r)
		return
	}
	a := p.State.Apps.Get(r.App)
	ask := p.State.AskFor(a, r.Key, r.IncreaseOf)
	if !p.s.wanted(ask, node) {
		// YARN keeps a reservation whose ask has changed to other places. It could never be
		// fulfilled, and would block the node.
		p.s.Cancel(r.Number, yarn.CancelAskGone)
		return
	}
	if a.Blacklisted(n) {
		return
	}
	k := p.State.Asks.Get(ask)
	increaseOf, opportunities, reReservations := k.IncreaseOf, k.Opportunities, k.ReReservations
	if p.counts(k) {
		opportunities++
	}
	d := p.place(r.App, ask, node, &Limits{}, true)
	switch {
	case d.state == stateAllocated:
		p.s.WithdrawFor(r, yarn.WithdrawFulfilled)
		p.s.Emit(&event.ReservationFulfilled{Reservation: r.Number, Locality: d.locality})
		reReservations = 0
	case d.state == stateReserved && p.counting:
		reReservations++
	}
	if d.state == stateReserved {
		p.s.recall(r)
	}
	if increaseOf == 0 {
		p.s.UpdateCounts(d.app, d.key, opportunities, reReservations)
	}
	switch {
	case d.state == stateAllocated:
		p.s.CancelUnwanted(d.app)
	case d.state == stateReserved && p.counting:
		p.moveReservation(p.State.Reservations.Get(p.State.Nodes.Get(node).Reservation), ask)
	}
}

// wanted reports whether an ask still wants a container on a node.
func (s *rules) wanted(ask state.AskSlot, node state.NodeSlot) bool {
	if ask == 0 {
		return false
	}
	k := s.State.Asks.Get(ask)
	return k.Count > 0 && s.reachOf(k, node).usable() && s.gangComplete(k)
}

// Cancel ends a reservation. Its node has room again.
func (s *Scheduler) Cancel(number uint64, cause yarn.CancelCause) {
	slot := s.State.Reservations.Find(number)
	if slot == 0 {
		return // it was cancelled together with another reservation of its gang
	}
	r := *s.State.Reservations.Get(slot)
	s.NodeFreed(r.Node)
	s.WithdrawFor(&r, yarn.WithdrawCancelled)
	s.Emit(&event.ReservationCancelled{Reservation: number, Cause: cause})
	if r.Members != 0 {
		s.breakGang(r.App, cause)
	}
}

// CancelReservation cancels a reservation for an operator. For a while the state does not let the
// same key reserve the node again.
func (s *Scheduler) CancelReservation(number uint64) { s.Cancel(number, yarn.CancelOperator) }

// cancelWhere cancels the reservations of an application for which when returns true.
func (s *Scheduler) cancelWhere(app state.AppSlot, cause yarn.CancelCause, when func(r *state.Reservation) bool) {
	var numbers []uint64
	for _, r := range s.State.Reservations.Of(s.State.Apps.Get(app)) {
		if when(r) {
			numbers = append(numbers, r.Number)
		}
	}
	for _, n := range numbers {
		s.Cancel(n, cause)
	}
}

// CancelAll cancels the reservations of an application whose attempt ends, or whose AM registers again.
func (s *Scheduler) CancelAll(app state.AppSlot, cause yarn.CancelCause) {
	s.cancelWhere(app, cause, func(*state.Reservation) bool { return true })
}

// CancelUnwanted cancels the reservations of an application that no ask wants any more, in the same
// batch. With eager-cancel off, they are cancelled at the heartbeats of their nodes, as in YARN.
func (s *Scheduler) CancelUnwanted(app state.AppSlot) {
	a := s.State.Apps.Get(app)
	if a.Reservations == 0 {
		return
	}
	if g := s.State.Gangs; g.Len() > 0 && g.Has(app) && g.Get(app).State != state.GangWaiting {
		s.cancelGang(app, yarn.CancelAskGone)
	}
	if s.Config.EagerCancel {
		s.cancelWhere(app, yarn.CancelAskGone, func(r *state.Reservation) bool {
			return !s.wanted(s.State.AskFor(a, r.Key, r.IncreaseOf), r.Node)
		})
	}
}

// CancelOtherSizes cancels the reservations of an ask whose size has changed.
func (s *Scheduler) CancelOtherSizes(app state.AppSlot, key yarn.SchedulerKey, increaseOf state.ContainerSlot,
	size yarn.Resource) {
	s.cancelWhere(app, yarn.CancelSizeChanged, func(r *state.Reservation) bool {
		return r.Key == key && r.IncreaseOf == increaseOf && s.sizeFor(r) != size
	})
}

// CancelBlacklisted cancels the reservations of an application on nodes that it has blacklisted. In
// YARN they stay forever (YARN-10902).
func (s *Scheduler) CancelBlacklisted(app state.AppSlot) {
	a := s.State.Apps.Get(app)
	s.cancelWhere(app, yarn.CancelBlacklisted,
		func(r *state.Reservation) bool { return a.Blacklisted(s.State.Nodes.Get(r.Node)) })
}

// CancelIncrease cancels the reservation for an increase of a container that ends.
func (s *Scheduler) CancelIncrease(c *state.Container) {
	if r := s.State.Resizes.Of(c); r != nil && r.Reservation != 0 {
		s.Cancel(s.State.Reservations.Get(r.Reservation).Number, yarn.CancelResizeEnded)
	}
}

// CancelOnNode cancels the reservation of a node that takes no new containers any more, or that
// gets another label.
func (s *Scheduler) CancelOnNode(node state.NodeSlot, cause yarn.CancelCause) {
	if r := s.State.Nodes.Get(node).Reservation; r != 0 {
		s.Cancel(s.State.Reservations.Get(r).Number, cause)
	}
}

// CancelLarger cancels a node's reservation if it does not fit the given total, and reports whether
// it did.
func (s *Scheduler) CancelLarger(node state.NodeSlot, total yarn.Resource) bool {
	n := s.State.Nodes.Get(node)
	if n.Reservation == 0 {
		return false
	}
	r := s.State.Reservations.Get(n.Reservation)
	if s.Config.Calculator.FitsIn(s.sizeFor(r).Times(max(int64(r.Members), 1)), total) {
		return false
	}
	s.Cancel(r.Number, yarn.CancelLargerThanNode)
	return true
}

// CancelAllUnservable cancels the reservations that their nodes can no longer serve.
func (s *Scheduler) CancelAllUnservable() {
	var nodes []state.NodeSlot
	s.State.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		nodes = append(nodes, r.Node)
		return true
	})
	for _, n := range nodes {
		s.CancelUnservable(n)
	}
}

// CancelUnservable cancels a node's reservation if the node cannot serve it any more: the node is
// too small, the node is blacklisted or, with eager-cancel, the ask no longer wants the node.
func (s *Scheduler) CancelUnservable(node state.NodeSlot) {
	n := s.State.Nodes.Get(node)
	if n.Reservation == 0 || s.CancelLarger(node, n.Total) {
		return
	}
	r := s.State.Reservations.Get(n.Reservation)
	a := s.State.Apps.Get(r.App)
	switch {
	case a.Blacklisted(n):
		s.Cancel(r.Number, yarn.CancelBlacklisted)
	case s.Config.EagerCancel && !s.wanted(s.State.AskFor(a, r.Key, r.IncreaseOf), node):
		s.Cancel(r.Number, yarn.CancelAskGone)
	}
}
