// Package lifecycle ends containers, attempts and applications, with what follows from each end: the
// end of an AM ends its attempt, the end of the last attempt ends the application, and the end of the
// last application stops a draining queue. Whatever the reason of an end is, it comes through here.
//
// The package answers no input. It does not know why something ends: its callers say so, with the
// exit status and the diagnostics.
package lifecycle

import (
	"rmd/fsm/state"
	"rmd/scheduler"
)

// Ends ends what a state has, by events of its scheduler.
type Ends struct {
	sched *scheduler.Scheduler
	st    *state.State // the same state as the scheduler's
}

// New returns the Ends of the state of a scheduler.
func New(sched *scheduler.Scheduler) Ends { return Ends{sched: sched, st: sched.State} }
