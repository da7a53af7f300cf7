package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/placement"
	"rmd/scheduler/reservation"
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
	victim   uint32 // own reservation released in exchange
	number   uint64 // the victim's
	grows    uint32 // the container that it makes larger; 0: one of its own
	delayed  bool   // this rack would do, after more visits
	why      Reason
}

// offer tries an application's keys on a node, in key order. The decision is
// none but kindAllocate, kindReserve, kindSkipApp and kindQueueLimit.
func (p *Planner) offer(app, node uint32, l *limits) decision {
	why := NoAsks
	for ask := p.st.Apps.Get(app).Asks; ask != 0; ask = p.st.Asks.Get(ask).Next {
		d := p.offerKey(app, ask, node, l)
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
func (p *Planner) offerKey(app, ask, node uint32, l *limits) decision {
	a, k, n := p.st.Apps.Get(app), p.st.Asks.Get(ask), p.st.Nodes.Get(node)
	refuse := func(kind kind, why Reason) decision {
		return decision{kind: kind, app: app, ask: ask, key: k.Key, why: why}
	}
	switch {
	case k.Count == 0:
		return refuse(kindNextKey, NoAsks)
	case k.Grows != 0 && !p.standsOn(k, node):
		// In YARN it would hold its leaf up at every node when the queue has too little
		// room for it.
		return refuse(kindNextKey, LocalityDelay)
	case !p.cfg.ContinueLooking && !p.mayHold(a, k):
		return refuse(kindNextKey, NodeReservedByOther)
	case !p.withinHeadroom(a, k, l):
		return refuse(kindQueueLimit, QueueMaxCapacity)
	case a.Blacklisted(n):
		return refuse(kindSkipApp, Blacklisted)
	}
	d := p.place(app, ask, node, l, false)
	if d.kind < kindAllocate && (d.kind != kindNextKey || d.delayed) && p.counts(k) {
		p.emit(&event.AskCounted{App: a.ID.Seq, Key: k.Key, Opportunities: k.Opportunities + 1, ReReservations: k.ReReservations})
	}
	return d
}

// counts says whether the present pass counts as an opportunity of the key: a
// node's own heartbeat does, for a key that names places. An ask for "*" alone
// waits for none, so nothing is written for it.
func (p *Planner) counts(k *state.Ask) bool { return p.counting && k.Entries > 1 }

// withinHeadroom says whether the size fits what the queue may still take,
// what the application could give up included.
func (p *Planner) withinHeadroom(a *state.App, k *state.Ask, l *limits) bool {
	room := l.headroom
	if p.cfg.ContinueLooking {
		room = room.Add(a.Reserved)
	}
	return p.cfg.Calculator.FitsIn(k.Size, room)
}

// place walks the locality levels, from the node itself outwards.
func (p *Planner) place(app, ask, node uint32, l *limits, fulfilment bool) decision {
	k, n := p.st.Asks.Get(ask), p.st.Nodes.Get(node)
	none := decision{kind: kindNextKey, app: app, ask: ask, key: k.Key, why: LocalityDelay}
	if k.Grows != 0 {
		if !p.standsOn(k, node) {
			return none
		}
		d := p.level(app, ask, node, yarn.NodeLocal, l, fulfilment)
		if d.kind == kindSkipLevel {
			d.kind = kindNextKey
		}
		return d
	}
	if p.askedAt(k, n.Host) {
		if d := p.level(app, ask, node, yarn.NodeLocal, l, fulfilment); d.kind >= kindAllocate {
			return d
		}
	}
	if rack := p.st.Location(k, n.RackID); rack != 0 {
		entry := p.st.Locations.Get(rack)
		if !entry.Relax {
			return none
		}
		if entry.Count > 0 {
			d := p.level(app, ask, node, yarn.RackLocal, l, fulfilment)
			if d.kind >= kindAllocate {
				return d
			}
			none.delayed = d.why == LocalityDelay
		}
	}
	if !k.Relax {
		return none
	}
	d := p.level(app, ask, node, yarn.OffSwitch, l, fulfilment)
	if d.kind == kindSkipLevel {
		d.kind = kindSkipApp
	}
	return d
}

// standsOn says whether the container that an ask makes larger is on a node.
func (p *Planner) standsOn(k *state.Ask, node uint32) bool {
	return p.st.Containers.Get(k.Grows).Node == node
}

func (p *Planner) askedAt(k *state.Ask, name state.NameID) bool {
	slot := p.st.Location(k, name)
	return slot != 0 && p.st.Locations.Get(slot).Count > 0
}

// level decides at one locality level: allocate, reserve, or skip it.
func (p *Planner) level(app, ask, node uint32, at yarn.Locality, l *limits, fulfilment bool) decision {
	a, k, n, calc := p.st.Apps.Get(app), p.st.Asks.Get(ask), p.st.Nodes.Get(node), p.cfg.Calculator
	d := decision{kind: kindSkipLevel, app: app, ask: ask, key: k.Key, node: node, size: k.Size, locality: at, grows: k.Grows}
	skip := func(why Reason) decision { d.why = why; return d }
	// A strict ask has waited for its rack when it reserved a node there: its
	// fulfilment waits no more.
	waits := !fulfilment || (at == yarn.RackLocal && k.Relax)
	if waits && !placement.MayGo(at, p.delay(k), fulfilment) {
		return skip(LocalityDelay)
	}
	if !calc.FitsIn(k.Size, n.Total) {
		return skip(NodeTooSmall)
	}
	need := calc.Max(p.st.Meta.Cluster, k.Size.Sub(l.headroom), l.needUnreserve)
	mustFree := !fulfilment && calc.AnyAboveZero(need)
	hold := fulfilment || p.mayHold(a, k)
	if calc.FitsIn(k.Size, n.Unallocated()) {
		if !fulfilment && p.cfg.ContinueLooking && (!hold || mustFree) {
			if !mustFree {
				need = k.Size
			}
			if d.victim = p.victim(a, k, need); d.victim == 0 {
				return skip(NodeReservedByOther)
			}
			d.number = p.st.Reservations.Get(d.victim).Number
		}
		d.kind = kindAllocate
		return d
	}
	switch {
	case !hold, p.cfg.ContinueLooking && mustFree:
		return skip(NodeTooSmallFree)
	case !fulfilment && !p.mayReserve(a, k, n):
		return skip(NodeTooSmallFree)
	}
	d.kind = kindReserve
	return d
}

func (p *Planner) delay(k *state.Ask) placement.Delay {
	opportunities := int64(k.Opportunities)
	if p.counts(k) {
		opportunities++ // the present visit
	}
	return placement.Delay{
		Opportunities: opportunities,
		Outstanding:   k.Count,
		Entries:       int64(k.Entries),
		Nodes:         int64(p.st.Meta.UsableNodes),
		NodeDelay:     p.cfg.NodeLocalityDelay,
		RackDelay:     p.cfg.RackLocalityAdditionalDelay,
	}
}

// mayHold says whether a key may hold one node more.
func (p *Planner) mayHold(a *state.App, k *state.Ask) bool {
	return reservation.MayHold(p.cfg.Calculator, reservation.Claim{
		Outstanding:    k.Count,
		Held:           int64(k.Reservations),
		ReReservations: int64(k.ReReservations),
		Size:           k.Size,
		MinAlloc:       p.cfg.MinAlloc,
		MaxAlloc:       p.cfg.Queues[p.indexOf[a.Queue]].MaxAlloc,
	})
}

// mayReserve holds the caps that YARN does not have, and an operator's bar.
func (p *Planner) mayReserve(a *state.App, k *state.Ask, n *state.Node) bool {
	below := func(held int64, most int64) bool { return most < 0 || held < most }
	return below(int64(k.Reservations), p.cfg.MaxReservationsPerKey) &&
		below(int64(p.queues[p.indexOf[a.Queue]].reserving), p.cfg.MaxReservationsPerQueue) &&
		below(int64(p.st.Reservations.Len()), p.cfg.MaxReservationsPerCluster) &&
		!p.st.Barred(n, k.App, k.Key)
}

// victim is the newest own reservation of the key that covers need; 0 if none.
func (p *Planner) victim(a *state.App, k *state.Ask, need yarn.Resource) uint32 {
	for slot := a.Reservations; slot != 0; slot = p.st.Reservations.Get(slot).NextOfApp() {
		r := p.st.Reservations.Get(slot)
		if r.Key == k.Key && r.Grows == k.Grows && p.cfg.Calculator.FitsIn(need, r.Size) {
			return slot
		}
	}
	return 0
}
