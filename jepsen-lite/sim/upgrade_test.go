package sim

import (
	"context"
	"errors"
	"math/rand"
	"strings"
	"testing"
	"time"

	"rmd/cluster/refusal"
	"rmd/fsm/event"
	"rmd/internal/exitcode"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/settings"
	"rmd/scheduler/input"
)

// restartAs restarts a replica with a program of another feature level.
func (s *story) restartAs(r *replica, level uint32) {
	s.t.Helper()
	r.set(func(r *replica) { r.level = level })
	r.crash()
	if err := r.start(); err != nil {
		s.t.Fatal(err)
	}
	s.leader(20 * election)
}

// raise asks to raise the level. It returns the refusal, or nil if the level was raised.
func (s *story) raise() *input.Refusal {
	s.t.Helper()
	c := load.NewCaller(s.world, "upgrade", rand.New(rand.NewSource(1)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	reply, ok := c.Call(ctx, input.Request{Input: &input.RaiseLevel{Level: nextLevel}})
	if !ok {
		s.t.Fatal("no answer")
	}
	return reply.Refused()
}

// TestUpgrade checks that replicas with two feature levels work together, whichever leads. A leader
// with the old level must refuse to raise the level. When all replicas have the new one, the level
// can be raised, and from then on no replica with an old program is admitted.
func TestUpgrade(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.nine()
		lead := s.leader(10 * election)
		for _, r := range s.members() {
			if r != lead {
				s.restartAs(r, nextLevel)
				s.beat("n1")
			}
		}
		s.hand(lead)
		if f := s.raise(); f == nil {
			t.Error("a leader of the old level raises it")
		}
		s.restartAs(lead, nextLevel)
		s.restartAs(lead, event.Level) // a downgrade before the upgrade is final
		s.restartAs(lead, nextLevel)
		s.inStep(time.Minute)
		if f := s.raise(); f != nil {
			t.Errorf("the level is not raised: %v", f)
		}
		s.beat("n1")
		s.inStep(time.Minute)
		if got := s.state(lead).Meta.Level; got != nextLevel {
			t.Errorf("the level is %d", got)
		}
		if got := s.reservations(lead); !strings.HasPrefix(got, "[r1 app2 #2 ") {
			t.Errorf("the reservation is %s", got)
		}
		l, _ := lead.currentProcess()
		if err := l.command(func() error { return l.cluster.Snapshot() }); err != nil {
			t.Fatal(err)
		}
		s.restartAs(lead, nextLevel) // it must read what it wrote at the new level
		s.beat("n1")
		s.inStep(time.Minute)
		if got := s.state(lead).Meta.Level; got != nextLevel {
			t.Errorf("with its snapshot the level is %d", got)
		}
		old := s.newReplica("d")
		old.level = event.Level
		if err := old.start(); err != nil {
			t.Fatal(err)
		}
		l, _ = old.currentProcess()
		err := s.joinWithToken(s.ctx, l, []string{lead.id})
		if !errors.Is(err, &refusal.Refusal{Code: refusal.VersionTooOld}) {
			t.Errorf("an old program is let in: %v", err)
		}
		old.crash()
		<-old.ended
	})
}

// TestDowngradeTooLate checks that an old program stops on the data of a cluster with the new
// level, with its own exit code. It must not skip what it does not understand.
func TestDowngradeTooLate(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		for _, r := range s.members() {
			s.restartAs(r, nextLevel)
		}
		s.inStep(time.Minute)
		if f := s.raise(); f != nil {
			t.Fatal(f)
		}
		s.addNodes(8, "n1")
		r := s.follower()
		s.inStep(time.Minute)
		r.set(func(r *replica) { r.level = event.Level })
		r.crash()
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		s.awaitExit(r, exitcode.NotKnown, 10*time.Second)
		r.set(func(r *replica) { r.level = nextLevel })
	})
}
