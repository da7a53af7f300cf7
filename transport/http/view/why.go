package view

import (
	"fmt"

	"rmd/fsm/state"
	"rmd/internal/thousands"
)

// Why returns what an application waits for, as a code and a sentence. Both are empty if it waits
// for nothing. Why uses only the application's record; the planner can give the reasons behind it,
// at a higher cost (package explain).
func (v *View) Why(a *state.App) (code, text string) {
	switch {
	case a.State.Ended():
		return "", ""
	case a.AttemptState == state.AttemptNonRunnable:
		return "MAX_PARALLEL_APPS", "a limit on parallel applications blocks it"
	case a.AttemptState == state.AttemptPending:
		n, verb := v.State.Queues.Get(a.Queue).PendingApps, " wait"
		if n == 1 {
			verb += "s"
		}
		return "AM_LIMIT", thousands.Count(n, "application") + verb + " for room for an AM in " + v.QueuePath(a.Queue)
	case a.Reserving > 0:
		r := v.State.Reservations.Get(a.Reservations)
		return "HOLDS_RESERVATION", fmt.Sprintf("%s is reserved for it until %s is free there", v.NodeID(r.Node), v.Kinds.Format(r.Size))
	case a.AttemptState == state.AttemptActive && (a.Live > 0 || a.Unmanaged):
		return "AM_NOT_REGISTERED", "its AM has not registered"
	case a.AttemptState == state.AttemptActive:
		return "AM_NOT_PLACED", "its AM of " + v.Kinds.Format(a.AM) + " waits for a node"
	case a.Outstanding > 0:
		return "WANTS_CONTAINERS", "it wants " + thousands.Count(a.Outstanding, "more container")
	}
	return "", ""
}
