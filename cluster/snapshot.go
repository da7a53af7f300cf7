package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rmd/cluster/raftstore"

	"github.com/hashicorp/raft"
)

// SnapshotInfo describes one snapshot on disk.
type SnapshotInfo = raftstore.SnapshotInfo

// snapshotTimeout bounds Snapshot.
const snapshotTimeout = time.Minute

// Snapshot is SnapshotWithin with a timeout of one minute.
func (c *Cluster) Snapshot() error {
	ctx, cancel := context.WithTimeout(c.ctx, snapshotTimeout)
	defer cancel()
	return c.SnapshotWithin(ctx)
}

// SnapshotWithin takes a snapshot now. It returns nil if there is nothing new to take. It returns
// when ctx ends, even if the disk hangs; the snapshot may then still be finished.
func (c *Cluster) SnapshotWithin(ctx context.Context) error {
	err := c.takeSnapshot(ctx)
	if err == nil || errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	return fmt.Errorf("take snapshot: %w", err)
}

// takeSnapshot asks raft for a snapshot. The library accepts the request only after the previous
// snapshot is written, and the call cannot be cancelled. If the disk hangs, the goroutine remains,
// but never more than one.
func (c *Cluster) takeSnapshot(ctx context.Context) error {
	select {
	case c.snapshots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return ErrClosed
	}
	in := c.current()
	done := make(chan error, 1)
	go func() { // ends with raft
		done <- in.await(in.ctx, in.raft.Snapshot())
		<-c.snapshots
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return ErrClosed
	}
}

// SnapshotList returns the snapshots on disk, newest first.
func (c *Cluster) SnapshotList() ([]SnapshotInfo, error) {
	list, err := c.stores.Snapshots.List()
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
func (c *Cluster) OpenSnapshot(id string) (SnapshotInfo, io.ReadCloser, error) {
	m, r, err := c.stores.Snapshots.Open(id)
	if err != nil {
		return SnapshotInfo{}, nil, fmt.Errorf("open snapshot: %w", err)
	}
	return SnapshotInfo{ID: m.ID, Index: m.Index, Term: m.Term, Size: m.Size}, r, nil
}

// snapshotMade is called after each finished snapshot, whether it was taken here or received.
func (c *Cluster) snapshotMade(meta raft.SnapshotMeta, took time.Duration) {
	c.stores.Logs.StoredBytes(true)
	c.counters.snapshots.Add(1)
	c.counters.snapshotAt.Store(time.Now().UnixNano())
	_ = c.jobs.snapshot.Done(nil)
	c.observe(MeasureSnapshot, took)
}

// snapshotFailed is called for each snapshot, taken here or received, that could not be written. The
// library logs the error, and tries again later.
func (c *Cluster) snapshotFailed(err error) {
	_ = c.jobs.snapshot.Done(err)
	c.observe(MeasureNoShot, 0)
}

// watchSnapshotBytes takes a snapshot when the log has grown by SnapshotBytes. The library counts
// only entries.
func (c *Cluster) watchSnapshotBytes() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
		}
		if c.cfg.SnapshotBytes <= 0 || c.stores.Logs.StoredBytes(false) < c.cfg.SnapshotBytes {
			continue
		}
		if err := c.Snapshot(); err != nil {
			c.log.Warn("cannot take a snapshot to limit the size of the log", "error", err)
		}
		c.stores.Logs.StoredBytes(true)
	}
}
