package sim

import (
	"context"
	"math/rand"
	"testing"

	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/settings"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestLateAllocate checks an old copy of an AM's call that arrives late. The AM has had the answer
// from another replica and has since made calls that changed nothing. The late copy must not
// receive the containers for which the AM waits.
func TestLateAllocate(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.addNodes(8, "n1")
		s.submit("app1", "a", 0, "")
		pull := func(asks ...input.Ask) *input.AllocateReply {
			r := s.plan(&input.Allocate{Attempt: yarn.AttemptID{App: s.apps["app1"], Attempt: 1}, Response: s.resp["app1"],
				Asks: asks, FromAM: true}).(*input.AllocateReply)
			s.resp["app1"] = r.Response
			return r
		}
		pull(input.Ask{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1,
			Size: yarn.NewResource(gib, 1), Relax: true})
		late := &input.Allocate{Attempt: yarn.AttemptID{App: s.apps["app1"], Attempt: 1},
			Response: s.resp["app1"], FromAM: true}
		pull()
		pull()
		s.beat("n1") // the container is allocated, and the AM does not know yet
		c := load.NewCaller(s.world, "late", rand.New(rand.NewSource(1)))
		if r, ok := c.Call(context.Background(), input.Request{Input: late}); !ok || r.Refused() == nil ||
			r.Refused().Reason != input.WrongResponse {
			t.Errorf("the late copy is answered %+v, %v", r, ok)
		}
		told := 0
		for range 3 {
			told += len(pull().Granted)
		}
		if told != 1 {
			t.Errorf("the AM was told of %d containers; %s live", told, s.containers(s.leader(10*election), "app1"))
		}
	})
}
