package sim

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/cluster"
	"rmd/internal/exitcode"
	"rmd/jepsen-lite/sim/disk"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/settings"
)

// The faults of a disk, and how rmd must react to each.

// follower returns a member that does not lead.
func (s *story) follower() *replica {
	lead := s.leader(10 * election)
	return s.rs[(slices.Index(s.rs, lead)+1)%len(s.rs)]
}

// submitApps submits applications, so that entries are written.
func (s *story) submitApps(apps ...string) {
	for _, a := range apps {
		s.submit(a, "a", 0, "")
	}
}

// awaitExit waits until the process of a replica has stopped by itself with an exit code.
func (s *story) awaitExit(r *replica, code int, within time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, up := r.currentProcess(); !up {
			break
		}
	}
	if _, up := r.currentProcess(); up || s.exits[code] != 1 {
		s.t.Errorf("up %v, exits %v, want one with %d", up, s.exits, code)
	}
}

// replacedBy ends all faults and waits until a replica is a voter again under another incarnation.
func (s *story) replacedBy(r *replica, incarnation string) {
	s.t.Helper()
	s.heal()
	s.ops.Wait()
	l, up := r.currentProcess()
	if !up || l.cluster.Identity().Incarnation != incarnation {
		s.t.Fatalf("%s is up %v as %s, want incarnation %s", r.id, up, l.cluster.Identity().ServerID(), incarnation)
	}
	if m, ok := memberOf(s.membership(), r.id); !ok || !m.Voter || m.Incarnation != incarnation {
		s.t.Errorf("the membership has %+v", m)
	}
}

// TestNoInodes checks that a replica whose file system has no inode left goes on with its log and
// says that it cannot write snapshots, until it can again.
func TestNoInodes(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.nine()
		l, _ := s.follower().currentProcess()
		newDriver(s.world, load.New(s.world, s.check, s.opt, 1)).crowd(l)
		if s.check.Outcome().Achieved["snapshot without an inode"] == 0 {
			t.Fatal("no snapshot has failed")
		}
		s.submitApps("app3")
		s.inStep(time.Minute)
		s.heal()
		if err := l.snapshot(); err != nil {
			t.Error(err)
		}
		if m, _ := memberOf(s.membership(), l.r.id); m.Problem != "" {
			t.Errorf("it still says %q", m.Problem)
		}
	})
}

// TestDiskCrashAtEveryStep checks that a replica returns after a power cut between any two steps of
// a write, and that no acknowledged operation is lost.
func TestDiskCrashAtEveryStep(t *testing.T) {
	for steps := 1; steps <= 12; steps++ {
		for _, leads := range []bool{false, true} {
			tellStory(t, settings.Plain(), func(s *story) {
				r := s.follower()
				if leads {
					r = s.leader(10 * election)
				}
				l, _ := r.currentProcess()
				l.disk.SetFaults(func(f *disk.Faults) { f.Steps = steps })
				s.submitApps("app1", "app2", "app3", "app4")
				if _, up := r.currentProcess(); up {
					t.Errorf("%s has not crashed at step %d", r.id, steps)
				}
			})
		}
	}
}

// TestDiskTorn checks that rmd finds a torn write by its checksum and does not start on that disk.
func TestDiskTorn(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		r := s.follower()
		s.submitApps("app1")
		s.inStep(time.Minute)
		l, _ := r.currentProcess()
		torn := false
		for range 200 { // which sectors arrive is random
			var after *disk.Disk
			if after, torn = l.disk.TornWrite(); torn {
				r.crash()
				r.set(func(r *replica) { r.disk = after })
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

// TestDiskSyncError checks that after a failed sync the process stops at once, with its exit code,
// and does not write again.
func TestDiskSyncError(t *testing.T) {
	for _, leads := range []bool{false, true} {
		tellStory(t, settings.Plain(), func(s *story) {
			r := s.follower()
			if leads {
				r = s.leader(10 * election)
			}
			l, _ := r.currentProcess()
			l.disk.SetFaults(func(f *disk.Faults) { f.Failing = true })
			s.submitApps("app1", "app2")
			s.awaitExit(r, exitcode.WriteFailed, time.Second)
		})
	}
}

// TestDiskSyncLies lets syncs do nothing and then cuts the power. The replica must return under
// another incarnation, and the other replicas must have all acknowledged operations.
func TestDiskSyncLies(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		r := s.leader(10 * election)
		l, _ := r.currentProcess()
		l.disk.SetFaults(func(f *disk.Faults) { f.Lying = true })
		s.submitApps("app1", "app2", "app3")
		r.cutPower()
		s.replacedBy(r, "1")
	})
}

// TestDiskRolledBack starts a replica on an older copy of its disk, under the same identity. Raft
// forbids this. The checker must notice it, and the leader must notice it and stop the replica.
func TestDiskRolledBack(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		r := s.follower()
		l, _ := r.currentProcess()
		s.submitApps("app1")
		s.inStep(time.Minute)
		old := l.disk.Rollback()
		s.submitApps("app2", "app3")
		s.inStep(time.Minute)
		r.crash()
		old.SetFaults(func(f *disk.Faults) { f.SetBack = true })
		r.set(func(r *replica) { r.disk = old })
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		if got := s.check.Report(); !strings.Contains(got, "S3: "+r.id+".0 comes back") {
			t.Errorf("the checker does not see a disk that was set back: %s", got)
		}
		s.check.Forgive() // this violation is expected
		s.awaitExit(r, exitcode.Store, 10*time.Second)
		r.set(func(r *replica) { r.broken = true })
		s.replacedBy(r, "1")
	})
}

