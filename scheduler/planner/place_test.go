package planner

import "testing"

// TestNoPlaceWhereAnotherKindIsMissing checks that preemption is offered no node for an ask that has
// room there, where a lowered total of a kind that it does not want prevents every container.
func TestNoPlaceWhereAnotherKindIsMissing(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`conf dominant queues=(a:100) yarn.resource-types=yarn.io/gpu max=8G,8c
node add n1 8G,8c,4g
app full user=u1
ask full 1x2G,1c,4g
hb n1
node resize n1 8G,8c,2g
app waits user=u2
ask waits 1x1G,1c`)
	app := w.p.st.Apps.Find(2)
	for ask := range w.p.st.Asks.Of(w.p.st.Apps.Get(app)) {
		if found := w.p.sched.FindPlace(app, ask, 1); !found.None() {
			t.Errorf("the node is offered: %+v", found)
		}
	}
}
