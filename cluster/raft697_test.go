package cluster

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// TestOlderSnapshot checks a follower whose log contains only a divergent tail after its newest
// snapshot, while the new leader's newest snapshot is older or the same. The follower must catch
// up, its state must not go back, and the leader must not send snapshots repeatedly.
func TestOlderSnapshot(t *testing.T) {
	for _, same := range []bool{false, true} {
		t.Run(fmt.Sprintf("same %v", same), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimCluster(t, 1, func(c *Config) { c.Trailing = 0 })
				s.boot()
				old := s.leader(nil)
				propose := func(r *simReplica, n int) (index uint64) {
					var err error
					for range n {
						if index, _, err = r.c.Propose([]byte("x")).Wait(); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Second)
					return index
				}
				snap := func(rs ...*simReplica) {
					for _, r := range rs {
						if err := r.c.Snapshot(); err != nil {
							t.Fatal(err)
						}
					}
				}
				propose(old, 10)
				snap(s.rs...)
				propose(old, 10)
				if snap(old); same {
					for _, r := range s.rs {
						if r != old {
							snap(r)
						}
					}
				}
				s.net.isolate(s.addr(old), true, true)
				for range 100 {
					old.c.core.Current().Raft.Apply([]byte("lost"), time.Second)
				}
				now := s.leader(old)
				applied, before := old.c.AppliedIndex(), s.net.countInstalls()
				s.net.heal()
				index := propose(now, 5)
				for range 300 {
					time.Sleep(100 * time.Millisecond)
					if at := old.c.AppliedIndex(); at < applied {
						t.Fatalf("applied index went back from %d to %d", applied, at)
					} else {
						applied = at
					}
				}
				if old.fsm.back {
					t.Error("a snapshot took the state back")
				}
				if applied < index {
					t.Errorf("the follower is at %d, not at %d", applied, index)
				}
				if n := s.net.countInstalls() - before; n > 5 {
					t.Errorf("%d snapshots were sent", n)
				}
				if msg := differ(s.rs); msg != "" {
					t.Error(msg)
				}
				s.stopAll()
			})
		})
	}
}

// TestLateInstallOfBarrier checks that a snapshot which ends with a barrier counts as applied,
// although the FSM does not get barriers and the log no longer has the entry. Otherwise a late
// installation of the snapshot would clear the log after it.
func TestLateInstallOfBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, func(c *Config) { c.Trailing = 0 })
		s.boot()
		l := s.leader(nil)
		s.put(l, 1)
		if err := errors.Join(l.c.Barrier(time.Second), l.c.Snapshot()); err != nil {
			t.Fatal(err)
		}
		snaps, err := l.c.core.Stores.Snapshots.List()
		if err != nil || len(snaps) == 0 || snaps[0].Index <= l.c.AppliedIndex() {
			t.Fatalf("the snapshot does not end with the barrier: %v, %v", snaps, err)
		}
		if at := (raftView{l.c}).Applied(); at < snaps[0].Index {
			t.Errorf("applied index %d: a snapshot that was taken here, at %d, would be installed over the log behind it", at,
				snaps[0].Index)
		}
		s.stopAll()
	})
}

// TestRestartKeepsReplacedLog checks that a restart in place drops a log that was found divergent,
// but not a log that has replaced it in the meantime.
func TestRestartKeepsReplacedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, nil)
		s.boot()
		l := s.leader(nil)
		index, term := l.c.core.Stores.Logs.Tail()
		l.c.runs.divergent.Store(&raft.Log{Index: index, Term: term})
		if !l.c.runs.takeDivergent() || l.c.runs.takeDivergent() {
			t.Error("the log that was found is not dropped, or more than once")
		}
		l.c.runs.divergent.Store(&raft.Log{Index: index, Term: term})
		s.put(l, 1)
		if l.c.runs.takeDivergent() {
			t.Error("a log with an entry more than the one that was found is dropped")
		}
		s.stopAll()
	})
}

// slowSnaps is a snapshot store that can delay the end of a snapshot until it is released.
type slowSnaps struct {
	raft.SnapshotStore
	begun, release chan struct{} // nil while the store is not slow
}

func (s *slowSnaps) Create(v raft.SnapshotVersion, index, term uint64, conf raft.Configuration, at uint64,
	trans raft.Transport) (raft.SnapshotSink, error) {
	k, err := s.SnapshotStore.Create(v, index, term, conf, at, trans)
	return slowSink{k, s}, err
}

type slowSink struct {
	raft.SnapshotSink
	s *slowSnaps
}

func (k slowSink) Close() error {
	if begun := k.s.begun; begun != nil {
		k.s.begun = nil
		close(begun)
		<-k.s.release
	}
	return k.SnapshotSink.Close()
}

// TestInstallBesideOwnSnapshot checks that raft's snapshot index does not go back if a follower
// with a slow disk receives a newer snapshot while it takes its own.
func TestInstallBesideOwnSnapshot(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		slow := map[string]*slowSnaps{}
		s := newSimCluster(t, 1, func(c *Config) {
			files, err := raft.NewFileSnapshotStoreWithLogger(filepath.Join(dir, c.ID), 2, c.Logger)
			if err != nil {
				t.Fatal(err)
			}
			slow[c.ID] = &slowSnaps{SnapshotStore: files}
			c.Trailing, c.Options.SnapshotStore = 0, slow[c.ID]
		})
		s.boot()
		l := s.leader(nil)
		f := s.rs[slices.IndexFunc(s.rs, func(r *simReplica) bool { return r != l })]
		s.put(l, 5)
		begun, release := make(chan struct{}), make(chan struct{})
		slow[f.id].begun, slow[f.id].release = begun, release
		go func() { _ = f.c.Snapshot() }()
		<-begun
		s.net.isolate(s.addr(f), true, true)
		s.put(l, 5)
		if err := l.c.Snapshot(); err != nil {
			t.Fatal(err)
		}
		s.net.heal()
		time.Sleep(5 * time.Second) // the newer snapshot is being sent, or was received
		close(release)
		time.Sleep(30 * time.Second)
		list, err := f.c.SnapshotList()
		if err != nil || len(list) == 0 || s.net.countInstalls() == 0 {
			t.Fatalf("snapshots: %v, %v; %d were sent", list, err, s.net.countInstalls())
		}
		if at := f.c.core.Current().Raft.Stats()["last_snapshot_index"]; at != fmt.Sprint(list[0].Index) {
			t.Errorf("raft believes in the snapshot at %s, the newest one is at %d", at, list[0].Index)
		}
		if msg := differ(s.rs); msg != "" {
			t.Error(msg)
		}
		s.stopAll()
	})
}
