package planner

import (
	"fmt"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestWeightsWithManyDecimals checks that users whose weights differ from 8 in the ninth decimal
// have the same limits as users of weight 8.
func TestWeightsWithManyDecimals(t *testing.T) {
	const users = 24
	limit := func(weight func(user int) string) (limits string) {
		w := newWorld(t)
		w.tellAll("conf queues=(a:100) a.user-limit-factor=100 a.minimum-user-limit-percent=0.01")
		for i := range users {
			w.set(fmt.Sprintf("root.a.user-settings.u%d.weight", i), weight(i))
		}
		if f := w.plan(&input.SetQueues{Properties: w.props}).Refused(); f != nil {
			t.Fatal(f)
		}
		w.tellAll("node add n1 1000G")
		for i := range users {
			name := fmt.Sprint("app", i)
			w.tellAll(fmt.Sprintf("app %s user=u%d queue=a\nask %s 90x1G", name, i, name))
		}
		for range 20 * users {
			w.plan(&input.NodeHeartbeat{ID: w.nodes["n1"]})
		}
		for i := range users {
			slot, a := w.app(fmt.Sprint("app", i))
			v := w.p.sched.In(0, false)
			limits += fmt.Sprintf(" %d of %d", w.p.st.Users.Get(a.UserSlot).Used[yarn.Memory],
				v.UserLimit(v.LeafOf(w.p.st.Apps.Get(slot)), a.UserSlot)[yarn.Memory])
		}
		return limits
	}
	round := limit(func(int) string { return "8" })
	if got := limit(func(user int) string { return fmt.Sprintf("8.00000000%d", 1+user%2) }); got != round {
		t.Errorf("limits are\n%s, with weight 8\n%s", got, round)
	}
}
