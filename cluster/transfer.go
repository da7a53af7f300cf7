package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/internal/point"
)

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

// refused notes a refusal.
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

// Transfer hands leadership to a voter; "" means the one that is furthest.
func (c *Cluster) Transfer(id string) error { return c.admin(adminRequest{Op: "transfer", ID: id}) }

// transferHere checks the target, hands over and waits until this replica no longer leads.
func (c *Cluster) transferHere(ctx context.Context, id string) error {
	in := c.current()
	var f raft.Future
	if id == "" {
		if len(voters(c.configuration())) < 2 {
			return refuse(CodeNotHealthy, "join and promote another replica first", "there is no other voter")
		}
		c.transfers.begin()
		defer c.transfers.end()
		f = in.raft.LeadershipTransfer()
	} else {
		s, ok := find(c.configuration(), id)
		switch {
		case !ok:
			return noSuch(id)
		case s.Suffrage != raft.Voter:
			return refuse(CodeNotAVoter, "promote it first", "replica %s is not a voter", id)
		case s.ID == c.Identity().ServerID():
			return nil
		}
		if err := c.awaitTarget(ctx, s, id); err != nil {
			return err
		}
		c.transfers.begin()
		defer c.transfers.end()
		f = in.raft.LeadershipTransferToServer(s.ID, s.Address)
	}
	point.Hit(point.TransferBegun)
	if err := in.await(ctx, f); err != nil {
		if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("transfer leadership: %w", err)
		}
		return refuse(CodeNotHealthy, "see \"rmd cluster members\" and try again", "leadership was not taken over: %v", err)
	}
	for in.raft.State() == raft.Leader {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("transfer leadership: %w", ctx.Err())
		}
	}
	return nil
}

// awaitTarget gives the target some seconds to have all that is committed now.
func (c *Cluster) awaitTarget(ctx context.Context, s raft.Server, id string) error {
	want := c.CommitIndex()
	var lag uint64
	for deadline := time.Now().Add(patientTimeout); ; {
		i, ok := c.askPatiently(s)[s.ID]
		if !ok {
			return refuse(CodeNotHealthy, "see \"rmd cluster members\"", "replica %s does not answer", id)
		}
		if lag = want - min(want, i.LastIndex); lag == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return refuse(CodeNotCaughtUp, "wait for \"rmd cluster members\" to show lag 0", "replica %s is %s entries behind", id, commas(lag))
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchTransfer ends hashicorp/raft #696: a leader that refuses everything with "leadership transfer in
// progress" although none of ours runs. A refusal that lasts longer than two election timeouts, asked
// again meanwhile, is ended by a restart of raft in place.
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
			c.restart("it refuses everything for a leadership transfer that nobody runs (hashicorp/raft #696)")
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

// abdicate tells the voter that is furthest to stand at once. It goes past raft, whose main loop may be
// inside a write that does not return.
func (c *Cluster) abdicate() {
	in := c.current()
	if in.raft.State() != raft.Leader {
		return
	}
	c.goRun(func() {
		self := c.Identity().ServerID()
		var best raft.Server
		var bestLast uint64
		for _, s := range voters(c.configuration()) {
			if s.ID == self {
				continue
			}
			last := c.succession.StatusOf(s.ID).LastIndex
			if best.ID == "" || last > bestLast {
				best, bestLast = s, last
			}
		}
		if best.ID == "" {
			return
		}
		if err := c.succession.RequestElection(best); err != nil {
			c.log.Warn("no voter could be told to start an election", "replica", best.ID, "error", err)
		}
	})
}

// header is raft's, for requests made here.
func (c *Cluster) header() raft.RPCHeader {
	id := c.Identity().ServerID()
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: c.trans.EncodePeer(id, c.trans.LocalAddr())}
}