// TestDiskSpace checks how a leader reacts to little space. Below the reserve it transfers
// leadership. Below the stop level it writes nothing and continues to run, and it writes again
// after space was freed. If a write nevertheless fails because the disk is full, the process stops.
func TestDiskSpace(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		old := s.leader(10 * election)
		l, _ := old.currentProcess()
		l.disk.SetFaults(func(f *disk.Faults) { f.Free = disk.Reserve - 1 })
		if s.await(10*election, old) == nil {
			t.Error("leadership stays where there is too little space")
		}
		s.submitApps("app1")
		l.disk.SetFaults(func(f *disk.Faults) { f.Free = disk.Stop - 1 })
		time.Sleep(3 * time.Second)
		if err := l.cluster.Propose(emptyEntry()); err != nil {
			if _, _, err := err.Wait(); !errors.Is(err, cluster.ErrDiskFull) {
				t.Errorf("a proposal below the stop level: %v", err)
			}
		}
		at := l.cluster.LastIndex()
		s.submitApps("app2", "app3")
		if l.cluster.LastIndex() != at {
			t.Error("entries are written below the stop level")
		}
		if _, up := old.currentProcess(); !up {
			t.Error("it does not go on")
		}
		l.disk.SetFaults(func(f *disk.Faults) { f.Free = 0 })
		if !s.inStep(time.Minute) {
			t.Error("it does not resume")
		}
		l.disk.SetFaults(func(f *disk.Faults) { f.Full = true })
		s.submitApps("app4")
		s.awaitExit(old, exitcode.WriteFailed, time.Second)
	})
}

// TestDiskSlow checks that the cluster serves requests if each write of the leader takes at least a
// fifth of a second, under this leader or another one.
func TestDiskSlow(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		l, _ := s.leader(10 * election).currentProcess()
		l.disk.SetFaults(func(f *disk.Faults) { f.Slow, f.Hindered = 100, true })
		begin := time.Now()
		s.submitApps("app1", "app2", "app3")
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("three submissions took %s", took)
		}
	})
}

// TestDiskRot flips a bit in the log, in the stored term, or in a snapshot. At the next start, rmd
// must refuse the disk, or use an older snapshot. It must not apply damaged data.
func TestDiskRot(t *testing.T) {
	for what, rot := range map[string]func(*disk.Disk) bool{"log": (*disk.Disk).RotLog, "value": (*disk.Disk).RotValue} {
		t.Run(what, func(t *testing.T) {
			tellStory(t, settings.Plain(), func(s *story) {
				r := s.follower()
				s.submitApps("app1", "app2")
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
		opt := settings.Plain()
		opt.Trailing = 10240
		tellStory(t, opt, func(s *story) {
			r := s.follower()
			l, _ := r.currentProcess()
			s.submitApps("app1")
			if older {
				if err := l.snapshot(); err != nil {
					t.Fatal(err)
				}
				s.submitApps("app2")
			}
			if err := l.snapshot(); err != nil {
				t.Fatal(err)
			}
			r.crash()
			if !r.disk.RotSnapshot() {
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

// TestDiskMisread checks that rmd notices a read that returns the record of another index and does
// not start. The next start reads correctly and must succeed.
func TestDiskMisread(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		r := s.follower()
		s.submitApps("app1", "app2")
		r.crash()
		r.disk.SetFaults(func(f *disk.Faults) { f.Misread = 3 })
		if err := r.start(); err == nil {
			if _, up := r.currentProcess(); up {
				t.Error("it starts on another index's record")
			}
		}
		if s.exits[exitcode.Store] != 1 {
			t.Errorf("exits %v", s.exits)
		}
		r.disk.SetFaults(func(f *disk.Faults) { f.Misread = 0 })
		if err := r.start(); err != nil {
			t.Error(err)
		}
	})
}

// TestDiskLost checks that a replica with an empty disk does not vote under its old identity. It
// votes only after the old identity was removed and the replica has joined again.
func TestDiskLost(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		r := s.follower()
		s.submitApps("app1")
		r.crash()
		r.set(func(r *replica) { r.disk = s.emptyDisk(r) })
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
		r.set(func(r *replica) { r.disk.SetFaults(func(f *disk.Faults) { f.Lost = true }) })
		s.replacedBy(r, "2")
	})
}
