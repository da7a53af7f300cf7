package scheduler

import (
	"math/bits"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// A reservation keeps a node for an ask that does not fit there yet. Its whole life is in this file:
//
//	made          reserve      a pass finds the node too full and nothing forbids to reserve it
//	re-reserved   fulfil       the node's heartbeat finds it still too full
//	fulfilled     fulfil       the node has room: the reservation becomes a container
//	exchanged     exchanged    its application is served elsewhere and gives it up
//	cancelled     cancel…      by blacklist, node, ask, size, attempt, operator or limit
//
// An application that moves to another queue takes its reservations along; the state does that.

// reserve makes a reservation. No limit is checked any more: accept has done that.
func (p *Planner) reserve(d *decision, am bool) {
	next := p.st.Meta.NextReservation + 1
	if d.grows != 0 {
		p.emit(&event.ResizeReserved{Reservation: next, Container: p.st.Ref(p.st.Containers.Get(d.grows))})
		return
	}
	a := p.st.Apps.Get(d.app)
	p.emit(&event.ReservationMade{Reservation: next, App: a.ID.Seq, Number: p.st.NextNumber(a), Key: d.key, Node: d.node, AM: am})
}

// mayReserve checks the limits on reservations, which YARN does not have, and whether an operator
// has cancelled one for the same key on the node.
func (p *Planner) mayReserve(a *state.App, k *state.Ask, n *state.Node) bool {
	below := func(count, limit int64) bool { return limit < 0 || count < limit }
	return below(int64(k.Reservations), p.cfg.MaxReservationsPerKey) &&
		below(int64(p.queues[p.indexOf[a.Queue]].reserving), p.cfg.MaxReservationsPerQueue) &&
		below(int64(p.st.Reservations.Len()), p.cfg.MaxReservationsPerCluster) &&
		!p.st.Barred(n, k.App, k.Key)
}

// needsMore says whether a key may reserve one node more.
func (p *Planner) needsMore(a *state.App, k *state.Ask) bool {
	c := claim{
		outstanding:    k.Count,
		reserved:       int64(k.Reservations),
		reReservations: int64(k.ReReservations),
		size:           k.Size,
		minAlloc:       p.cfg.MinAlloc,
		maxAlloc:       p.cfg.Queues[p.indexOf[a.Queue]].MaxAlloc,
	}
	return c.needsMore(p.cfg.Calculator)
}

// claim is what decides how many nodes a key may reserve.
type claim struct {
	outstanding    int64 // containers still asked
	reserved       int64 // nodes reserved
	reReservations int64 // heartbeats of reserved nodes since the last change
	size           yarn.Resource
	minAlloc       yarn.Resource
	maxAlloc       yarn.Resource // of the queue
}

// needsMore says whether the key may reserve one node more: S + N − R > 0, where the starvation S
// grows with re-reservations, slower for large asks.
//
// Source: Hadoop 3.4.2, RegularContainerAllocator.shouldAllocOrReserveNewContainer.
func (k claim) needsMore(c yarn.Calculator) bool {
	return k.starvation(c)+k.outstanding-k.reserved > 0
}

// starvation is S = trunc((RR/R)·(1 − min(size/max, (max−min)/max))), exact.
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
		return k.outstanding + k.reserved // more than any key asks for
	}
	q, _ := bits.Div64(hi, lo, divisor)
	return int64(min(q, 1<<31))
}

// ratio is a/b by memory, or the largest a[i]/b[i] of all kinds.
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

// exchanged is the newest reservation of a key that covers need, to be given up for an allocation
// elsewhere; 0 if there is none.
func (p *Planner) exchanged(a *state.App, k *state.Ask, need yarn.Resource) uint32 {
	for slot := a.Reservations; slot != 0; slot = p.st.Reservations.Get(slot).NextOfApp() {
		r := p.st.Reservations.Get(slot)
		if r.Key == k.Key && r.Grows == k.Grows && p.cfg.Calculator.FitsIn(need, r.Size) {
			return slot
		}
	}
	return 0
}

// fulfil is the pass on a reserved node: it fulfils the reservation, counts it again, cancels it, or
// does nothing. No limit is checked: what is reserved is charged already.
func (p *Planner) fulfil(node uint32) {
	n := p.st.Nodes.Get(node)
	r := p.st.Reservations.Get(n.Reservation)
	a := p.st.Apps.Get(r.App)
	ask := p.st.AskFor(a, r.Key, r.Grows)
	if !p.wanted(ask, node) {
		// YARN keeps a reservation whose ask has narrowed to other places: it
		// could never be fulfilled, and would lock the node.
		p.cancel(r.Number, yarn.CancelAskGone)
		return
	}
	if a.Blacklisted(n) {
		return
	}
	k := p.st.Asks.Get(ask)
	grows, opportunities, reReservations := k.Grows, k.Opportunities, k.ReReservations
	if p.counts(k) {
		opportunities++
	}
	d := p.place(r.App, ask, node, &limits{}, true)
	switch {
	case d.kind == kindAllocate:
		p.emit(&event.ReservationFulfilled{Reservation: r.Number, Locality: d.locality})
		reReservations = 0
	case d.kind == kindReserve && p.counting:
		reReservations++
	}
	if grows == 0 {
		p.recount(d.app, d.key, opportunities, reReservations)
	}
	if d.kind == kindAllocate {
		p.cancelUnwanted(d.app)
	}
}

