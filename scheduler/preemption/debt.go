package preemption

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// followDebts records which leaves wait for containers within their guarantee, and since when. The
// state has the time, so a new leader continues with it.
func (r *round) followDebts() {
	for i := range r.leaves {
		debt, was := r.s.State.Debts.To(r.s.Queues[i].Slot, r.s.At.Label)
		switch owed := r.set.GuaranteeWaitMillis >= 0 && r.waitsForGuarantee(int32(i)); {
		case owed && !was:
			owe(r.sched, int32(i), r.s.At, yarn.DebtOwed)
		case was && !owed:
			owe(r.sched, int32(i), r.s.At, yarn.DebtEnded)
		case owed && !debt.Overdue && r.set.OverdueAt(debt.SinceMillis) <= r.now:
			owe(r.sched, int32(i), r.s.At, yarn.DebtOverdue)
		}
	}
}

func owe(s *scheduler.Scheduler, leaf int32, p *views.Partition, debt yarn.Debt) {
	s.Emit(&event.GuaranteeOwed{Path: s.Config.Queues[leaf].Path, Label: s.State.Labels.Name(p.Label), Debt: debt})
}

// endDebts removes all debts, because no round serves them.
func endDebts(s *scheduler.Scheduler) {
	if s.State.Debts.Len() == 0 {
		return
	}
	for _, p := range s.Partitions {
		for i := range s.Queues {
			if _, owed := s.State.Debts.To(s.Queues[i].Slot, p.Label); owed {
				owe(s, int32(i), p, yarn.DebtEnded)
			}
		}
	}
}

// waitsForGuarantee reports whether a leaf has an ask for a container that its users and its
// guarantee allow in addition to its containers.
func (r *round) waitsForGuarantee(leaf int32) bool {
	st := r.s.State
	if !r.s.Config.Queues[leaf].Leaf || !r.s.Config.Calculator.AnyAboveZero(r.leaves[leaf].under) {
		return false
	}
	for _, app := range r.s.At.Queues[leaf].Active {
		a := st.Apps.Get(app)
		if ok, _ := r.s.UserCheck(leaf, a); !ok && a.Reserving == 0 { // what it has reserved may be the rest of its limit
			continue
		}
		for slot, k := range st.Asks.Of(a) {
			if k.Count > 0 && k.Label == r.s.At.Label && !st.Gangs.HoldsBack(k) &&
				r.withinGuarantee(beneficiary{leaf: leaf, app: app, ask: slot}) {
				return true
			}
		}
	}
	return false
}

// overdueAt returns the time from which a round takes what an ask needs, whatever work is lost. It
// returns never if the ask is not within the guarantee of its leaf, or if there is no such time.
func (r *round) overdueAt(w beneficiary) int64 {
	if !r.forGuarantees() || r.set.GuaranteeWaitMillis < 0 || !r.withinGuarantee(w) {
		return scheduler.Never
	}
	debt, owed := r.s.State.Debts.To(r.s.Queues[w.leaf].Slot, r.s.At.Label)
	if !owed {
		return scheduler.Never
	}
	return r.set.OverdueAt(debt.SinceMillis)
}

// doublings is how often the work that may be lost for an ask doubles until the ask is overdue.
// Young containers therefore end before old ones, and old ones only if nothing else ends in time.
const doublings = 10

// debtWorth returns the work that may be lost for an ask because its leaf waits for its guarantee,
// as the time in which a container of the ask does as much.
func (r *round) debtWorth(w beneficiary) uint64 {
	at, all := r.overdueAt(w), r.set.OverdueMillis()
	switch {
	case at == scheduler.Never:
		return 0
	case at <= r.now:
		return math.MaxUint64
	}
	return uint64(max(r.set.MaxLostMillis, 1000)) << (doublings * (r.now - at + all) / all)
}

// owesLate reports whether a leaf has waited for its guarantee of a partition for so long that it
// must get it now.
func owesLate(st *state.State, label state.LabelSlot, now int64, set *entitlement.Settings) bool {
	late := false
	eachDebt(st, func(d state.Debt) { late = late || d.Label == label && set.OverdueAt(d.SinceMillis) <= now })
	return late
}

// FirstOverdue returns the time at which the first debt becomes overdue that is not marked as
// overdue yet, in Unix milliseconds; the largest number if there is none.
func FirstOverdue(st *state.State, set *entitlement.Settings) int64 {
	first := int64(scheduler.Never)
	eachDebt(st, func(d state.Debt) {
		if !d.Overdue {
			first = min(first, set.OverdueAt(d.SinceMillis))
		}
	})
	return first
}

func eachDebt(st *state.State, f func(state.Debt)) {
	st.Debts.Each(func(_ state.QueueSlot, list *state.Debts) bool {
		for _, d := range *list {
			f(d)
		}
		return true
	})
}
