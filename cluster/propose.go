package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/access"
	"rmd/cluster/local"
)

// Future is the outcome of a proposal.
type Future interface {
	// Wait blocks until the entry is applied here or its failure is known. index is the entry's
	// index, resp the FSM's answer. If the FSM's answer is an error, Wait returns it as err.
	// ErrNotLeader means that the entry was not appended, ErrUnknownOutcome that it may be
	// committed later or never. Wait may be called once.
	Wait() (index uint64, resp any, err error)
}

// Propose appends an entry. It blocks while raft's main loop is writing, so the proposals of one
// goroutine keep their order. The Future waits until the entry is committed and applied.
func (c *Cluster) Propose(entry []byte) Future {
	switch {
	case len(entry) > c.core.Config.EntryMax:
		return refusedFuture{fmt.Errorf("%d bytes, the limit is %d: %w", len(entry), c.core.Config.EntryMax, ErrTooLarge)}
	case c.core.Full.Load():
		return refusedFuture{ErrDiskFull}
	}
	if err := c.entries.VerifyEntry(raft.LogCommand, entry); err != nil {
		c.core.Log.Error("refusing to propose an entry that replicas cannot apply", "error", err)
		return refusedFuture{fmt.Errorf("%w: %w", access.ErrBadEntry, err)}
	}
	in := c.core.Current()
	start := time.Now()
	c.commits.Proposed()
	return &proposal{c: c, in: in, start: start, f: in.Raft.Apply(entry, c.core.EnqueueTimeout())}
}

// refusedFuture is a Future that was refused before raft got the entry.
type refusedFuture struct{ err error }

// Wait returns the refusal.
func (d refusedFuture) Wait() (uint64, any, error) { return 0, nil, d.err }

// proposal is a Future of an entry that was passed to raft.
type proposal struct {
	c     *Cluster
	in    *local.Instance
	start time.Time
	f     raft.ApplyFuture
}

// Wait checks both errors of raft's future: its own and the FSM's response.
func (p *proposal) Wait() (uint64, any, error) {
	err := p.in.Await(context.Background(), p.f)
	p.c.commits.Ended(err == nil)
	if err != nil {
		return 0, nil, p.c.core.Outcome(p.f, err)
	}
	p.c.core.Observe(MeasureCommit, time.Since(p.start))
	resp := p.f.Response()
	if err, ok := resp.(error); ok && err != nil {
		return p.f.Index(), nil, err
	}
	return p.f.Index(), resp, nil
}

// Barrier waits until this replica has applied all earlier entries. It fails unless this replica
// leads.
func (c *Cluster) Barrier(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(c.core.Context, timeout)
	defer cancel()
	in := c.core.Current()
	f := in.Raft.Barrier(timeout)
	if err := in.Await(ctx, f); err != nil {
		return c.core.Outcome(f, err)
	}
	return nil
}
