package planner

import (
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
	"rmd/scheduler/planner/lifecycle"
	"rmd/scheduler/preemption"
)

// preemptions runs the rounds of preemption and ends what is recalled.
type preemptions struct {
	sched  *scheduler.Scheduler
	st     *state.State
	ends   lifecycle.Ends
	rounds *preemption.Rounds
}

// endRecalled ends the containers that must now give back idle room of a reserved node. It reports
// whether there were any.
func (pr preemptions) endRecalled() bool {
	recalled := pr.sched.TakeRecalled()
	for _, slot := range recalled {
		// The container may have ended meanwhile, or its lease may: then a new warning may stand.
		if pr.st.Leases.Has(slot) && pr.st.Preemptions.Has(slot) {
			pr.ends.KillPreempted(slot)
		}
	}
	return len(recalled) > 0
}

// round runs a preemption round: it withdraws warnings, ends the containers whose
// deadline has passed, and warns others.
func (pr preemptions) round(in *input.PreemptionRound) input.Reply {
	pr.sched.EndLeases()
	for _, slot := range pr.rounds.Round() {
		if pr.st.Preemptions.Has(slot) { // the end of an AM may have withdrawn warnings
			pr.ends.KillPreempted(slot)
		}
	}
	return in.NewReply()
}

// warningsAt returns the earliest deadline of a warning. While preemption is off there are no
// warnings, except to containers with a lease.
func (pr preemptions) warningsAt() int64 {
	if !pr.sched.Config.Preemption.Enabled {
		return due.Never
	}
	return due.Earliest(&pr.st.Preemptions, func(w *state.Preemption) int64 { return w.DeadlineMillis })
}

// guaranteesAt returns when the first queue has waited for its guarantee for so long that a round
// takes what it needs.
func (pr preemptions) guaranteesAt() int64 {
	set := &pr.sched.Config.Preemption
	if !set.Enabled || set.ObserveOnly || set.Selector == entitlement.YARN {
		return due.Never
	}
	return preemption.FirstOverdue(pr.st, set)
}
