package planner

import (
	"strings"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/explain"
)

// TestExplainLeases checks that the borrower learns until when it may keep its container, and that
// the application of the reservation learns who borrows from it.
func TestExplainLeases(t *testing.T) {
	seen := map[bool]int{} // key: whether the lease has a deadline
	var r *lendingRun
	for step := range 8 * twinSteps {
		if step%twinSteps == 0 {
			r = newLendingRun(uint64(step/twinSteps), "preemptable", false)
		}
		r.step()
		st := r.p.State()
		st.Leases.Each(func(slot state.ContainerSlot, l *state.Lease) bool {
			c, holder := st.Containers.Get(slot), st.Reservations.Get(st.Reservations.Find(l.Reservation)).App
			borrows := must(explain.Application(r.p.sched, st.Apps.Get(c.App).ID)).Leases
			lends := must(explain.Application(r.p.sched, st.Apps.Get(holder).ID)).Leases
			if !hasLease(borrows, st.Apps.ContainerID(c).String(), false, l.DeadlineMillis) ||
				!hasLease(lends, st.Apps.ContainerID(c).String(), true, l.DeadlineMillis) {
				t.Fatalf("%s has %+v: %+v and %+v", st.Apps.ContainerID(c), *l, borrows, lends)
			}
			seen[l.DeadlineMillis != 0]++
			return true
		})
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("seen are %v", seen)
	}
}

func hasLease(leases []explain.Lease, container string, lends bool, deadline int64) bool {
	for _, l := range leases {
		if l.Container == container && l.Lends == lends {
			return l.DeadlineMillis == deadline && strings.Contains(l.Text, "in ") == (deadline != 0)
		}
	}
	return false
}
