package sim

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster"
	"rmd/internal/exitcode"
)

// The disk's faults, and what rmd must do about each.

// follower is a running replica that does not lead.
func (s *story) follower() *replica {
	lead := s.leader(10 * election)
	return s.rs[(slices.Index(s.rs, lead)+1)%len(s.rs)]
}

// busy lets some entries be written.
func (s *story) busy(apps ...string) {
	for _, a := range apps {
		s.submit(a, "a", 0, "")
	}
}

// ends waits until a replica has ended by its own will.
func (s *story) ends(r *replica, code int, within time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, up := r.now(); !up {
			break
		}
	}
	if _, up := r.now(); up || s.exits[code] != 1 {
		s.t.Errorf("up %v, exits %v, want one with %d", up, s.exits, code)
	}
}

// replacedBy heals and waits until a replica is back under another identity.
func (s *story) replacedBy(r *replica, incarnation string) {
	s.t.Helper()
	s.heal()
	s.ops.Wait()
	l, up := r.now()
	if !up || l.cluster.Identity().Incarnation != incarnation {
		s.t.Fatalf("%s is up %v as %s, want incarnation %s", r.id, up, l.cluster.Identity().ServerID(), incarnation)
	}
	if m, ok := memberOf(s.membership(), r.id); !ok || !m.Voter || m.Incarnation != incarnation {
		s.t.Errorf("the membership has %+v", m)
	}
}

// TestDiskCrashAtEveryStep: a power cut between any two steps of a write. It comes
// back, and nothing acknowledged is lost.
func TestDiskCrashAtEveryStep(t *testing.T) {
	for steps := 1; steps <= 12; steps++ {
		for _, leads := range []bool{false, true} {
			tellStory(t, plainSettings(), func(s *story) {
				r := s.follower()
				if leads {
					r = s.leader(10 * election)
				}
				l, _ := r.now()
				l.disk.wrong(func(f *faults) { f.steps = steps })
				s.busy("app1", "app2", "app3", "app4")
				if _, up := r.now(); up {
					t.Errorf("%s has not crashed at step %d", r.id, steps)
				}
			})
		}
	}
}

// TestDiskTorn: a write of which only some sectors arrived is found by its checksum,
// and the disk is refused.
func TestDiskTorn(t *testing.T) {
	tellStory(t, plainSettings(), func(s *story) {
		r := s.follower()
		s.busy("app1")
		s.inStep(time.Minute)
		l, _ := r.now()
		torn := false
		for range 200 { // what arrives is drawn
			l.disk.wrong(func(f *faults) { f.tearing = true })
			l.disk.mu.Lock()
			last := l.disk.seen.logs[l.disk.seen.last]
			next := *last
			next.Index++
			l.disk.loose = []write{storing([]*raft.Log{&next})}
			l.disk.loose[0].apply(&l.disk.seen)
			l.disk.mu.Unlock()
			if after := l.disk.after(true); after.torn && !whole(after.seen.logs[next.Index].Data) {
				r.crash()
				r.set(func(r *replica) { r.disk = after })
				torn = true
				break
			}
		}
		if !torn {
			t.Fatal("no write arrived torn")
		}
		if err := r.start(); !errors.Is(err, errDisk) {
			t.Errorf("it starts: %v", err)
		}
		s.replacedBy(r, "1")
	})
}

// TestDiskSyncError: the process ends at once, with its code, and writes no more.
func TestDiskSyncError(t *testing.T) {
	for _, leads := range []bool{false, true} {
		tellStory(t, plainSettings(), func(s *story) {
			r := s.follower()
			if leads {
				r = s.leader(10 * election)
			}
			l, _ := r.now()
			l.disk.wrong(func(f *faults) { f.failing = true })
			s.busy("app1", "app2")
			s.ends(r, exitcode.Store, time.Second)
		})
	}
}

