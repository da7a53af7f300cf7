package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// hashicorp/raft #696 (v1.8.0, raft.go: leaderLoop, leadershipTransfer).
//
// Library: after an interrupted transfer and a re-election, or after a transfer to a follower whose
// goroutine has just ended, the leader refuses everything with "leadership transfer in progress",
// forever.
// Guard: raft is restarted in place if it refuses requests for longer than two election timeouts
// although none of our transfers runs.
// Test: TestTrap696; in jepsen-lite/sim TestTrap696, TestTrap696Library.
// Delete when: the library ends a transfer with its term; TestTrap696Library fails then.

// watchTransfer restarts raft in place if it refuses requests because of a transfer that has ended.
func (r *runs) watchTransfer() {
	t := time.NewTicker(max(r.Config.Election/2, 10*time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-r.Context.Done():
			return
		case <-t.C:
		}
		since := r.Transfers.Suspect()
		if since.IsZero() {
			continue
		}
		if !r.IsLeader() || !r.stillRefuses() {
			r.Transfers.Clear()
			continue
		}
		if time.Since(since) > 2*r.Config.Election {
			r.Transfers.Clear()
			r.restart("it refuses all requests because of a leadership transfer that has ended (hashicorp/raft #696)")
		}
	}
}

// stillRefuses reports whether raft refuses a barrier because of a transfer.
func (r *runs) stillRefuses() bool {
	ctx, cancel := context.WithTimeout(r.Context, r.Config.Election)
	defer cancel()
	in := r.Current()
	return errors.Is(in.Await(ctx, in.Raft.Barrier(r.Config.Election)), raft.ErrLeadershipTransferInProgress)
}
