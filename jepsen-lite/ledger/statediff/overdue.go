package statediff

import (
	"fmt"

	"rmd/fsm/state"
	"rmd/yarn"
)

// Overdue describes what time alone should have ended, by the clock of the log (L6). A leader ends
// it within a few seconds, if there is one. Warnings, leases and idle queues are judged from the
// log.
func Overdue(st *state.State) (found []string) {
	note := func(due int64, format string, args ...any) {
		if due <= st.Meta.NowMillis {
			found = append(found, fmt.Sprintf(format, args...)+fmt.Sprintf(" since %d", due))
		}
	}
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.State == yarn.NodeDecommissioning && n.DeadlineMillis > 0 {
			note(n.DeadlineMillis, "the drain of node %s is over", n.ID)
		}
		return true
	})
	st.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		if a.State.Ended() {
			return true
		}
		if a.LifetimeMillis > 0 && !a.Shown().Ended() { // who has unregistered may take his time to end
			note(a.SubmittedMillis+a.LifetimeMillis, "the lifetime of %s is over", a.ID)
		}
		if st.Gangs.Has(slot) {
			if g := st.Gangs.Get(slot); g.Spec.TimeoutMillis > 0 && g.AskedMillis > 0 &&
				(g.State == state.GangAsking || g.State == state.GangWaiting) {
				note(g.AskedMillis+g.Spec.TimeoutMillis, "the gang of %s has timed out", a.ID)
			}
		}
		return true
	})
	st.Delegations.Each(func(_ state.DelegationSlot, t *state.DelegationToken) bool {
		note(t.ExpiresMillis, "delegation token %d is over", t.Sequence)
		return true
	})
	note(st.AppTokens.FirstMillis(), "a token of applications has ended or is to be released")
	for i := range st.JoinTokens {
		note(st.JoinTokens[i].ExpiresMillis, "a join token of %s is over", st.JoinTokens[i].CreatedBy)
	}
	if oldest := st.Meta.OldestRequest; oldest != 0 {
		note(st.Requests.Get(oldest).AtMillis+state.RequestKeepMillis, "an idempotency key is over")
	}
	for which := range yarn.KeyKinds {
		if k := st.Keys(which); k.Next.ID != 0 {
			note(k.ActivateMillis, "master key %d is to be in force", k.Next.ID)
		}
	}
	return found
}
