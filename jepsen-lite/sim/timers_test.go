package sim

import (
	"testing"
	"time"

	"rmd/jepsen-lite/sim/settings"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestTimers checks that rmd's timers work in the simulation, at a leader that was elected after
// they started: an application ends at its maximum lifetime, a silent AM and a silent node expire,
// and master keys are rolled.
func TestTimers(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.addNodes(8, "n1")
		submit := func(name string, lifetime time.Duration) yarn.ApplicationID {
			in := &input.SubmitApplication{Name: name, User: "u", Queue: "a", Unmanaged: true, MaxAttempts: 1,
				LifetimeMillis: lifetime.Milliseconds()}
			return s.plan(in).(*input.SubmitApplicationReply).ID
		}
		bounded, silent := submit("bounded", settings.KeyRoll/6), submit("silent", 0)
		for _, id := range []yarn.ApplicationID{bounded, silent} {
			s.plan(&input.RegisterAttempt{Attempt: yarn.AttemptID{App: id, Attempt: 1}})
		}
		before := s.state(s.leader(10 * election))
		_, lead := s.killLeader()
		ended := func(id yarn.ApplicationID) bool {
			st := s.state(lead)
			return st.Apps.Get(st.Apps.Find(id.Seq)).State.Ended()
		}
		time.Sleep(settings.KeyRoll/6 + early)
		if !ended(bounded) || ended(silent) {
			t.Errorf("after its lifetime the application has ended: %v; the other one: %v", ended(bounded), ended(silent))
		}
		time.Sleep(settings.AttemptExpiry)
		if !ended(silent) {
			t.Error("the application of a silent AM goes on")
		}
		if st := s.state(lead); st.Nodes.Get(st.Nodes.Find(node("n1"))).State != yarn.NodeLost {
			t.Error("a silent node is not given up")
		}
		time.Sleep(2 * settings.KeyRoll)
		for which := range yarn.KeyKinds {
			if was, is := before.Keys(which).Current.ID, s.state(lead).Keys(which).Current.ID; is <= was {
				t.Errorf("%s: key %d is in force, it was %d", which, is, was)
			}
		}
	})
}
