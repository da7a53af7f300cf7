package scheduler

import (
	"rmd/fsm/event"
	"rmd/yarn"
)

// kind is what the allocator says of an application, key or locality level.
type kind uint8

const (
	kindNextKey    kind = iota // this key gets nothing here; lower keys may
	kindSkipApp                // this application gets nothing here; the next one may
	kindSkipLevel              // this locality level gets nothing; a wider one may
	kindQueueLimit             // the whole leaf stops
	kindAllocate
	kindReserve
)

// decision is a proposal: at most one allocation or reservation, and the
// reservation given up for it. why says why there is none.
type decision struct {
	kind     kind
	app      uint32
	ask      uint32
	key      yarn.SchedulerKey
	node     uint32
	size     yarn.Resource
	locality yarn.Locality
	// exchanged is the reservation given up for it, reservation its number.
	exchanged   uint32
	reservation uint64
	grows       uint32 // the container that it makes larger; 0: it makes a new one
	delayed     bool   // this rack would do, after more visits
	why         Reason
}

// offer tries an application's keys on a node, in key order. The decision is
// none but kindAllocate, kindReserve, kindSkipApp and kindQueueLimit.
func (s *Scheduler) offer(app, node uint32, l *Limits) decision {
	why := NoAsks
	for ask := s.st.Apps.Get(app).Asks; ask != 0; ask = s.st.Asks.Get(ask).Next {
		d := s.offerKey(app, ask, node, l)
		if d.kind != kindNextKey {
			return d
		}
		why = d.why
	}
	return decision{kind: kindSkipApp, app: app, why: why}
}

// offerKey is the allocator's table for one key: pre-checks, the locality
// levels, then the count of missed offers. What ends in kindNextKey gives its
// opportunity back, but for a strict ask that waits for this very rack: in YARN
// its count never grows and it is never served. A grant's count is part of its
// commit.
func (s *Scheduler) offerKey(app, ask, node uint32, l *Limits) decision {
	a, k, n := s.st.Apps.Get(app), s.st.Asks.Get(ask), s.st.Nodes.Get(node)
	refuse := func(kind kind, why Reason) decision {
		return decision{kind: kind, app: app, ask: ask, key: k.Key, why: why}
	}
	switch {
	case k.Count == 0:
		return refuse(kindNextKey, NoAsks)
	case k.IncreaseOf != 0 && !s.reachOf(k, node).usable():
		// In YARN it would stop its leaf at every node when the queue has too little
		// room for it.
		return refuse(kindNextKey, LocalityDelay)
	case !s.cfg.ContinueLooking && !s.needsMore(a, k):
		return refuse(kindNextKey, NodeReservedByOther)
	case !s.withinHeadroom(a, k, l):
		return refuse(kindQueueLimit, QueueMaxCapacity)
	case a.Blacklisted(n):
		return refuse(kindSkipApp, Blacklisted)
	}
	d := s.place(app, ask, node, l, false)
	if d.kind < kindAllocate && (d.kind != kindNextKey || d.delayed) && s.counts(k) {
		s.Emit(&event.AskCountersUpdated{App: a.ID.Seq, Key: k.Key, Opportunities: k.Opportunities + 1, ReReservations: k.ReReservations})
	}
	return d
}

// level decides at one locality level: allocate, reserve, or skip it.
func (s *Scheduler) level(app, ask, node uint32, at yarn.Locality, l *Limits, fulfilment bool) decision {
	a, k, n, calc := s.st.Apps.Get(app), s.st.Asks.Get(ask), s.st.Nodes.Get(node), s.cfg.Calculator
	d := decision{kind: kindSkipLevel, app: app, ask: ask, key: k.Key, node: node, size: k.Size, locality: at, grows: k.IncreaseOf}
	skip := func(why Reason) decision { d.why = why; return d }
	// A strict ask has waited for its rack when it reserved a node there: its
	// fulfilment waits no more.
	waits := !fulfilment || (at == yarn.RackLocal && k.Relax)
	if waits && !s.delayOf(k).allows(at, fulfilment) {
		return skip(LocalityDelay)
	}
	if !calc.FitsIn(k.Size, n.Total) {
		return skip(NodeTooSmall)
	}
	need := calc.Max(s.st.Meta.Cluster, k.Size.Sub(l.headroom), l.needUnreserve)
	mustFree := !fulfilment && calc.AnyAboveZero(need)
	more := fulfilment || s.needsMore(a, k)
	if calc.FitsIn(k.Size, n.Unallocated()) {
		if !fulfilment && s.cfg.ContinueLooking && (!more || mustFree) {
			if !mustFree {
				need = k.Size
			}
			if d.exchanged = s.exchanged(a, k, need); d.exchanged == 0 {
				return skip(NodeReservedByOther)
			}
			d.reservation = s.st.Reservations.Get(d.exchanged).Number
		}
		d.kind = kindAllocate
		return d
	}
	switch {
	case !more, s.cfg.ContinueLooking && mustFree:
		return skip(NodeTooSmallFree)
	case !fulfilment && !s.mayReserve(a, k, n):
		return skip(NodeTooSmallFree)
	}
	d.kind = kindReserve
	return d
}

// WhyNotPlaced says why a pass would allocate nothing for an ask on a node, going by room, limits and
// locality; NoReason when it would.
func (s *Scheduler) WhyNotPlaced(app, ask, node uint32, l *Limits) Reason {
	if d := s.place(app, ask, node, l, false); d.kind != kindAllocate {
		return d.why
	}
	return NoReason
}
