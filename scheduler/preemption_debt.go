package scheduler

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/preempt"
	"rmd/yarn"
)

// followDebts records which leaves wait for containers within their guarantee, and since when. The
// state has the time, so a new leader continues with it.
func (r *preemptionRound) followDebts() {
	for i := range r.leaves {
		debt, was := r.s.st.Debts.To(r.s.queues[i].slot, r.s.at.label)
		switch owed := r.set.GuaranteeWaitMillis >= 0 && r.waitsForGuarantee(int32(i)); {
		case owed && !was:
			r.s.owe(int32(i), r.s.at, yarn.DebtOwed)
		case was && !owed:
			r.s.owe(int32(i), r.s.at, yarn.DebtEnded)
		case owed && !debt.Overdue && r.set.OverdueAt(debt.SinceMillis) <= r.s.now:
			r.s.owe(int32(i), r.s.at, yarn.DebtOverdue)
		}
	}
}

func (s *Scheduler) owe(leaf int32, p *partition, debt yarn.Debt) {
	s.Emit(&event.GuaranteeOwed{Path: s.cfg.Queues[leaf].Path, Label: s.st.Labels.Name(p.label), Debt: debt})
}

// endDebts removes all debts, because no round serves them.
func (s *Scheduler) endDebts() {
	if s.st.Debts.Len() == 0 {
		return
	}
	for _, p := range s.partitions {
		for i := range s.queues {
			if _, owed := s.st.Debts.To(s.queues[i].slot, p.label); owed {
				s.owe(int32(i), p, yarn.DebtEnded)
			}
		}
	}
}

// waitsForGuarantee reports whether a leaf has an ask for a container that its users and its
// guarantee allow in addition to its containers.
func (r *preemptionRound) waitsForGuarantee(leaf int32) bool {
	st := r.s.st
	if !r.s.cfg.Queues[leaf].Leaf || !r.s.cfg.Calculator.AnyAboveZero(r.leaves[leaf].under) {
		return false
	}
	for _, app := range r.s.at.queues[leaf].active {
		a := st.Apps.Get(app)
		if ok, _ := r.s.userCheck(leaf, a); !ok {
			continue
		}
		for slot, k := range st.Asks.Of(a) {
			if k.Count > 0 && k.Label == r.s.at.label && !st.Gangs.HoldsBack(k) && r.withinGuarantee(beneficiary{leaf: leaf, app: app, ask: slot}) {
				return true
			}
		}
	}
	return false
}

// overdueAt returns the time from which a round takes what an ask needs, whatever work is lost. It
// returns never if the ask is not within the guarantee of its leaf, or if there is no such time.
func (r *preemptionRound) overdueAt(w beneficiary) int64 {
	if !r.forGuarantees() || r.set.GuaranteeWaitMillis < 0 || !r.withinGuarantee(w) {
		return never
	}
	debt, owed := r.s.st.Debts.To(r.s.queues[w.leaf].slot, r.s.at.label)
	if !owed {
		return never
	}
	return r.set.OverdueAt(debt.SinceMillis)
}

// doublings is how often the work that may be lost for an ask doubles until the ask is overdue.
// Young containers therefore end before old ones, and old ones only if nothing else ends in time.
const doublings = 10

// debtWorth returns the work that may be lost for an ask because its leaf waits for its guarantee,
// as the time in which a container of the ask does as much.
func (r *preemptionRound) debtWorth(w beneficiary) uint64 {
	at, all := r.overdueAt(w), r.set.OverdueMillis()
	switch {
	case at == never:
		return 0
	case at <= r.s.now:
		return math.MaxUint64
	}
	return uint64(max(r.set.MaxLostMillis, 1000)) << (doublings * (r.s.now - at + all) / all)
}

// owesLate reports whether a leaf has waited for its guarantee of a partition for so long that it
// must get it now.
func (s *Scheduler) owesLate(p *partition, set *preempt.Settings) bool {
	late := false
	s.eachDebt(func(d state.Debt) { late = late || d.Label == p.label && set.OverdueAt(d.SinceMillis) <= s.now })
	return late
}

// FirstOverdue returns the time at which the first debt becomes overdue that is not marked as
// overdue yet, in Unix milliseconds; the largest number if there is none.
func (s *Scheduler) FirstOverdue(set *preempt.Settings) int64 {
	first := int64(never)
	s.eachDebt(func(d state.Debt) {
		if !d.Overdue {
			first = min(first, set.OverdueAt(d.SinceMillis))
		}
	})
	return first
}

func (s *Scheduler) eachDebt(f func(state.Debt)) {
	s.st.Debts.Each(func(_ state.QueueSlot, list *state.Debts) bool {
		for _, d := range *list {
			f(d)
		}
		return true
	})
}
