package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/raft"

	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
)

// Work-around W11: a restore that fails midway (v1.8.0, raft.go: restoreUserSnapshot; fsm.go).
//
// Library: it panics if the FSM cannot restore a user's snapshot.
// Guard: the whole snapshot is read and verified before raft gets it.
// Test: TestUserSnapshotRestore.
// Delete when: a failed restore returns an error and leaves the state unchanged.

// RestoreSnapshot replaces the state of the whole cluster. It fails unless this replica leads.
func (c *Cluster) RestoreSnapshot(meta SnapshotInfo, r io.Reader) error {
	if !c.IsLeader() {
		return ErrNotLeader
	}
	c.progress.BeginRestore()
	defer c.progress.EndRestore()
	f, err := os.CreateTemp(c.core.Config.DataDir, "restore-*.tmp")
	if err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	size, err := io.Copy(f, r)
	if err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	if c.core.Config.VerifySnapshot != nil {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("restore snapshot: %w", err)
		}
		if err := c.core.Config.VerifySnapshot(f); err != nil {
			return refusal.New(refusal.SnapshotDamaged, "use another backup; the state is unchanged",
				"the snapshot is damaged: %v", err)
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	in := c.core.Current()
	done := make(chan error, 1)
	go func() { // the library's call cannot be cancelled; it ends when raft stops
		done <- in.Raft.Restore(&raft.SnapshotMeta{Version: raft.SnapshotVersionMax, Index: meta.Index, Term: meta.Term,
			Size: size}, f, protocol.AdminTimeout)
	}()
	select {
	case err = <-done:
	case <-in.Context.Done():
		err = ErrUnknownOutcome
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: restore snapshot: %w", ErrNotLeader, err)
	case errors.Is(err, raft.ErrLeadershipLost): // this leader has stored the snapshot, and other replicas may receive it
		return fmt.Errorf("%w: restore snapshot: %w", ErrUnknownOutcome, err)
	}
	return fmt.Errorf("restore snapshot: %w", err)
}
