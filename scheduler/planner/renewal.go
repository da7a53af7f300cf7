package planner

import (
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/planner/lifecycle"
	"rmd/scheduler/renewal"
	"rmd/yarn"
)

// renewals returns what plans the tokens that applications carry for other services.
func renewals(sched *scheduler.Scheduler, ends lifecycle.Ends) renewal.Plan {
	return renewal.Plan{State: sched.State, NowMillis: sched.Now(), Emit: sched.Emit, Start: sched.StartAttempt,
		Fail: func(app state.AppSlot, text string) { ends.Application(app, yarn.AppFailed, yarn.FinalFailed, text) }}
}
