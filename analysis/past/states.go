// Package past knows what a replica's log and snapshots tell of the past: the state at an earlier
// index, and the causes of the decisions in the log. Read States first.
package past

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/api"
	"rmd/cluster"
	"rmd/fsm"
	"rmd/fsm/state"
)

// Log is the log of a replica and its snapshots. *cluster.Cluster implements it.
type Log interface {
	// Entries returns up to count entries from an index on, and the first and the last index of the log.
	Entries(from uint64, count int) (entries []cluster.LogEntry, first, last uint64, err error)
	// SnapshotList returns the snapshots, newest first.
	SnapshotList() ([]cluster.SnapshotInfo, error)
	OpenSnapshot(id string) (cluster.SnapshotInfo, io.ReadCloser, error)
}

// States rebuilds the state at an earlier index: from the newest snapshot before that index, or from
// the empty state, and the log after it. It keeps the last result for a while, since the next
// question is usually about a slightly later index.
type States struct {
	log Log
	// each is called for every entry with events, applied or skipped. began is called when the
	// rebuilt state was dropped. Both may be nil. The caller of either holds mu.
	each  func(index uint64, data []byte, applied bool) error
	began func()

	mu      sync.Mutex
	machine *fsm.Machine // nil if no state is kept
	index   uint64       // the last index that machine has applied
	idle    *time.Timer
	free    time.Time // the earliest time at which it may be rebuilt from the beginning
}

// NewStates returns the earlier states of a log.
func NewStates(log Log) *States { return &States{log: log} }

// Rebuilding from the beginning reads a whole snapshot. If it takes longer than cheap, it
// may not start again for share times as long. So it uses at most a fifth of the time,
// for all callers together.
const (
	cheap = 250 * time.Millisecond
	share = 4
)

const (
	unused     = time.Minute
	readAtOnce = 256
	entriesMax = 200_000 // the most entries that one call may apply
)

// At returns the state at an index. The caller must not change it.
func (p *States) At(ctx context.Context, index uint64) (*state.State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.reach(ctx, index); err != nil {
		return nil, err
	}
	st, _ := p.machine.Fork()
	return st, nil
}

// ForkAt returns the state at an index, as a copy that the caller may change.
func (p *States) ForkAt(ctx context.Context, index uint64) (*state.State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.reach(ctx, index); err != nil {
		return nil, err
	}
	st, _, _ := p.machine.Planning(0)
	return st, nil
}

// reach advances or rebuilds machine to an index. The caller holds mu.
func (p *States) reach(ctx context.Context, index uint64) error {
	if p.idle == nil {
		p.idle = time.AfterFunc(unused, p.drop)
	} else {
		p.idle.Reset(unused)
	}
	if began := time.Now(); p.machine == nil || p.index > index {
		if began.Before(p.free) {
			return &api.Error{Code: api.CodeBusy, Message: "an earlier state was rebuilt a moment ago, which takes long here",
				Remedy: "step forwards, or wait a moment",
				Status: http.StatusServiceUnavailable, RetryAfterMillis: p.free.Sub(began).Milliseconds()}
		}
		defer func() {
			if took := time.Since(began); took > cheap {
				p.free = time.Now().Add(share * took)
			}
		}()
		if err := p.begin(index); err != nil {
			return err
		}
	}
	for applied := 0; p.index < index && applied < entriesMax; {
		n, err := p.apply(ctx, index)
		if err != nil {
			p.machine = nil
			return err
		}
		applied += max(n, 1)
	}
	if p.index < index {
		return fmt.Errorf("the state at index %d: more than %d entries lie between it and the snapshot before it",
			index, entriesMax)
	}
	return nil
}

// begin restores the newest snapshot that is not after an index, or the empty state. The caller
// holds mu.
func (p *States) begin(index uint64) error {
	c := fsm.DefaultConfig()
	c.Logger = hclog.NewNullLogger()
	p.machine, p.index = fsm.New(c), 0
	if p.began != nil {
		p.began()
	}
	kept, first, err := p.Kept()
	if err != nil {
		return err
	}
	oldest := uint64(0)
	for _, s := range kept {
		if oldest = s.Index; s.Index <= index {
			return p.restore(s.ID, s.Index)
		}
	}
	if first > 1 {
		p.machine = nil
		return &api.Error{Code: api.CodeTooOld, Message: fmt.Sprintf(
			"the state at index %d cannot be rebuilt: the log and the snapshots that are kept begin at %d", index, oldest),
			Remedy: fmt.Sprintf("choose an index from %d on", oldest), Status: http.StatusGone}
	}
	return nil
}

// Kept returns the usable snapshots, newest first, and the index of the first log entry. A snapshot
// is usable if the log continues it.
func (p *States) Kept() (list []cluster.SnapshotInfo, first uint64, err error) {
	if list, err = p.log.SnapshotList(); err != nil {
		return nil, 0, err
	}
	if _, first, _, err = p.log.Entries(0, 1); err != nil {
		return nil, 0, err
	}
	for i, s := range list {
		if first > s.Index+1 {
			return list[:i], first, nil
		}
	}
	return list, first, nil
}

func (p *States) restore(id string, index uint64) error {
	_, r, err := p.log.OpenSnapshot(id)
	if err == nil {
		err = p.machine.Restore(r)
	}
	if err != nil {
		p.machine = nil
		return fmt.Errorf("the state at index %d: %w", index, err)
	}
	p.index = index
	return nil
}

// apply applies the next entries up to an index, and returns how many it has read. The caller holds
// mu.
func (p *States) apply(ctx context.Context, index uint64) (read int, err error) {
	entries, first, last, err := p.log.Entries(p.index+1, int(min(index-p.index, readAtOnce)))
	if err != nil {
		return 0, err
	}
	if first > p.index+1 { // a snapshot has removed the next entry from the log
		return len(entries), p.begin(index)
	}
	for _, e := range entries {
		if e.Index > index {
			break
		}
		if e.Index != p.index+1 { // it was removed in the meantime
			return len(entries), p.begin(index)
		}
		p.index = e.Index
		if e.Type != "command" {
			continue
		}
		l := raft.Log{Index: e.Index, Term: e.Term, Type: raft.LogCommand, Data: e.Data}
		err, failed := p.machine.Apply(&l).(error)
		if failed && !errors.Is(err, fsm.ErrStale) {
			// A failure of this machine must not stop the replica.
			return 0, &api.Error{Code: "NOT_REBUILT",
				Message: fmt.Sprintf("the state at index %d cannot be rebuilt: %v", e.Index, err),
				Remedy:  "choose an index after a later snapshot", Status: http.StatusInternalServerError}
		}
		if p.each != nil {
			if err := p.each(e.Index, e.Data, !failed); err != nil {
				return 0, err
			}
		}
	}
	if len(entries) == 0 {
		if last < index {
			return 0, fmt.Errorf("the state at index %d: %w", index, io.ErrUnexpectedEOF)
		}
		p.index = index // the log has no more entries with events up to index
	}
	return len(entries), ctx.Err()
}

// drop drops the rebuilt state.
func (p *States) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.machine = nil
	if p.began != nil {
		p.began()
	}
}

// Close stops the timer that drops the rebuilt state.
func (p *States) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle != nil {
		p.idle.Stop()
	}
}
