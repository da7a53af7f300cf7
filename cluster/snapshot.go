package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/local"
	"rmd/cluster/raftstore"
)

// SnapshotInfo describes one snapshot on disk.
type SnapshotInfo = raftstore.SnapshotInfo

// snapshots takes snapshots and lists them.
type snapshots struct {
	*local.Replica
	one chan struct{} // the one request that waits for raft holds it
}

// snapshotTimeout bounds Snapshot.
const snapshotTimeout = time.Minute

// Snapshot is SnapshotWithin with a timeout of one minute.
func (s *snapshots) Snapshot() error {
	ctx, cancel := context.WithTimeout(s.Context, snapshotTimeout)
	defer cancel()
	return s.SnapshotWithin(ctx)
}

// SnapshotWithin takes a snapshot now. It returns nil if there is nothing new to take. It returns
// when ctx ends, even if the disk hangs; the snapshot may then still be finished.
func (s *snapshots) SnapshotWithin(ctx context.Context) error {
	err := s.takeSnapshot(ctx)
	if err == nil || errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	return fmt.Errorf("take snapshot: %w", err)
}

// takeSnapshot asks raft for a snapshot. The library accepts the request only after the previous
// snapshot is written, and the call cannot be cancelled. If the disk hangs, the goroutine remains,
// but never more than one.
func (s *snapshots) takeSnapshot(ctx context.Context) error {
	select {
	case s.one <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Context.Done():
		return ErrClosed
	}
	in := s.Current()
	done := make(chan error, 1)
	go func() { // ends with raft
		done <- in.Await(in.Context, in.Raft.Snapshot())
		<-s.one
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Context.Done():
		return ErrClosed
	}
}

// SnapshotList returns the snapshots on disk, newest first.
func (s *snapshots) SnapshotList() ([]SnapshotInfo, error) {
	list, err := s.Stores.Snapshots.List()
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	out := make([]SnapshotInfo, len(list))
	for i, m := range list {
		out[i] = SnapshotInfo{ID: m.ID, Index: m.Index, Term: m.Term, Size: m.Size}
	}
	return out, nil
}

// OpenSnapshot opens a snapshot for reading. The store has compared its checksum.
func (s *snapshots) OpenSnapshot(id string) (SnapshotInfo, io.ReadCloser, error) {
	m, r, err := s.Stores.Snapshots.Open(id)
	if err != nil {
		return SnapshotInfo{}, nil, fmt.Errorf("open snapshot: %w", err)
	}
	return SnapshotInfo{ID: m.ID, Index: m.Index, Term: m.Term, Size: m.Size}, r, nil
}

// snapshotMade is called after each finished snapshot, whether it was taken here or received.
func (s *snapshots) snapshotMade(meta raft.SnapshotMeta, took time.Duration) {
	s.Stores.Logs.StoredBytes(true)
	s.Counters.Snapshots.Add(1)
	s.Counters.SnapshotAt.Store(time.Now().UnixNano())
	_ = s.Jobs.Snapshot.Done(nil)
	s.Observe(MeasureSnapshot, took)
}

// snapshotFailed is called for each snapshot, taken here or received, that could not be written. The
// library logs the error, and tries again later.
func (s *snapshots) snapshotFailed(err error) {
	_ = s.Jobs.Snapshot.Done(err)
	s.Observe(MeasureNoShot, 0)
}

// watchSnapshotBytes takes a snapshot when the log has grown by SnapshotBytes. The library counts
// only entries.
func (s *snapshots) watchSnapshotBytes() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-s.Context.Done():
			return
		case <-t.C:
		}
		if s.Config.SnapshotBytes <= 0 || s.Stores.Logs.StoredBytes(false) < s.Config.SnapshotBytes {
			continue
		}
		if err := s.Snapshot(); err != nil {
			s.Log.Warn("cannot take a snapshot to limit the size of the log", "error", err)
		}
		s.Stores.Logs.StoredBytes(true)
	}
}