// wanted says whether an ask still wants a container on a node.
func (p *Planner) wanted(ask, node uint32) bool {
	if ask == 0 {
		return false
	}
	k := p.st.Asks.Get(ask)
	return k.Count > 0 && p.reachOf(k, node).usable()
}

// cancel ends a reservation. Its node has room again.
func (p *Planner) cancel(number uint64, cause yarn.CancelCause) {
	if slot := p.st.Reservation(number); slot != 0 {
		p.freed = append(p.freed, p.st.Reservations.Get(slot).Node)
	}
	p.emit(&event.ReservationCancelled{Reservation: number, Cause: cause})
}

// cancelWhere cancels the reservations of an application that meet a condition.
func (p *Planner) cancelWhere(app uint32, cause yarn.CancelCause, when func(r *state.Reservation) bool) {
	var numbers []uint64
	for slot := p.st.Apps.Get(app).Reservations; slot != 0; slot = p.st.Reservations.Get(slot).NextOfApp() {
		if r := p.st.Reservations.Get(slot); when(r) {
			numbers = append(numbers, r.Number)
		}
	}
	for _, n := range numbers {
		p.cancel(n, cause)
	}
}

// cancelAll cancels the reservations of an application whose attempt ends, or whose AM asks anew.
func (p *Planner) cancelAll(app uint32, cause yarn.CancelCause) {
	p.cancelWhere(app, cause, func(*state.Reservation) bool { return true })
}

// cancelUnwanted cancels the reservations of an application whose asks are gone, in the batch in
// which they go. With eager-cancel off they wait for their nodes' heartbeats, as in YARN.
func (p *Planner) cancelUnwanted(app uint32) {
	a := p.st.Apps.Get(app)
	if p.cfg.EagerCancel && a.Reservations != 0 {
		p.cancelWhere(app, yarn.CancelAskGone, func(r *state.Reservation) bool {
			return !p.wanted(p.st.AskFor(a, r.Key, r.Grows), r.Node)
		})
	}
}

// cancelOtherSizes cancels the reservations of an ask that is for another size now.
func (p *Planner) cancelOtherSizes(app uint32, key yarn.SchedulerKey, grows uint32, size yarn.Resource) {
	p.cancelWhere(app, yarn.CancelSizeChanged, func(r *state.Reservation) bool {
		return r.Key == key && r.Grows == grows && r.Size != size
	})
}

// cancelBlacklisted cancels the reservations of an application on nodes that it refuses now
// (YARN-10902: in YARN they stay for ever).
func (p *Planner) cancelBlacklisted(app uint32) {
	a := p.st.Apps.Get(app)
	p.cancelWhere(app, yarn.CancelBlacklisted, func(r *state.Reservation) bool { return a.Blacklisted(p.st.Nodes.Get(r.Node)) })
}

// cancelIncrease cancels the reservation for a container to grow, when the container ends.
func (p *Planner) cancelIncrease(c *state.Container) {
	if r := p.st.Resize(c); r != nil && r.Reservation != 0 {
		p.cancel(p.st.Reservations.Get(r.Reservation).Number, yarn.CancelResizeEnded)
	}
}

// cancelOnNode cancels the reservation of a node that takes nothing new any more.
func (p *Planner) cancelOnNode(node uint32) {
	if r := p.st.Nodes.Get(node).Reservation; r != 0 {
		p.cancel(p.st.Reservations.Get(r).Number, yarn.CancelNodeNotRunning)
	}
}

// cancelLarger cancels a node's reservation that does not fit its total, if that is so.
func (p *Planner) cancelLarger(node uint32, total yarn.Resource) bool {
	n := p.st.Nodes.Get(node)
	if n.Reservation == 0 {
		return false
	}
	r := p.st.Reservations.Get(n.Reservation)
	if p.cfg.Calculator.FitsIn(r.Size, total) {
		return false
	}
	p.cancel(r.Number, yarn.CancelLargerThanNode)
	return true
}

// cancelUnsuited cancels a node's reservation that the node as it is now cannot serve: it is too
// small, or stands in a rack that is blacklisted or, with eager-cancel, not asked for.
func (p *Planner) cancelUnsuited(node uint32) {
	n := p.st.Nodes.Get(node)
	if n.Reservation == 0 || p.cancelLarger(node, n.Total) {
		return
	}
	r := p.st.Reservations.Get(n.Reservation)
	a := p.st.Apps.Get(r.App)
	switch {
	case a.Blacklisted(n):
		p.cancel(r.Number, yarn.CancelBlacklisted)
	case p.cfg.EagerCancel && !p.wanted(p.st.AskFor(a, r.Key, r.Grows), node):
		p.cancel(r.Number, yarn.CancelAskGone)
	}
}
