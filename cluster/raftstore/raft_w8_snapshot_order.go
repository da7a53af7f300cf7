package raftstore

import (
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"rmd/internal/failpoint"
)

// Work-around W8: the snapshot that was finished last (v1.8.0, snapshot.go: takeSnapshot; raft.go:
// installSnapshot; both call setLastSnapshot).
//
// Library: it takes the index of whichever snapshot was finished last for its newest. A snapshot
// that this replica takes itself, and finishes behind a newer one that it received meanwhile, sets
// that index back: raft would say that its log ends before what it acknowledged, as after a log
// rollback, and vote by that.
// Guard: to compare with the newest, to finish, and for the replica's own to be known to raft, is
// one step under finishMu. An older snapshot is thrown away.
// Test: TestSnapshotSuperseded, TestOwnSnapshotIsTakenIn; in cluster TestInstallBesideOwnSnapshot.
// Delete when: setLastSnapshot never goes back.

// finish makes a verified snapshot visible, unless it is behind the newest one.
func (k *snapSink) finish() error {
	k.s.finishMu.Lock()
	if k.own != nil {
		k.own.done = k.s.finishMu.Unlock
	} else {
		defer k.s.finishMu.Unlock()
	}
	if err := k.checkSuperseded(); err != nil {
		_ = k.SnapshotSink.Cancel()
		return err
	}
	failpoint.Hit(failpoint.SnapshotVerified)
	err := k.SnapshotSink.Close() // long for a large one: not under the watchdog's eye
	if err == nil && k.s.dir != "" {
		err = sealMeta(k.s.dir, k.meta.ID)
	}
	if err != nil {
		k.discard()
		return k.s.writeFailed(fmt.Errorf("finish snapshot at %d: %w", k.meta.Index, err))
	}
	failpoint.Hit(failpoint.SnapshotFinished)
	if k.s.OnFinished != nil {
		k.s.OnFinished(k.meta, time.Since(k.start))
	}
	return nil
}

// checkSuperseded refuses a snapshot behind the newest one.
func (k *snapSink) checkSuperseded() error {
	list, err := k.s.list()
	if IsShortage(err) {
		return k.s.writeFailed(fmt.Errorf("finish snapshot at %d: %w", k.meta.Index, err))
	}
	if err != nil || len(list) == 0 || list[0].Index <= k.meta.Index {
		return nil
	}
	return fmt.Errorf("snapshot at %d: %w, at %d", k.meta.Index, ErrSnapshotSuperseded, list[0].Index)
}

// ownSnapshot is one that this replica takes itself. Raft releases it once it knows that it is
// finished; until then no received snapshot is finished.
type ownSnapshot struct {
	raft.FSMSnapshot
	done func() // unlocks finishMu; nil while it is not locked
}

// NewOwnSnapshot marks a snapshot as one that this replica takes itself.
func NewOwnSnapshot(s raft.FSMSnapshot) raft.FSMSnapshot { return &ownSnapshot{FSMSnapshot: s} }

// Persist writes the state.
func (s *ownSnapshot) Persist(sink raft.SnapshotSink) error {
	if k, ok := sink.(*snapSink); ok {
		k.own = s
	}
	return s.FSMSnapshot.Persist(sink)
}

// Release is called once, whether the snapshot came into being or not.
func (s *ownSnapshot) Release() {
	if s.done != nil {
		s.done()
	}
	s.FSMSnapshot.Release()
}
