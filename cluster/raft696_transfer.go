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
// Library: after a transfer that was interrupted and a re-election, or a transfer to a follower
// whose goroutine has just ended, a leader refuses everything with "leadership transfer in
// progress", for ever.
// Guard: a refusal while no transfer of ours runs, that lasts longer than two election timeouts and
// is asked again meanwhile, ends with a restart of raft in place.
// Test: TestTrap696; in jepsen-lite/sim TestTrap696, TestTrap696Library.
// Delete when: the library ends a transfer with its term; TestTrap696Library fails then.

// transferGate knows our own transfers and since when the library refuses because of one.
type transferGate struct {
	mu      sync.Mutex
	running int
	since   time.Time // first refusal while none of ours ran
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

// refused records a refusal.
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

// suspect returns since when refusals lack a reason.
func (g *transferGate) suspect() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since
}

// watchTransfer restarts raft in place when it refuses everything for a transfer that nobody runs.
func (c *Cluster) watchTransfer() {
	t := time.NewTicker(max(c.cfg.Election/2, 10*time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
		}
		since := c.transfers.suspect()
		if since.IsZero() {
			continue
		}
		if !c.IsLeader() || !c.stillRefuses() {
			c.transfers.clear()
			continue
		}
		if time.Since(since) > 2*c.cfg.Election {
			c.transfers.clear()
			c.restart("it refuses all requests because of a leadership transfer that has ended (hashicorp/raft #696)")
		}
	}
}

// stillRefuses asks raft with a barrier.
func (c *Cluster) stillRefuses() bool {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Election)
	defer cancel()
	in := c.current()
	return errors.Is(in.await(ctx, in.raft.Barrier(c.cfg.Election)), raft.ErrLeadershipTransferInProgress)
}
