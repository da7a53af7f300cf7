package sim

import (
	"testing"
	"time"

	"rmd/jepsen-lite/sim/settings"
)

// TestTrap697Barrier checks that a returning leader does not receive the same snapshot without end.
// Its newest snapshot ends with the barrier of its leadership, an entry that Raft does not pass to
// the state machine. The entries after the snapshot were never committed, and the snapshot of its
// successor is older. Seeds whose replicas keep no entries before a snapshot found this (L4).
func TestTrap697Barrier(t *testing.T) {
	opt := settings.Plain()
	opt.Trailing = 0
	tellStory(t, opt, func(s *story) {
		s.addNodes(8, "n1")
		s.submit("app1", "a", 0, "")
		first := s.leader(10 * election)
		s.inStep(10 * election)
		for _, r := range s.rs {
			l, _ := r.currentProcess()
			if err := l.snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		s.submit("app2", "a", 0, "")
		fl, _ := first.currentProcess()
		if err := fl.command(func() error { return fl.cluster.Transfer("") }); err != nil {
			t.Fatal(err)
		}
		old := s.leader(10*election, first)
		l, _ := old.currentProcess()
		if err := l.snapshot(); err != nil {
			t.Fatal(err)
		}
		list, err := l.cluster.SnapshotList()
		if at, _ := l.machine.Applied(); err != nil || list[0].Index <= at {
			t.Fatalf("the newest snapshot of %+v does not end behind the last command, %d (%v): does the scenario still show the trap?", list, at, err)
		}
		s.net.Isolate(old.id, true, true)
		for range 3 {
			go l.cluster.Propose(emptyEntry())
			time.Sleep(5 * time.Millisecond)
		}
		s.leader(10*election, old)
		before := s.net.CountInstalls()
		s.net.Heal()
		time.Sleep(4 * election)
		s.submit("app3", "a", 0, "")
		if !s.inStep(time.Minute) {
			t.Error("the old leader does not follow")
		}
		if n := s.net.CountInstalls() - before; n > 3 {
			t.Errorf("%d snapshots were sent", n)
		}
	})
}
