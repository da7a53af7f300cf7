package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/leading"
	"rmd/cluster/local"
	"rmd/cluster/protocol"
	"rmd/internal/failpoint"
)

// reads verifies leadership for linearizable reads.
type reads struct {
	*local.Replica
	lead    *leading.Watch
	batches readBatcher
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
func (r *reads) ReadIndex(ctx context.Context) (uint64, error) {
	if r.IsLeader() {
		return r.readIndexHere(ctx)
	}
	_, addr := r.lead.Leader()
	if addr == "" || r.Peer == nil {
		return 0, ErrNoLeader
	}
	b, err := r.Peer.Call(ctx, addr, protocol.ReadIndex, nil)
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
func (r *reads) Confirm(ctx context.Context, term uint64) error {
	if _, err := r.readIndexHere(ctx); err != nil {
		return err
	}
	if r.Term() != term { // terms only rise: the verified term is this one, or it is over
		return ErrNotLeader
	}
	return nil
}

// readIndexHere joins the next batch. It starts runReads if that is not running.
func (r *reads) readIndexHere(ctx context.Context) (uint64, error) {
	waits := &r.batches
	waits.mu.Lock()
	if waits.next == nil {
		waits.next = &readBatch{done: make(chan struct{})}
	}
	b := waits.next
	if !waits.busy {
		waits.busy = true
		r.Go(r.runReads)
	}
	waits.mu.Unlock()
	select {
	case <-b.done:
		return b.index, b.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-r.Context.Done():
		return 0, ErrClosed
	}
}

// runReads verifies one batch after the other until no caller waits.
func (r *reads) runReads() {
	waits := &r.batches
	for {
		waits.mu.Lock()
		b := waits.next
		waits.next = nil
		if b == nil {
			waits.busy = false
			waits.mu.Unlock()
			return
		}
		waits.mu.Unlock()
		ctx, cancel := context.WithTimeout(r.Context, r.EnqueueTimeout())
		b.index, b.err = r.verifiedIndex(ctx)
		cancel()
		close(b.done)
	}
}

// verifiedIndex reads the commit index and then verifies leadership. So the index is at least as
// new as the start of the verification.
func (r *reads) verifiedIndex(ctx context.Context) (uint64, error) {
	in := r.Current()
	term := in.Raft.CurrentTerm()
	if err := r.awaitTermCommit(ctx, in, term); err != nil {
		return 0, err
	}
	index := in.Raft.CommitIndex()
	failpoint.Hit(failpoint.ReadIndexed)
	if err := r.verify(ctx, in, term); err != nil {
		return 0, err
	}
	return index, nil
}

// awaitTermCommit waits until an entry of this term is committed. Before that, a new leader's
// commit index may be older than entries that were acknowledged.
func (r *reads) awaitTermCommit(ctx context.Context, in *local.Instance, term uint64) error {
	for {
		noop, noopTerm := r.Stores.Logs.LastNoop()
		if noopTerm == term && in.Raft.CommitIndex() >= noop {
			return nil
		}
		if in.Raft.State() != raft.Leader || in.Raft.CurrentTerm() != term {
			return ErrNotLeader
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
