package planner

import (
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// call is a call of an application's AM that asks for containers anywhere.
func (h *house) call(at yarn.AttemptID, containers int64, size yarn.Resource) []input.Granted {
	h.t.Helper()
	in := &input.Allocate{Attempt: at, Response: h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App)).Response}
	in.Asks = []input.Ask{{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: containers, Size: size, Relax: true}}
	return h.must(h.t, in).(*input.AllocateReply).Granted
}

// TestNextInputsGoOn checks that the next inputs serve what one input had to leave, even if they are
// refused, and that a twin of the planner does the same.
func TestNextInputsGoOn(t *testing.T) {
	h := newHouse(t, 50, false)
	live := func() int { return h.p.st.Containers.Len() }
	h.call(h.run(), 390, yarn.NewResource(1024, 1))
	refused := input.Request{Input: &input.KillApplication{ID: yarn.ApplicationID{ClusterTimestamp: 1, Seq: 99}}}
	for _, want := range []int{256, 384, 390, 390} {
		twin := must(h.p.Twin())
		reply, _ := h.p.Plan(h.now, refused)
		if reply.Refused() == nil || live() != want {
			t.Errorf("%d containers after a refused input, want %d", live(), want)
		}
		if twin.Plan(h.now, refused); twin.st.Digest() != h.p.st.Digest() {
			t.Error("a twin decides otherwise")
		}
	}
}

// TestFreedNodeIsFilled checks that an application gets all of the room of a large container that
// ends.
func TestFreedNodeIsFilled(t *testing.T) {
	h := newHouse(t, 1, false)
	large, small := h.run(), h.run()
	whole := h.call(large, 1, yarn.NewResource(8192, 4))[0].Container
	h.call(small, 20, yarn.NewResource(1024, 1))
	h.must(t, &input.NodeHeartbeat{ID: h.nodes[0],
		Statuses: []input.ContainerStatus{{Container: whole, State: yarn.ContainerCompleted}}})
	if got := len(h.call(small, 12, yarn.NewResource(1024, 1))); got != 8 {
		t.Errorf("%d containers on the freed node, want 8", got)
	}
}
