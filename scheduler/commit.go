package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// accept checks a decision against the current state, as YARN's committer checks a proposal that
// may be outdated. It reports whether the decision may be committed.
func (s *Scheduler) accept(d *decision) bool {
	if !s.st.Apps.Has(d.app) || !s.st.Apps.Get(d.app).Activated() || !s.st.Nodes.Has(d.node) {
		return false
	}
	a, n := s.st.Apps.Get(d.app), s.st.Nodes.Get(d.node)
	ask := s.st.AskFor(a, d.key, d.increaseOf)
	if !n.TakesContainers() || (n.Reservation != 0) != s.loan.lends() || ask == 0 || ask != d.ask {
		return false
	}
	k := s.st.Asks.Get(ask)
	if k.Count == 0 || k.Size != d.size {
		return false
	}
	if d.exchanged != 0 && s.st.Reservation(d.reservation) != d.exchanged {
		return false
	}
	fits := s.cfg.Calculator.FitsIn(d.size, n.Unallocated())
	if fits != (d.state == stateAllocated) {
		return false
	}
	return s.limitOn(d, s.releasedBy(d)) == NoReason
}

// releasedBy returns the reservation in the current partition that a decision gives up, or nil.
func (s *Scheduler) releasedBy(d *decision) *state.Reservation {
	if d.exchanged != 0 {
		if r := s.st.Reservations.Get(d.exchanged); s.here(r) {
			return r
		}
	}
	return nil
}

// commit turns an accepted decision into events.
func (s *Scheduler) commit(d *decision) {
	if d.gang != nil {
		s.commitGang(d)
		return
	}
	k := s.st.Asks.Get(d.ask)
	am, opportunities, counts := k.AM, k.Opportunities, s.counts(k)
	missed, misses := k.Missed, s.countsMisses(k)
	if d.exchanged != 0 {
		s.cancel(d.reservation, yarn.CancelExchanged)
	}
	switch {
	case d.state == stateReserved:
		s.reserve(d, am)
	case d.increaseOf != 0:
		s.Emit(&event.ContainerIncreased{Container: s.st.Ref(s.st.Containers.Get(d.increaseOf))})
	default:
		s.allocate(d, am)
	}
	if d.increaseOf == 0 { // an increase waits for one node only, so nothing is counted for it
		s.counted(d, opportunities, counts)
		s.missedAfter(d, missed, misses)
	}
	if d.state == stateAllocated {
		s.CancelUnwanted(d.app)
	}
}

// allocate creates a container, with a lease if the pass lends.
func (s *Scheduler) allocate(d *decision, am bool) {
	a := s.st.Apps.Get(d.app)
	e := event.ContainerAllocated{App: a.ID.Seq, Number: s.st.NextNumber(a), Key: d.key, Node: d.node, Locality: d.locality, AM: am}
	if !s.loan.lends() {
		s.Emit(&e)
		return
	}
	deadline, _ := s.lease(a, s.st.Asks.Get(d.ask), s.st.Nodes.Get(d.node))
	s.Emit(&event.ContainerLent{ContainerAllocated: e, Reservation: s.loan.reservation, DeadlineMillis: deadline})
}

// counted updates the count of missed opportunities after an allocation or reservation. A locality
// that is near enough resets the count; any other increases it.
func (s *Scheduler) counted(d *decision, before uint32, counts bool) {
	after := uint32(0)
	if d.locality == yarn.OffSwitch || (d.locality == yarn.RackLocal && !s.cfg.RackLocalityFullReset) {
		after = before
		if counts {
			after++
		}
	}
	if ask := s.st.Ask(s.st.Apps.Get(d.app), d.key); ask != 0 {
		s.UpdateCounts(d.app, d.key, after, s.st.Asks.Get(ask).ReReservations)
	}
}

// UpdateCounts sets the counts of a key that still has an ask. A key without hosts and racks has no
// missed opportunities, because it does not wait for a locality.
func (s *Scheduler) UpdateCounts(app uint32, key yarn.SchedulerKey, opportunities, reReservations uint32) {
	a := s.st.Apps.Get(app)
	ask := s.st.Ask(a, key)
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