// TestDiskSyncLies: syncs do nothing, then the power fails. The replica must come
// back as another; what was acknowledged is with the others.
func TestDiskSyncLies(t *testing.T) {
	tellStory(t, plainSettings(), func(s *story) {
		r := s.leader(10 * election)
		l, _ := r.now()
		l.disk.wrong(func(f *faults) { f.lying = true })
		s.busy("app1", "app2", "app3")
		r.cutPower()
		s.replacedBy(r, "1")
	})
}

// TestDiskRolledBack: an older copy of a disk, used under its identity, breaks what Raft
// rests on. The checker sees it, and so does the leader, which ends the replica.
func TestDiskRolledBack(t *testing.T) {
	tellStory(t, plainSettings(), func(s *story) {
		r := s.follower()
		l, _ := r.now()
		s.busy("app1")
		s.inStep(time.Minute)
		old := l.disk.rollback()
		s.busy("app2", "app3")
		s.inStep(time.Minute)
		r.crash()
		old.wrong(func(f *faults) { f.setBack = true })
		r.set(func(r *replica) { r.disk = old })
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		if got := s.check.report(); !strings.Contains(got, "S3: "+r.id+".0 comes back") {
			t.Errorf("the checker does not see a disk that was set back: %s", got)
		}
		s.check.mu.Lock()
		s.check.faults = nil // it was to be seen
		s.check.mu.Unlock()
		s.ends(r, exitcode.Store, 10*time.Second)
		r.set(func(r *replica) { r.broken = true })
		s.replacedBy(r, "1")
	})
}

// TestDiskSpace: below the reserve leadership goes to somebody with room; below the
// stop level nothing is written and the replica goes on; when there is room again, so
// do writes. A write that meets a full disk all the same ends the process.
func TestDiskSpace(t *testing.T) {
	tellStory(t, plainSettings(), func(s *story) {
		old := s.leader(10 * election)
		l, _ := old.now()
		l.disk.wrong(func(f *faults) { f.free = diskReserve - 1 })
		if s.await(10*election, old) == nil {
			t.Error("leadership stays where there is too little space")
		}
		s.busy("app1")
		l.disk.wrong(func(f *faults) { f.free = diskStop - 1 })
		time.Sleep(3 * time.Second)
		if err := l.cluster.Propose(nothing()); err != nil {
			if _, _, err := err.Wait(); !errors.Is(err, cluster.ErrDiskFull) {
				t.Errorf("a proposal below the stop level: %v", err)
			}
		}
		at := l.cluster.LastIndex()
		s.busy("app2", "app3")
		if l.cluster.LastIndex() != at {
			t.Error("entries are written below the stop level")
		}
		if _, up := old.now(); !up {
			t.Error("it does not go on")
		}
		l.disk.wrong(func(f *faults) { f.free = 0 })
		if !s.inStep(time.Minute) {
			t.Error("it does not resume")
		}
		l.disk.wrong(func(f *faults) { f.full = true })
		s.busy("app4")
		s.ends(old, exitcode.Store, time.Second)
	})
}

// TestDiskSlow: a leader whose every write takes a fifth of a second and more goes on
// or is followed by another; the cluster serves.
func TestDiskSlow(t *testing.T) {
	tellStory(t, plainSettings(), func(s *story) {
		l, _ := s.leader(10 * election).now()
		l.disk.wrong(func(f *faults) { f.slow, f.hindered = 100, true })
		begin := time.Now()
		s.busy("app1", "app2", "app3")
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("three submissions took %s", took)
		}
	})
}

// TestRotBringsNothingBack: a bit that flips in an entry whose deletion is not safe
// yet does not undo the deletion for who reads now.
func TestRotBringsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(1, cluster.Identity{})
		var logs []*raft.Log
		for i := uint64(1); i <= 20; i++ {
			logs = append(logs, &raft.Log{Index: i, Data: []byte("an entry")})
		}
		if err := d.StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
		thaw := d.freeze()
		go func() { _ = d.DeleteRange(1, 19) }()
		synctest.Wait()
		for range 20 {
			if !d.rotLog() {
				t.Fatal("nothing to damage")
			}
		}
		thaw()
		if n := len(d.seen.logs); n != 1 {
			t.Errorf("%d entries are there, 1 was kept", n)
		}
	})
}

