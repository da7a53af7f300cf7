package sim

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster"
	"rmd/fsm/event"
	"rmd/internal/exitcode"
	"rmd/jepsen-lite/sim/bubble"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/settings"
)

// Traps of hashicorp/raft. Most of them have two tests: one shows the trap in the library alone,
// the other one that rmd's workaround removes it.

// TestTrap695 checks the trap of heartbeats that hashicorp/raft handles outside its main loop. A
// replica has won an election and has not acted on it yet. A heartbeat tells it of a later term,
// and then it leads in that term, which has another leader.
func TestTrap695(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		two := false
		bubble.Test(t, func(t *testing.T) {
			opt := settings.Plain()
			opt.FastPath = !guarded
			w := newWorld(t, 1, opt)
			w.boot()
			old := w.leader(10 * election)
			next := w.members()[(slices.Index(w.members(), old)+1)%3]
			var held atomic.Bool
			hold := func(id, message string) {
				if id == next.id && strings.HasPrefix(message, "election won") && held.CompareAndSwap(false, true) {
					time.Sleep(8 * election)
				}
			}
			w.atLog.Store(&hold)
			l, _ := old.currentProcess()
			_ = l.command(func() error { return l.cluster.Transfer(next.id) }) // the transfer seems to fail
			time.Sleep(20 * election)
			if !held.Load() {
				t.Error("nobody was held back between winning and acting")
			}
			two = strings.Contains(w.check.Report(), "S2: two leaders")
			w.stop()
		})
		if two == guarded {
			t.Errorf("guarded %v: two leaders of a term %v", guarded, two)
		}
	}
}

// divergent makes a follower with uncommitted entries that reach beyond the index of the leader's
// snapshot.
func (s *story) divergent() (old, now *replica) {
	s.addNodes(8, "n1")
	s.submit("app1", "a", 0, "")
	old = s.leader(10 * election)
	l, _ := old.currentProcess()
	s.net.Isolate(old.id, true, true)
	tail := l.cluster.LastIndex() + 50
	for end := time.Now().Add(lease / 2); l.cluster.LastIndex() < tail &&
		time.Now().Before(end); time.Sleep(time.Millisecond) {
		go l.cluster.Propose(emptyEntry())
	}
	now = s.leader(10*election, old)
	for _, app := range []string{"app2", "app3", "app4"} {
		s.submit(app, "a", 0, "")
	}
	nl, _ := now.currentProcess()
	if err := nl.snapshot(); err != nil {
		s.t.Fatal(err)
	}
	return old, now
}

// TestTrap697 checks that a follower with diverging entries follows again after it was sent a
// snapshot whose index is among these entries.
func TestTrap697(t *testing.T) {
	opt := settings.Plain()
	opt.Trailing = 0
	tellStory(t, opt, func(s *story) {
		old, _ := s.divergent()
		before := s.net.CountInstalls()
		s.net.Heal()
		if !s.inStep(time.Minute) {
			t.Error("the follower does not follow")
		}
		time.Sleep(10 * election) // the restart happens in parallel
		if n := s.net.CountInstalls() - before; n > 3 {
			t.Errorf("%d snapshots were sent", n)
		}
		if l, _ := old.currentProcess(); l.cluster.Stats().Restarts == 0 {
			t.Error("raft was not restarted in place: does the scenario still show the trap?")
		}
	})
}

// TestTrap697Library shows that the library alone sends this snapshot without end.
func TestTrap697Library(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBare(t)
		old := b.leader(nil)
		for range 10 {
			if err := old.apply(); err != nil {
				t.Fatal(err)
			}
		}
		b.net.Isolate(old.id, true, true)
		for range 100 {
			old.raft.Apply([]byte("lost"), time.Second)
		}
		now := b.leader(old)
		for range 20 {
			if err := now.apply(); err != nil {
				t.Fatal(err)
			}
		}
		if err := now.raft.Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
		b.net.Heal()
		time.Sleep(time.Minute)
		if n := b.net.CountInstalls(); n < 50 {
			t.Errorf("only %d snapshots were sent: the library has changed, and our guard may not be needed any more", n)
		}
		b.stop()
	})
}

func isTimeoutNow(msg any) bool { _, ok := msg.(*raft.TimeoutNowRequest); return ok }

