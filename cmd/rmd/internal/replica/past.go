package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/fsm"
	"rmd/fsm/state"
	"rmd/transport/rest"
)

// past rebuilds the state as it was after an index: from the newest snapshot
// before it, or from nothing, with the log from there on. What was rebuilt last is
// kept for a while, since the next question is mostly about what came next.
type past struct {
	r *Replica

	mu      sync.Mutex
	machine *fsm.Machine // nil: nothing is kept
	index   uint64       // applied to it
	idle    *time.Timer
}

const (
	pastIdle    = time.Minute
	pastAtOnce  = 256
	pastEntries = 200_000 // that one answer may apply
)

// at is the state after an index, for reading.
func (p *past) at(ctx context.Context, index uint64) (*state.State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle == nil {
		p.idle = time.AfterFunc(pastIdle, p.drop)
	} else {
		p.idle.Reset(pastIdle)
	}
	if p.machine == nil || p.index > index {
		if err := p.begin(index); err != nil {
			return nil, err
		}
	}
	for applied := 0; p.index < index && applied < pastEntries; applied += pastAtOnce {
		if err := p.apply(ctx, index); err != nil {
			p.machine = nil
			return nil, err
		}
	}
	if p.index < index {
		return nil, fmt.Errorf("the state at index %d: more than %d entries lie between it and the snapshot before it", index, pastEntries)
	}
	st, _ := p.machine.Fork()
	return st, nil
}

// begin opens the newest snapshot that is not after an index. The lock is held.
func (p *past) begin(index uint64) error {
	c := fsm.DefaultConfig()
	c.Logger = hclog.NewNullLogger()
	p.machine, p.index = fsm.New(c), 0
	list, err := p.r.cluster.SnapshotList()
	if err != nil {
		return err
	}
	_, first, _, err := p.r.cluster.Entries(0, 1)
	if err != nil {
		return err
	}
	oldest := uint64(0)
	for _, s := range list { // the newest first
		if oldest = s.Index; s.Index > index {
			continue
		}
		if first > s.Index+1 {
			break
		}
		return p.restore(s.ID, s.Index)
	}
	if first > 1 {
		p.machine = nil
		return &rest.TooOldError{Oldest: max(oldest, first)}
	}
	return nil
}

func (p *past) restore(id string, index uint64) error {
	_, r, err := p.r.cluster.OpenSnapshot(id)
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

// apply applies the next entries, up to an index. The lock is held.
func (p *past) apply(ctx context.Context, index uint64) error {
	entries, _, last, err := p.r.cluster.Entries(p.index+1, int(min(index-p.index, pastAtOnce)))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Index > index {
			break
		}
		p.index = e.Index
		if e.Type != "command" {
			continue
		}
		l := raft.Log{Index: e.Index, Term: e.Term, Type: raft.LogCommand, Data: e.Data}
		if err, failed := p.machine.Apply(&l).(error); failed && !errors.Is(err, fsm.ErrStale) {
			return fmt.Errorf("the state at index %d: %w", e.Index, err)
		}
	}
	if len(entries) == 0 {
		if last < index {
			return fmt.Errorf("the state at index %d: %w", index, io.ErrUnexpectedEOF)
		}
		p.index = index // nothing of ours lies there
	}
	return ctx.Err()
}

// drop lets go of what was rebuilt.
func (p *past) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.machine = nil
}

func (p *past) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle != nil {
		p.idle.Stop()
	}
}