// TestDiskRot: a flipped bit in the log, or in term and vote, is refused at the next
// start; one in a snapshot too, or an older one is taken. Nothing of it is applied.
func TestDiskRot(t *testing.T) {
	for what, rot := range map[string]func(*disk) bool{"log": (*disk).rotLog, "value": (*disk).rotValue} {
		t.Run(what, func(t *testing.T) {
			tellStory(t, plainSettings(), func(s *story) {
				r := s.follower()
				s.busy("app1", "app2")
				s.inStep(time.Minute)
				r.crash()
				if !rot(r.disk) {
					t.Fatal("nothing to damage")
				}
				if err := r.start(); !errors.Is(err, errDisk) {
					t.Errorf("it starts: %v", err)
				}
				s.replacedBy(r, "1")
			})
		})
	}
	for _, older := range []bool{false, true} {
		opt := plainSettings()
		opt.trailing = 10240
		tellStory(t, opt, func(s *story) {
			r := s.follower()
			l, _ := r.now()
			s.busy("app1")
			if older {
				if err := l.snapshot(); err != nil {
					t.Fatal(err)
				}
				s.busy("app2")
			}
			if err := l.snapshot(); err != nil {
				t.Fatal(err)
			}
			r.crash()
			if !r.disk.rotSnapshot() {
				t.Fatal("no snapshot")
			}
			err := r.start()
			if older && err != nil {
				t.Errorf("an older snapshot and the log are whole, and it does not start: %v", err)
			}
			if !older {
				if !errors.Is(err, errDisk) {
					t.Errorf("it starts without any whole snapshot: %v", err)
				}
				s.replacedBy(r, "1")
			}
		})
	}
}

// TestDiskMisread: the record of another index is noticed, and ends the start. The
// next one, which reads right, succeeds.
func TestDiskMisread(t *testing.T) {
	tellStory(t, plainSettings(), func(s *story) {
		r := s.follower()
		s.busy("app1", "app2")
		r.crash()
		r.disk.wrong(func(f *faults) { f.misread = 3 })
		if err := r.start(); err == nil {
			if _, up := r.now(); up {
				t.Error("it starts on another index's record")
			}
		}
		if s.exits[exitcode.Store] != 1 {
			t.Errorf("exits %v", s.exits)
		}
		r.disk.wrong(func(f *faults) { f.misread = 0 })
		if err := r.start(); err != nil {
			t.Error(err)
		}
	})
}

// TestDiskLost: an empty disk has no vote under the old identity. It takes no part
// before the old one is removed and it has joined.
func TestDiskLost(t *testing.T) {
	tellStory(t, plainSettings(), func(s *story) {
		r := s.follower()
		s.busy("app1")
		r.crash()
		r.set(func(r *replica) { r.disk = s.emptyDisk(r, "", "") })
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		old := s.leader(10 * election)
		old.crash()
		if now := s.await(20*election, old); now != nil {
			t.Errorf("%s leads with the vote of a disk that has lost everything", now.id)
		}
		if err := old.start(); err != nil {
			t.Fatal(err)
		}
		s.leader(10 * election)
		r.crash()
		r.set(func(r *replica) { r.disk.wrong(func(f *faults) { f.lost = true }) })
		s.replacedBy(r, "2")
	})
}

// TestHealedDiskIsQuick: a write that began while the disk was slow does not outlast its healing.
func TestHealedDiskIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(1, cluster.Identity{})
		d.wrong(func(f *faults) { f.slow = 1_000_000 })
		done := make(chan struct{})
		go func() { defer close(done); d.wait() }()
		time.Sleep(time.Minute)
		select {
		case <-done:
			t.Fatal("the slow write has ended")
		default:
		}
		d.repair()
		begin := time.Now()
		<-done
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it went on for %v", took)
		}
	})
}
