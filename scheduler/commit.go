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
	if d.exchanged != 0 {
		if p.st.Reservation(d.reservation) != d.exchanged {
			return false
		}
		released = p.st.Reservations.Get(d.exchanged).Size
	}
	fits := p.cfg.Calculator.FitsIn(d.size, n.Unallocated())
	if fits != (d.kind == kindAllocate) {
		return false
	}
	return p.withinLimits(d, released)
}

// commit turns an accepted decision into events.
func (p *Planner) commit(d *decision) {
	k := p.st.Asks.Get(d.ask)
	am, opportunities, counts := k.AM, k.Opportunities, p.counts(k)
	if d.exchanged != 0 {
		p.cancel(d.reservation, yarn.CancelExchanged)
	}
	switch {
	case d.kind == kindReserve:
		p.reserve(d, am)
	case d.grows != 0:
		p.emit(&event.ContainerIncreased{Container: p.st.Ref(p.st.Containers.Get(d.grows))})
	default:
		a := p.st.Apps.Get(d.app)
		p.emit(&event.ContainerAllocated{App: a.ID.Seq, Number: p.st.NextNumber(a), Key: d.key, Node: d.node, Locality: d.locality, AM: am})
	}
	if d.grows == 0 { // the ask of an increase waits for one node alone, so nothing is counted
		p.counted(d, opportunities, counts)
	}
	if d.kind == kindAllocate {
		p.cancelUnwanted(d.app)
	}
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
