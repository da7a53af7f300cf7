package cluster

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// put commits n entries and returns the index of the last one.
func (s *simCluster) put(l *simReplica, n int) (index uint64) {
	s.t.Helper()
	for range n {
		var err error
		if index, _, err = l.c.Propose([]byte("x")).Wait(); err != nil {
			s.t.Fatal(err)
		}
	}
	return index
}

// TestReturnAfterAbsence checks that a replica which was down for minutes has all entries within a
// second of its start, with and without a snapshot. (The library alone takes up to ten seconds.)
func TestReturnAfterAbsence(t *testing.T) {
	for _, bySnapshot := range []bool{false, true} {
		for shift := range 4 { // of its return relative to the library's pauses
			synctest.Test(t, func(t *testing.T) { returnAfter(t, bySnapshot, 5*time.Minute+time.Duration(shift)*2*time.Second) })
		}
	}
}

func returnAfter(t *testing.T, bySnapshot bool, absence time.Duration) {
	s := newSimCluster(t, 7, func(c *Config) {
		if bySnapshot {
			c.Trailing = 1
		}
	})
	s.boot()
	defer s.stopAll()
	l := s.leader(nil)
	s.put(l, 5)
	away := s.rs[0]
	if away == l {
		away = s.rs[1]
	}
	s.stop(away)
	s.put(l, 5)
	if bySnapshot {
		if err := l.c.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(absence)
	index := s.put(s.leader(nil), 1)
	s.start(away)
	start := time.Now()
	for away.c.AppliedIndex() < index {
		if time.Since(start) > time.Second {
			t.Fatalf("away for %s, by a snapshot %t: after %s it has %d of %d entries", absence, bySnapshot, time.Since(start),
				away.c.AppliedIndex(), index)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestCatchUpAfterFullDisk checks that a follower whose disk was full has all entries soon after
// there is space, no matter how long the disk was full. Nothing can be committed without this
// follower. (The library alone takes up to ten seconds.)
func TestCatchUpAfterFullDisk(t *testing.T) {
	for shift := range 4 { // of its return relative to the library's pauses
		synctest.Test(t, func(t *testing.T) {
			full := map[string]*atomic.Bool{"a": {}, "b": {}, "c": {}}
			s := newSimCluster(t, 7, func(c *Config) {
				mine := full[c.ID]
				c.DiskReserve, c.DiskStop = 2, 2
				c.Options.FreeSpace = func(string) (uint64, error) {
					if mine.Load() {
						return 1, nil
					}
					return c.DiskReserve, nil
				}
			})
			s.net.lossless = true // a lost call would also take ten seconds
			s.boot()
			defer s.stopAll()
			l := s.leader(nil)
			s.put(l, 5)
			var gone, other *simReplica
			for _, r := range s.rs {
				switch {
				case r == l:
				case gone == nil:
					gone = r
				default:
					other = r
				}
			}
			s.stop(gone)
			full[other.id].Store(true)
			time.Sleep(2 * time.Second)
			l.c.core.Current().Raft.Apply([]byte("x"), time.Second)
			time.Sleep(time.Minute + time.Duration(shift)*2*time.Second)
			index := l.c.LastIndex()
			if other.c.LastIndex() >= index {
				t.Fatal("the other survivor is not full")
			}
			full[other.id].Store(false)
			start := time.Now()
			for other.c.AppliedIndex() < index {
				if time.Since(start) > 2*time.Second { // up to one second passes before the replica checks its disk
					t.Fatalf("%s after there was space it has %d of %d entries", time.Since(start), other.c.AppliedIndex(), index)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}
