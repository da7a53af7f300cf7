package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// accept checks a decision against the current state, as YARN's committer checks a proposal that
// may be outdated. It reports whether the decision may be committed.
func (p *pass) accept(d *decision) bool {
	if !p.st.Apps.Has(d.app) || !p.st.Apps.Get(d.app).Activated() || !p.st.Nodes.Has(d.node) {
		return false
	}
	a, n := p.st.Apps.Get(d.app), p.st.Nodes.Get(d.node)
	ask := p.st.AskFor(a, d.key, d.increaseOf)
	if !n.TakesContainers() || (n.Reservation != 0) != p.loan.lends() || ask == 0 || ask != d.ask {
		return false
	}
	k := p.st.Asks.Get(ask)
	if k.Count == 0 || k.Size != d.size {
		return false
	}
	if d.exchanged != 0 && p.st.Reservations.Find(d.reservation) != d.exchanged {
		return false
	}
	fits := p.cfg.Calculator.FitsIn(d.size, n.Unallocated())
	if fits != (d.state == stateAllocated) {
		return false
	}
	return p.limitOn(d, p.releasedBy(d)) == NoReason
}

// releasedBy returns the reservation on these nodes that a decision gives up, or nil.
func (v *View) releasedBy(d *decision) *state.Reservation {
	if d.exchanged != 0 {
		if r := v.st.Reservations.Get(d.exchanged); v.here(r) {
			return r
		}
	}
	return nil
}

// commit turns an accepted decision into events.
func (p *pass) commit(d *decision) {
	if d.gang != nil {
		p.commitGang(d)
		return
	}
	k := p.st.Asks.Get(d.ask)
	am, opportunities, counts := k.AM, k.Opportunities, p.counts(k)
	missed, misses := k.Missed, p.countsMisses(k)
	if d.exchanged != 0 {
		p.cancel(d.reservation, yarn.CancelExchanged)
	}
	switch {
	case d.state == stateReserved:
		p.reserve(d, am)
	case d.increaseOf != 0:
		p.Emit(&event.ContainerIncreased{Container: p.st.Apps.Ref(p.st.Containers.Get(d.increaseOf))})
	default:
		p.allocate(d, am)
	}
	if d.increaseOf == 0 { // an increase waits for one node only, so nothing is counted for it
		p.counted(d, opportunities, counts)
		p.missedAfter(d, missed, misses)
	}
	if d.state == stateAllocated {
		p.CancelUnwanted(d.app)
	}
}

// allocate creates a container, with a lease if the pass lends.
func (p *pass) allocate(d *decision, am bool) {
	a := p.st.Apps.Get(d.app)
	e := event.ContainerAllocated{App: a.ID.Seq, Number: p.st.Meta.NextNumber(a), Key: d.key, Node: d.node, Locality: d.locality, AM: am}
	if !p.loan.lends() {
		p.Emit(&e)
		return
	}
	deadline, _ := p.lease(a, p.st.Asks.Get(d.ask), p.st.Nodes.Get(d.node))
	p.Emit(&event.ContainerLent{ContainerAllocated: e, Reservation: p.loan.reservation, DeadlineMillis: deadline})
}

// counted updates the count of missed opportunities after an allocation or reservation. A locality
// that is near enough resets the count; any other increases it.
func (p *pass) counted(d *decision, before uint32, counts bool) {
	after := uint32(0)
	if d.locality == yarn.OffSwitch || (d.locality == yarn.RackLocal && !p.cfg.RackLocalityFullReset) {
		after = before
		if counts {
			after++
		}
	}
	if ask := p.st.Asks.Find(p.st.Apps.Get(d.app), d.key); ask != 0 {
		p.UpdateCounts(d.app, d.key, after, p.st.Asks.Get(ask).ReReservations)
	}
}

// UpdateCounts sets the counts of a key that still has an ask. A key without hosts and racks has no
// missed opportunities, because it does not wait for a locality.
func (s *Scheduler) UpdateCounts(app state.AppSlot, key yarn.SchedulerKey, opportunities, reReservations uint32) {
	a := s.st.Apps.Get(app)
	ask := s.st.Asks.Find(a, key)
	if ask == 0 {
		return
	}
	k := s.st.Asks.Get(ask)
	if k.Entries <= 1 {
		opportunities = 0
	}
	if k.Opportunities != opportunities || k.ReReservations != reReservations {
		s.Emit(&event.AskCountersUpdated{App: a.ID.Seq, Key: key, Opportunities: opportunities, ReReservations: reReservations})
	}
}
