package view

import (
	"fmt"

	"rmd/fsm/state"
	"rmd/internal/thousands"
)

// Reason is what an application waits for, as a code and a sentence. Both are empty if it waits for
// nothing.
type Reason struct {
	Code, Text string
	Never      bool // it will never get what it asks for
}

// Why returns what an application waits for. Why uses only the application's record; the planner
// can give the reasons behind it, at a higher cost (package explain).
func (v *View) Why(a *state.App) Reason {
	switch {
	case a.State.Ended():
		return Reason{}
	case a.AttemptState == state.AttemptNonRunnable:
		return Reason{Code: "MAX_PARALLEL_APPS", Text: "a limit on parallel applications blocks it"}
	case a.AttemptState == state.AttemptPending:
		n, verb := v.State.Queues.Get(a.Queue).PendingApps, " wait"
		if n == 1 {
			verb += "s"
		}
		return Reason{Code: "AM_LIMIT", Text: thousands.Count(n, "application") + verb + " for room for an AM in " +
			v.QueuePath(a.Queue)}
	case a.Reserving > 0:
		r := v.State.Reservations.Get(a.Reservations)
		return Reason{Code: "HOLDS_RESERVATION",
			Text: fmt.Sprintf("%s is reserved for it until %s is free there", v.NodeID(r.Node), v.Kinds.Format(r.Size))}
	case a.AttemptState == state.AttemptActive && (a.Live > 0 || a.Unmanaged):
		return Reason{Code: "AM_NOT_REGISTERED", Text: "its AM has not registered"}
	case a.AttemptState == state.AttemptActive:
		return Reason{Code: "AM_NOT_PLACED", Text: "its AM of " + v.Kinds.Format(a.AM) + " waits for a node"}
	case a.Outstanding > 0:
		return Reason{Code: "WANTS_CONTAINERS", Text: "it wants " + thousands.Count(a.Outstanding, "more container")}
	}
	return Reason{}
}
