package sim

import (
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/settings"
)

// TestHungLeader checks that writes go on within greyMax when the leader hangs at any failpoint of
// its work, and that the replica continues afterwards (L5).
func TestHungLeader(t *testing.T) {
	listen()
	for _, at := range hangs {
		t.Run(string(at), func(t *testing.T) {
			tellStory(t, settings.Plain(), func(s *story) {
				s.nine()
				old := s.leader(10 * election)
				d := newDriver(s.world, load.New(s.world, s.check, s.opt, 1))
				d.hangAt(at)
				if s.check.Outcome().Achieved["leader hung at "+string(at)] == 0 {
					t.Error("writes do not go on")
				}
				if s.leading() == old {
					t.Errorf("%s still leads", old.id)
				}
				s.heal()
				s.inStep(time.Minute)
			})
		})
	}
}

// TestRefusedEntry checks that writes go on within greyMax when all followers run an older program
// and refuse an entry of the leader. The entry must have no effect.
func TestRefusedEntry(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.nine()
		d := newDriver(s.world, load.New(s.world, s.check, s.opt, 1))
		d.refuseEntry()
		if s.check.Outcome().Achieved["entry refused"] == 0 {
			t.Error("writes do not go on")
		}
		if now := s.leading(); now == nil || now.level != event.Level {
			t.Error("the replica whose entry was refused leads")
		}
		s.inStep(time.Minute)
	})
}

// TestUnreadLog checks that writes go on, under the same leader, when the reader of its log stalls or
// is gone.
func TestUnreadLog(t *testing.T) {
	for name, stalled := range map[string]bool{"stalled": true, "gone": false} {
		t.Run(name, func(t *testing.T) {
			tellStory(t, settings.Plain(), func(s *story) {
				s.nine()
				old := s.leader(10 * election)
				newDriver(s.world, load.New(s.world, s.check, s.opt, 1)).breakLog(stalled)
				if s.check.Outcome().Achieved["log not read"] == 0 {
					t.Error("writes do not go on")
				}
				if s.leading() != old {
					t.Errorf("%s does not lead any more", old.id)
				}
				s.heal()
				s.inStep(time.Minute)
			})
		})
	}
}
