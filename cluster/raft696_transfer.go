package cluster

import (
	"context"
	"errors"
	"sync"
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

// transferGate counts our own transfers, and knows since when the library refuses requests although
// none of them runs.
type transferGate struct {
	mu      sync.Mutex
	running int
	since   time.Time // the first such refusal; zero if there is none
}

func (g *transferGate) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running++
	g.since = time.Time{}
}

func (g *transferGate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
}

// refused records that the library refused a request because of a transfer.
func (g *transferGate) refused(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running == 0 && g.since.IsZero() {
		g.since = now
	}
}

func (g *transferGate) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since = time.Time{}
}

// suspect returns since when the library refuses requests without a transfer of ours, or zero.
func (g *transferGate) suspect() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since
}

// watchTransfer restarts raft in place if it refuses requests because of a transfer that has ended.
func (r *runs) watchTransfer() {
	t := time.NewTicker(max(r.cfg.Election/2, 10*time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-t.C:
		}
		since := r.transfers.suspect()
		if since.IsZero() {
			continue
		}
		if !r.IsLeader() || !r.stillRefuses() {
			r.transfers.clear()
			continue
		}
		if time.Since(since) > 2*r.cfg.Election {
			r.transfers.clear()
			r.restart("it refuses all requests because of a leadership transfer that has ended (hashicorp/raft #696)")
		}
	}
}

// stillRefuses reports whether raft refuses a barrier because of a transfer.
func (r *runs) stillRefuses() bool {
	ctx, cancel := context.WithTimeout(r.ctx, r.cfg.Election)
	defer cancel()
	in := r.current()
	return errors.Is(in.await(ctx, in.raft.Barrier(r.cfg.Election)), raft.ErrLeadershipTransferInProgress)
}
