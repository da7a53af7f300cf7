package scheduler

import (
	"rmd/fsm/event"
	"rmd/yarn"
)

// accept checks a decision against the present state, as YARN's committer does
// with a proposal that may have grown old. What is refused changes nothing.
func (p *Planner) accept(d *decision) bool {
	if !p.st.Apps.Has(d.app) || !p.st.Apps.Get(d.app).Activated() || !p.st.Nodes.Has(d.node) {
		return false
	}
	a, n := p.st.Apps.Get(d.app), p.st.Nodes.Get(d.node)
	ask := p.st.AskFor(a, d.key, d.grows)
	if n.State != yarn.NodeRunning || n.Reservation != 0 || ask == 0 || ask != d.ask {
		return false
	}
	k := p.st.Asks.Get(ask)
	if k.Count == 0 || k.Size != d.size {
		return false
	}
	var released yarn.Resource
	if d.victim != 0 {
		if p.st.Reservation(d.number) != d.victim {
			return false
		}
		released = p.st.Reservations.Get(d.victim).Size
	}
	fits := p.cfg.Calculator.FitsIn(d.size, n.Unallocated())
	if fits != (d.kind == kindAllocate) {
		return false
	}
	return p.withinLimits(d, released)
}

// withinLimits checks the user limit and the maximum of every queue above.
func (p *Planner) withinLimits(d *decision, released yarn.Resource) bool {
	a, calc, total := p.st.Apps.Get(d.app), p.cfg.Calculator, p.st.Meta.Cluster
	leaf := p.indexOf[a.Queue]
	used := p.st.Users.Get(a.UserSlot).Used.Sub(released)
	if calc.Compare(total, used, p.userLimit(leaf, a.UserSlot)) > 0 {
		return false
	}
	for i := leaf; i >= 0; i = p.queues[i].parent {
		q := p.st.Queues.Get(p.queues[i].slot)
		if !calc.FitsIn(q.Used.Add(d.size).Sub(released), p.tree.Capacities[i].EffMax) {
			return false
		}
	}
	return true
}

// commit turns an accepted decision into events.
func (p *Planner) commit(d *decision) {
	k := p.st.Asks.Get(d.ask)
	seq, am, opportunities, counts := p.st.Apps.Get(d.app).ID.Seq, k.AM, k.Opportunities, p.counts(k)
	if d.victim != 0 {
		p.cancel(d.number, yarn.CancelExchanged)
	}
	if d.grows != 0 {
		p.commitGrowth(d)
		return
	}
	number := p.st.NextNumber(p.st.Apps.Get(d.app))
	if d.kind == kindReserve {
		p.emit(&event.ReservationMade{Reservation: p.st.Meta.NextReservation + 1, App: seq, Number: number, Key: d.key, Node: d.node, AM: am})
		p.counted(d, opportunities, counts)
		return
	}
	p.emit(&event.ContainerAllocated{App: seq, Number: number, Key: d.key, Node: d.node, Locality: d.locality, AM: am})
	p.counted(d, opportunities, counts)
	p.cancelNeedless(d.app)
}

// commitGrowth is commit for a container that grows. Its ask waits for one node
// alone, so nothing is counted.
func (p *Planner) commitGrowth(d *decision) {
	ref := p.st.Ref(p.st.Containers.Get(d.grows))
	if d.kind == kindReserve {
		p.emit(&event.ResizeReserved{Reservation: p.st.Meta.NextReservation + 1, Container: ref})
		return
	}
	p.emit(&event.ContainerIncreased{Container: ref})
	p.cancelNeedless(d.app)
}

// counted keeps the count of missed offers after a grant: one near enough
// starts it anew, one further away counts as a visit.
func (p *Planner) counted(d *decision, before uint32, counts bool) {
	after := uint32(0)
	if d.locality == yarn.OffSwitch || (d.locality == yarn.RackLocal && !p.cfg.RackLocalityFullReset) {
		after = before
		if counts {
			after++
		}
	}
	if ask := p.st.Ask(p.st.Apps.Get(d.app), d.key); ask != 0 {
		p.recount(d.app, d.key, after, p.st.Asks.Get(ask).ReReservations)
	}
}

// recount sets the counts of a key that is still asked for. A key that names no
// place waits for none: it has no count of visits.
func (p *Planner) recount(app uint32, key yarn.SchedulerKey, opportunities, reReservations uint32) {
	a := p.st.Apps.Get(app)
	ask := p.st.Ask(a, key)
	if ask == 0 {
		return
	}
	k := p.st.Asks.Get(ask)
	if k.Entries <= 1 {
		opportunities = 0
	}
	if k.Opportunities != opportunities || k.ReReservations != reReservations {
		p.emit(&event.AskCounted{App: a.ID.Seq, Key: key, Opportunities: opportunities, ReReservations: reReservations})
	}
}

// cancel ends a reservation, and remembers that its node has room again.
func (p *Planner) cancel(number uint64, cause yarn.CancelCause) {
	if slot := p.st.Reservation(number); slot != 0 {
		p.freed = append(p.freed, p.st.Reservations.Get(slot).Node)
	}
	p.emit(&event.ReservationCancelled{Reservation: number, Cause: cause})
}

// cancelNeedless cancels the reservations of an application whose asks are
// gone, in the batch that makes them needless. With eager-cancel off they wait
// for their nodes' heartbeats, as in YARN.
func (p *Planner) cancelNeedless(app uint32) {
	if p.cfg.EagerCancel && p.st.Apps.Get(app).Reservations != 0 {
		p.cancelWhere(app, yarn.CancelAskGone, func(r reserved) bool { return !p.wantedAt(r.ask, r.node) })
	}
}

// wantedAt says whether an ask still wants a container on a node, however long
// it would wait for one there.
func (p *Planner) wantedAt(ask, node uint32) bool {
	if ask == 0 || p.st.Asks.Get(ask).Count == 0 {
		return false
	}
	k, n := p.st.Asks.Get(ask), p.st.Nodes.Get(node)
	if k.Grows != 0 {
		return p.standsOn(k, node)
	}
	if p.askedAt(k, n.Host) {
		return true
	}
	if rack := p.st.Location(k, n.RackID); rack != 0 {
		return p.st.Locations.Get(rack).Relax
	}
	return k.Relax
}

// reserved is what a cancellation is decided by.
type reserved struct {
	node  uint32
	ask   uint32
	key   yarn.SchedulerKey
	size  yarn.Resource
	grows uint32
}

// cancelWhere cancels the reservations of an application that meet a condition.
func (p *Planner) cancelWhere(app uint32, cause yarn.CancelCause, when func(r reserved) bool) {
	var numbers []uint64
	a := p.st.Apps.Get(app)
	for slot := a.Reservations; slot != 0; {
		r := p.st.Reservations.Get(slot)
		if when(reserved{r.Node, p.st.AskFor(a, r.Key, r.Grows), r.Key, r.Size, r.Grows}) {
			numbers = append(numbers, r.Number)
		}
		slot = r.NextOfApp()
	}
	for _, n := range numbers {
		p.cancel(n, cause)
	}
}