// TestTrap696 checks that a leader serves again after an interrupted leadership transfer, during
// which it refuses everything.
func TestTrap696(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		old := s.leader(10 * election)
		s.net.HangOn(isTimeoutNow)
		l, _ := old.currentProcess()
		if err := l.command(func() error { return l.cluster.Transfer("") }); err == nil {
			t.Error("the transfer succeeded")
		}
		s.addNodes(8, "n1") // repeats the call until it is answered
		if n := l.cluster.Stats().Restarts; n != 1 {
			t.Errorf("raft was restarted in place %d times: does the scenario still show the trap?", n)
		}
	})
}

// TestTrap696Library shows that the library alone refuses without end.
func TestTrap696Library(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBare(t)
		l := b.leader(nil)
		if err := l.apply(); err != nil {
			t.Fatal(err)
		}
		b.net.HangOn(isTimeoutNow)
		_ = l.raft.LeadershipTransfer().Error()
		time.Sleep(5 * time.Minute)
		if err := l.apply(); err != raft.ErrLeadershipTransferInProgress || l.raft.State() != raft.Leader {
			t.Errorf("five minutes later: %v, %s; the library has changed, and our watchdog may not be needed any more", err,
				l.raft.State())
		}
		b.stop()
	})
}

// TestTrap503 lets the leader's disk hang. Another replica must lead within the watchdog's limit,
// and the process must stop (L5).
func TestTrap503(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.addNodes(8, "n1")
		old := s.leader(10 * election)
		l, _ := old.currentProcess()
		begin := time.Now()
		thaw := l.disk.Freeze()
		defer thaw()
		go l.cluster.Propose(emptyEntry())
		if s.await(cluster.DefaultConfig().HungGiveUp+6*election, old) == nil {
			t.Error("L5: no other leader within the watchdog's limit")
		}
		s.submit("app1", "a", 0, "")
		time.Sleep(time.Until(begin.Add(cluster.DefaultConfig().HungExit + time.Second)))
		if _, up := old.currentProcess(); up || s.exits[exitcode.DiskHung] != 1 {
			t.Errorf("L5: up %v, exits %v", up, s.exits)
		}
	})
}

// TestTrap503Library shows that the library alone keeps such a leader.
func TestTrap503Library(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBare(t)
		l := b.leader(nil)
		l.logs.mu.Lock()
		l.logs.hang = make(chan struct{})
		l.logs.mu.Unlock()
		if err := l.apply(); err == nil {
			t.Error("a write to a disk that hangs has succeeded")
		}
		time.Sleep(5 * time.Minute)
		if l.raft.State() != raft.Leader {
			t.Error("it gave up leadership: the library has changed, and our watchdog may not be needed any more")
		}
		b.stop()
	})
}

// TestTrapCommit checks a follower with entries that no other replica has. A request has a commit
// index above the entries that it proves. The follower must not apply its own entries up to there.
func TestTrapCommit(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.addNodes(8, "n1")
		s.submit("app1", "a", 0, "")
		s.leader(10 * election)
		d := newDriver(s.world, load.New(s.world, s.check, s.opt, 1))
		d.rng = s.rng
		d.lateFirstEntry()
		if s.check.Outcome().Achieved["late first entry"] == 0 {
			t.Error("no leader stored its first entry late: does the scenario still show the trap?")
		}
	})
}

// TestTrapCommitLibrary shows that the library alone applies them.
func TestTrapCommitLibrary(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBare(t)
		old := b.leader(nil)
		if err := old.apply(); err != nil {
			t.Fatal(err)
		}
		o, thaw := newLate(), func() {}
		hook := func(id, message string) {
			o.logs(id, message, func(id string) {
				for _, r := range b.rs {
					if r.id == id {
						thaw = r.logs.freeze()
					}
				}
			})
		}
		b.net.Isolate(old.id, true, true)
		old.raft.Apply([]byte("lost"), time.Second)
		time.Sleep(time.Millisecond)
		b.w.atLog.Store(&hook)
		b.crash(old)
		<-o.enough
		time.Sleep(backoffBegun)
		thaw()
		time.Sleep(backoffLeft / 6)
		b.net.Heal()
		b.start(old)
		time.Sleep(2 * backoffLeft)
		if !old.fsm.saw("lost") {
			t.Error(
				"it does not apply what was never committed: the library has changed, and our guard may not be needed any more")
		}
		b.stop()
	})
}

// emptyEntry returns an entry that changes nothing.
func emptyEntry() []byte { return (&event.Batch{Level: 1}).Encode() }
