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
// Library: it treats the snapshot that was finished last as the newest. If this replica finishes
// its own snapshot after it has received a newer one, raft's snapshot index goes back. Raft would
// then report, and vote by, a log that ends before entries that it acknowledged, as after a log
// rollback.
// Guard: finishMu is held while a snapshot is compared with the newest one and finished, and, for
// this replica's own snapshot, until raft knows about it. An older snapshot is dropped.
// Test: TestSnapshotSuperseded, TestReceivedSnapshotWaitsForOwn; in cluster
// TestInstallBesideOwnSnapshot.
// Delete when: setLastSnapshot never goes back.

// finish makes a verified snapshot visible, unless it is older than the newest one.
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
	err := k.SnapshotSink.Close() // not under g.write: a large snapshot takes longer than the watchdog allows
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

// checkSuperseded returns an error if the snapshot is older than the newest one.
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

// ownSnapshot is a snapshot that this replica takes itself. Raft releases it after recording that
// it is finished. Until then no received snapshot can be finished.
type ownSnapshot struct {
	raft.FSMSnapshot
	done func() // unlocks finishMu; nil while it is not locked
}

// NewOwnSnapshot marks a snapshot as taken by this replica.
func NewOwnSnapshot(s raft.FSMSnapshot) raft.FSMSnapshot { return &ownSnapshot{FSMSnapshot: s} }

// Persist writes the state.
func (s *ownSnapshot) Persist(sink raft.SnapshotSink) error {
	k, ok := sink.(*snapSink)
	if !ok {
		return s.FSMSnapshot.Persist(sink)
	}
	k.own = s
	return k.fail(s.FSMSnapshot.Persist(sink))
}

// Release is called once, whether or not the snapshot was finished.
func (s *ownSnapshot) Release() {
	if s.done != nil {
		s.done()
	}
	s.FSMSnapshot.Release()
}
