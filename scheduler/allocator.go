package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// allocationState is the allocator's result for an application, a key or a locality, as
// Hadoop's AllocationState.
type allocationState uint8

const (
	statePrioritySkipped allocationState = iota // this key gets nothing here; later keys may
	stateAppSkipped                             // this application gets nothing here; the next one may
	stateLocalitySkipped                        // this locality gets nothing; a wider one may
	stateQueueSkipped                           // the whole leaf stops
	stateAllocated
	stateReserved
)

// decision is a proposal: one allocation or reservation at most, and the reservation that is given
// up for it. If there is neither, why is the reason.
type decision struct {
	state    allocationState
	app      state.AppSlot
	ask      state.AskSlot
	key      yarn.SchedulerKey
	node     state.NodeSlot
	size     yarn.Resource
	locality yarn.Locality
	// exchanged is the slot of the reservation that is given up, reservation its number.
	exchanged   state.ReservationSlot
	reservation uint64
	increaseOf  state.ContainerSlot // container to increase; 0: a new container
	delayed     bool                // the ask waits for its rack
	gang        []gangMembers       // the placement of a gang's members; nil: no gang
	expected    int64               // when a gang with these reservations is expected to start
	why         Reason
}

// offer tries an application's keys on a node, in key order. The decision's state is one of
// stateAllocated, stateReserved, stateAppSkipped and stateQueueSkipped.
func (p *pass) offer(app state.AppSlot, node state.NodeSlot, l *Limits) decision {
	why := NoAsks
	for ask := range p.State.Asks.Of(p.State.Apps.Get(app)) {
		d := p.offerKey(app, ask, node, l)
		if d.state != statePrioritySkipped {
			return d
		}
		why = d.why
	}
	return decision{state: stateAppSkipped, app: app, why: why}
}

// offerKey offers a node to the ask under one key. If the result is statePrioritySkipped, the offer
// does not count as a missed opportunity, except for a strict ask that waits for this rack. In YARN
// the count of such an ask never grows, so it is never served. The commit of an allocation updates
// the count.
func (p *pass) offerKey(app state.AppSlot, ask state.AskSlot, node state.NodeSlot, l *Limits) decision {
	a, k, n := p.State.Apps.Get(app), p.State.Asks.Get(ask), p.State.Nodes.Get(node)
	refuse := func(state allocationState, why Reason) decision {
		return decision{state: state, app: app, ask: ask, key: k.Key, why: why}
	}
	switch {
	case k.Count == 0 || k.Label != p.LabelServed(n):
		return refuse(statePrioritySkipped, NoAsks)
	case p.Loan.Lends() && !p.mayLease(a, k, n):
		return refuse(statePrioritySkipped, NodeReservedByOther)
	case p.State.Gangs.HoldsBack(k):
		return p.offerGang(app, ask, node, l)
	case p.leavesOut(k, node):
		return refuse(statePrioritySkipped, NoReason)
	case p.Lending && !p.s.borrower(k):
		return refuse(stateAppSkipped, OwnPartitionFirst)
	case p.TakesKept(p.LeafOf(a), k.Size, p.s.now):
		return refuse(stateQueueSkipped, GuaranteeKept)
	case k.IncreaseOf != 0 && !p.s.reachOf(k, node).usable():
		// YARN would block the leaf on every node if the queue has too little room for the
		// increase.
		return refuse(statePrioritySkipped, LocalityDelay)
	case !p.Config.ContinueLooking && !p.s.needsMore(a, k):
		return refuse(statePrioritySkipped, HoldsReservations)
	case !p.withinHeadroom(a, k, l):
		return refuse(stateQueueSkipped, QueueMaxCapacity)
	}
	d := decision{state: stateAppSkipped, app: app, ask: ask, key: k.Key}
	switch {
	case p.Lending && !p.s.mayBorrow(k, p.missed(k)):
		d.why = OwnPartitionFirst
	case a.Blacklisted(n):
		d.why = Blacklisted
	default:
		d = p.place(app, ask, node, l, false)
		if d.state < stateAllocated && (d.state != statePrioritySkipped || d.delayed) && p.counts(k) && !p.trial {
			p.s.Emit(&event.AskCountersUpdated{App: a.ID.Seq, Key: k.Key, Opportunities: k.Opportunities + 1,
				ReReservations: k.ReReservations})
		}
	}
	if d.state < stateAllocated && p.countsMisses(k) && !p.trial {
		p.s.updateMisses(a, k.Key, k.Missed+1)
	}
	return d
}

// assignAt decides whether to allocate, to reserve, or to skip one locality.
func (p *pass) assignAt(app state.AppSlot, ask state.AskSlot, node state.NodeSlot, at yarn.Locality, l *Limits,
	fulfillment bool) decision {
	a, k, n, calc := p.State.Apps.Get(app), p.State.Asks.Get(ask), p.State.Nodes.Get(node), p.Config.Calculator
	d := decision{state: stateLocalitySkipped, app: app, ask: ask, key: k.Key, node: node, size: k.Size, locality: at,
		increaseOf: k.IncreaseOf}
	skip := func(why Reason) decision { d.why = why; return d }
	// A strict ask waited for its rack before it reserved a node there. Its fulfillment does not
	// wait again.
	waits := !fulfillment || (at == yarn.RackLocal && k.Relax)
	if waits && !p.s.delayOf(k, p.opportunities(k)).allows(at, fulfillment) {
		return skip(LocalityDelay)
	}
	if !calc.FitsIn(k.Size, n.Total) {
		return skip(NodeTooSmall)
	}
	if !fulfillment && k.Count <= p.PreemptedFor(a, k) {
		return skip(HoldsReservations)
	}
	need := calc.Max(p.State.Meta.Cluster, k.Size.Sub(l.headroom), l.needUnreserve)
	mustFree := !fulfillment && calc.AnyAboveZero(need)
	more := fulfillment || p.s.needsMore(a, k)
	if calc.Holds(n.Unallocated(), k.Size) {
		if fulfillment && !calc.FitsIn(k.Size, n.Unallocated()) { // elsewhere accept refuses the container
			return skip(NodeTooSmallFree)
		}
		if !fulfillment && p.Config.ContinueLooking && (!more || mustFree) {
			why := HoldsReservations
			if mustFree {
				why = limitToFree(k.Size.Sub(l.headroom), l.needUnreserve, calc)
			} else {
				need = k.Size
			}
			if p.Loan.Lends() { // lent room may be recalled, so no reservation is given up for it
				return skip(why)
			}
			if d.exchanged = p.exchanged(a, k, need, mustFree); d.exchanged == 0 {
				return skip(why)
			}
			d.reservation = p.State.Reservations.Get(d.exchanged).Number
		}
		d.state = stateAllocated
		return d
	}
	if !more || p.Config.ContinueLooking && mustFree {
		return skip(NodeTooSmallFree)
	}
	if !fulfillment {
		if why := p.s.WhyNotReserve(a, k, n); why != NoReason {
			return skip(why)
		}
	}
	d.state = stateReserved
	// UsedNow omits reservations; this check counts them
	if p.Backfills && !fulfillment && p.limitOn(&d, nil) != NoReason {
		d.state = stateLocalitySkipped
		return skip(NodeTooSmallFree)
	}
	// else accept refuses it
	if p.s.ReservesEarliest() && !fulfillment && k.IncreaseOf == 0 && p.limitOn(&d, nil) == NoReason {
		d.node = p.earliestNode(a, ask, node, at)
	}
	return d
}
