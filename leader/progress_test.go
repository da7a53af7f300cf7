package leader

import (
	"testing"
	"testing/synctest"
	"time"
)

// getsOn reports whether the leadership gets on within some ticks, and what hangs.
func getsOn(s *Sequencer) (bool, string) {
	before, _ := s.Progress()
	time.Sleep(5 * s.cfg.TickInterval)
	synctest.Wait()
	now, hangs := s.Progress()
	return now != before, hangs
}

// TestProgress checks that a leadership gets on while it waits for inputs, and does not while its
// batch is not applied, or while its goroutine hangs in the planner.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		if _, hangs := r.Progress(); hangs != "" || r.Begins() {
			t.Errorf("before the replica leads: %q", hangs)
		}
		end := r.lead(1)
		if ok, _ := getsOn(r.Sequencer); !ok {
			t.Error("an idle leadership does not get on")
		}
		out := make(chan done, 4)
		r.log.delay = time.Minute
		r.ask("slow", audit("x"), out)
		if ok, hangs := getsOn(r.Sequencer); ok || hangs != stageTexts[stageWaits] {
			t.Errorf("with a batch in flight: gets on %v, %q", ok, hangs)
		}
		<-out
		r.log.delay = 0
		if ok, _ := getsOn(r.Sequencer); !ok {
			t.Error("it does not get on after the batch")
		}
		r.planner.cost = time.Minute
		r.ask("hung", audit("x"), out)
		if ok, hangs := getsOn(r.Sequencer); ok || hangs != stageTexts[stagePlans] {
			t.Errorf("with a planner that hangs: gets on %v, %q", ok, hangs)
		}
		<-out
		end()
		if _, hangs := r.Progress(); hangs != "" {
			t.Errorf("after the leadership: %q", hangs)
		}
	})
}
