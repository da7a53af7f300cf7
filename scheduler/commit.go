package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// accept checks a decision against the current state, as YARN's committer checks a proposal that
// may be outdated. It reports whether the decision may be committed.
func (p *pass) accept(d *decision) bool {
	if !p.State.Apps.Has(d.app) || !p.State.Apps.Get(d.app).Activated() || !p.State.Nodes.Has(d.node) {
		return false
	}
	a, n := p.State.Apps.Get(d.app), p.State.Nodes.Get(d.node)
	ask := p.State.AskFor(a, d.key, d.increaseOf)
	if !n.TakesContainers() || (n.Reservation != 0) != p.Loan.Lends() || ask == 0 || ask != d.ask {
		return false
	}
	k := p.State.Asks.Get(ask)
	if k.Count == 0 || k.Size != d.size {
		return false
	}
	if d.exchanged != 0 && p.State.Reservations.Find(d.reservation) != d.exchanged {
		return false
	}
	fits := p.Config.Calculator.FitsIn(d.size, n.Unallocated())
	if fits != (d.state == stateAllocated) {
		return false
	}
	return p.limitOn(d, p.releasedBy(d)) == NoReason
}

// releasedBy returns the reservation on these nodes that a decision gives up, or nil.
func (v *pass) releasedBy(d *decision) *state.Reservation {
	if d.exchanged != 0 {
		if r := v.State.Reservations.Get(d.exchanged); v.Here(r) {
			return r
		}
	}
	return nil
}

// commit turns an accepted decision into events.
func (p *pass) commit(d *decision) {
	if d.gang != nil {
		p.s.commitGang(d)
		return
	}
	k := p.State.Asks.Get(d.ask)
	am, opportunities, counts := k.AM, k.Opportunities, p.counts(k)
	missed, misses := k.Missed, p.countsMisses(k)
	if d.exchanged != 0 {
		p.s.Cancel(d.reservation, yarn.CancelExchanged)
	}
	switch {
	case d.state == stateReserved:
		p.s.reserve(d, am)
	case d.increaseOf != 0:
		p.s.Emit(&event.ContainerIncreased{Container: p.State.Apps.Ref(p.State.Containers.Get(d.increaseOf))})
	default:
		p.allocate(d, am)
	}
	if d.increaseOf == 0 { // an increase waits for one node only, so nothing is counted for it
		p.counted(d, opportunities, counts)
		p.missedAfter(d, missed, misses)
	}
	if d.state == stateAllocated {
		p.s.CancelUnwanted(d.app)
	}
}

// allocate creates a container, with a lease if the pass lends.
func (p *pass) allocate(d *decision, am bool) {
	a := p.State.Apps.Get(d.app)
	e := event.ContainerAllocated{App: a.ID.Seq, Number: p.State.Meta.NextNumber(a), Key: d.key, Node: d.node,
		Locality: d.locality, AM: am}
	if !p.Loan.Lends() {
		p.s.Emit(&e)
		return
	}
	deadline, _ := p.lease(a, p.State.Asks.Get(d.ask), p.State.Nodes.Get(d.node))
	p.s.Emit(&event.ContainerLent{ContainerAllocated: e, Reservation: p.Loan.Reservation, DeadlineMillis: deadline})
}

// counted updates the count of missed opportunities after an allocation or reservation. A locality
// that is near enough resets the count; any other increases it.
func (p *pass) counted(d *decision, before uint32, counts bool) {
	after := uint32(0)
	if d.locality == yarn.OffSwitch || (d.locality == yarn.RackLocal && !p.Config.RackLocalityFullReset) {
		after = before
		if counts {
			after++
		}
	}
	if ask := p.State.Asks.Find(p.State.Apps.Get(d.app), d.key); ask != 0 {
		p.s.UpdateCounts(d.app, d.key, after, p.State.Asks.Get(ask).ReReservations)
	}
}

// UpdateCounts sets the counts of a key that still has an ask. A key without hosts and racks has no
// missed opportunities, because it does not wait for a locality.
func (s *Scheduler) UpdateCounts(app state.AppSlot, key yarn.SchedulerKey, opportunities, reReservations uint32) {
	a := s.State.Apps.Get(app)
	ask := s.State.Asks.Find(a, key)
	if ask == 0 {
		return
	}
	k := s.State.Asks.Get(ask)
	if k.Entries <= 1 {
		opportunities = 0
	}
	if k.Opportunities != opportunities || k.ReReservations != reReservations {
		s.Emit(&event.AskCountersUpdated{App: a.ID.Seq, Key: key, Opportunities: opportunities,
			ReReservations: reReservations})
	}
}
