package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/protocol"
	"rmd/internal/failpoint"
)

// AppliedIndex returns the highest index whose effect is in the FSM. No-ops and barriers have no
// effect: they count as applied as soon as all entries before them are.
func (c *Cluster) AppliedIndex() uint64 {
	at := c.fsm.applied.Load()
	for handed := c.current().raft.AppliedIndex(); at < handed; at++ {
		var l raft.Log
		if err := c.stores.Logs.Peek(at+1, &l); err != nil || l.Type != raft.LogNoop && l.Type != raft.LogBarrier {
			break
		}
	}
	return at
}

// WaitApplied waits until all entries up to index are applied here.
func (c *Cluster) WaitApplied(ctx context.Context, index uint64) error {
	const poll = 5 * time.Millisecond // no signal follows the application of a trailing no-op
	for {
		moved := c.fsm.moved()
		if c.AppliedIndex() >= index {
			return nil
		}
		t := time.NewTimer(poll)
		select {
		case <-moved:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-c.ctx.Done():
			t.Stop()
			return ErrClosed
		}
		t.Stop()
	}
}

// readBatcher makes all callers that wait while one verification runs share the next one.
type readBatcher struct {
	mu   sync.Mutex
	next *readBatch // collects callers; nil if none waits
	busy bool
}

type readBatch struct {
	done  chan struct{}
	index uint64
	err   error
}

// ReadIndex returns an index for a linearizable read: after WaitApplied with this index, the state
// is at least as new as the call. The index is the leader's commit index, after the leader has
// verified that it still led when the call arrived. A follower asks the leader.
func (c *Cluster) ReadIndex(ctx context.Context) (uint64, error) {
	if c.IsLeader() {
		return c.readIndexHere(ctx)
	}
	_, addr := c.Leader()
	if addr == "" || c.peer == nil {
		return 0, ErrNoLeader
	}
	b, err := c.peer.Call(ctx, addr, protocol.ReadIndex, nil)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil { // the leader may have lost leadership: the caller may try again
		return 0, fmt.Errorf("read index from the leader: %w: %w", ErrNotLeader, err)
	}
	if len(b) != 8 {
		return 0, errors.New("read index from the leader: malformed reply")
	}
	return binary.BigEndian.Uint64(b), nil
}

// Confirm returns nil if this replica led in a term when Confirm was called. Concurrent calls share
// verifications, as reads do.
func (c *Cluster) Confirm(ctx context.Context, term uint64) error {
	if _, err := c.readIndexHere(ctx); err != nil {
		return err
	}
	if c.Term() != term { // terms only rise: the verified term is this one, or it is over
		return ErrNotLeader
	}
	return nil
}

// readIndexHere joins the next batch. It starts runReads if that is not running.
func (c *Cluster) readIndexHere(ctx context.Context) (uint64, error) {
	r := &c.reads
	r.mu.Lock()
	if r.next == nil {
		r.next = &readBatch{done: make(chan struct{})}
	}
	b := r.next
	if !r.busy {
		r.busy = true
		c.goRun(c.runReads)
	}
	r.mu.Unlock()
	select {
	case <-b.done:
		return b.index, b.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-c.ctx.Done():
		return 0, ErrClosed
	}
}

// runReads verifies one batch after the other until no caller waits.
func (c *Cluster) runReads() {
	r := &c.reads
	for {
		r.mu.Lock()
		b := r.next
		r.next = nil
		if b == nil {
			r.busy = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(c.ctx, c.enqueueTimeout())
		b.index, b.err = c.verifiedIndex(ctx)
		cancel()
		close(b.done)
	}
}

// verifiedIndex reads the commit index and then verifies leadership. So the index is at least as
// new as the start of the verification.
func (c *Cluster) verifiedIndex(ctx context.Context) (uint64, error) {
	in := c.current()
	term := in.raft.CurrentTerm()
	if err := c.awaitTermCommit(ctx, in, term); err != nil {
		return 0, err
	}
	index := in.raft.CommitIndex()
	failpoint.Hit(failpoint.ReadIndexed)
	if err := c.verify(ctx, in, term); err != nil {
		return 0, err
	}
	return index, nil
}

// awaitTermCommit waits until an entry of this term is committed. Before that, a new leader's
// commit index may be older than entries that were acknowledged.
func (c *Cluster) awaitTermCommit(ctx context.Context, in *instance, term uint64) error {
	for {
		noop, noopTerm := c.stores.Logs.LastNoop()
		if noopTerm == term && in.raft.CommitIndex() >= noop {
			return nil
		}
		if in.raft.State() != raft.Leader || in.raft.CurrentTerm() != term {
			return ErrNotLeader
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
