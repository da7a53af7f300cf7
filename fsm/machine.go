package fsm

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/internal/exitcode"
	"rmd/internal/failpoint"
)

// Machine holds one replica's committed state and implements raft.FSM.
//
// One mutex guards all fields. Apply holds it for a whole entry, so readers see the state only
// between entries. Readers hold it to fork the state or to look something up. They use forks
// without it.
type Machine struct {
	cfg Config

	mu       sync.Mutex
	st       *state.State
	index    uint64 // index of the last entry seen by Apply, StoreConfiguration or Restore
	command  uint64 // index of the last command
	term     uint64 // term of the last command
	sequence uint64 // last fenced batch applied; see fence.go
	failed   error

	fork    *state.State // shared by readers; nil when the state has changed since
	digests digestRing
	waiters waiterHeap
	recent  recentRing
	decoded decodedRing
}

var (
	_ raft.FSM                = (*Machine)(nil)
	_ raft.ConfigurationStore = (*Machine)(nil)
)

// New returns a Machine with an empty state. Zero values of the configuration mean the defaults.
func New(cfg Config) *Machine {
	cfg = cfg.orDefaults()
	return &Machine{
		cfg: cfg, st: state.New(),
		digests: digestRing{limit: cfg.Digests},
		recent: recentRing{batchesMax: cfg.WatchBatches, bytesMax: cfg.WatchBytes, changesMax: cfg.WatchChanges,
			moved: make(chan struct{})},
	}
}

// Result is the result of Apply for an entry that was applied.
type Result struct {
	Index  uint64
	Events int
	Digest uint64
}

// Apply applies one entry. It returns a Result or an error: ErrStale if the batch was skipped,
// ErrStopped after a fatal error.
func (m *Machine) Apply(l *raft.Log) any {
	start := time.Now()
	b, err := m.decode(l.Data)
	if err != nil {
		return m.fatal(exitcode.NotKnown, fmt.Errorf("decode batch at index %d: %w", l.Index, err))
	}
	res, err := m.apply(l, b)
	var broken *state.BrokenError
	switch {
	case errors.As(err, &broken):
		return m.fatal(exitcode.Diverged, fmt.Errorf("apply batch at index %d: %w", l.Index, err))
	case err != nil:
		return err
	}
	failpoint.Hit(failpoint.EntryApplied)
	if m.cfg.Observe.Apply != nil {
		m.cfg.Observe.Apply(len(b.Events), len(l.Data), time.Since(start))
	}
	return res
}

// apply applies a decoded batch while it holds the lock.
func (m *Machine) apply(l *raft.Log, b *event.Batch) (Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return Result{}, m.stopped()
	}
	if l.Index <= m.command { // a backup with a higher index, from another log, was restored
		m.digests.reset()
		m.recent.reset(l.Index - 1)
	}
	skipped := !follows(m.sequence, l.Term, b.Sequence)
	if !skipped {
		m.fork = nil
		var changes []change.Change // of the whole batch, if somebody follows
		if len(m.recent.followers) > 0 {
			changes = make([]change.Change, 0, len(b.Events))
		}
		for i, e := range b.Events {
			if err := m.st.Apply(e); err != nil {
				return Result{}, fmt.Errorf("event %d of %d: %w", i+1, len(b.Events), err)
			}
			if changes != nil {
				changes = append(changes, m.st.Changes()...)
			}
		}
		if b.Sequence != 0 {
			m.sequence = b.Sequence
		}
		m.recent.add(recentBatch{index: l.Index, term: l.Term, nowMillis: m.st.Meta.NowMillis, data: l.Data, events: b.Events,
			changes: changes})
	}
	m.command, m.term = l.Index, l.Term
	m.digests.add(Entry{Index: l.Index, Digest: m.st.Digest(), Skipped: skipped})
	m.reach(l.Index)
	if skipped {
		m.cfg.Logger.Warn("stale batch skipped", "index", l.Index, "term", l.Term, "sequence", b.Sequence)
		return Result{}, fmt.Errorf("index %d: %w", l.Index, ErrStale)
	}
	return Result{Index: l.Index, Events: len(b.Events), Digest: m.st.Digest()}, nil
}

// StoreConfiguration implements raft.ConfigurationStore. It uses only the index.
func (m *Machine) StoreConfiguration(index uint64, _ raft.Configuration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach(index)
}

// reach sets the index and wakes the callers that wait for it.
func (m *Machine) reach(index uint64) {
	m.index = index
	m.waiters.release(index)
}

// fatal stops the machine. The first call logs the error and calls OnFatal without the lock.
func (m *Machine) fatal(code int, err error) error {
	m.mu.Lock()
	first := m.failed == nil
	if first {
		m.failed = err
		m.waiters.release(^uint64(0))
		m.recent.wake()
	}
	stopped := m.stopped()
	m.mu.Unlock()
	if first {
		m.cfg.Logger.Error("cannot go on", "code", code, "error", err)
		if m.cfg.OnFatal != nil {
			m.cfg.OnFatal(code, err)
		}
	}
	return stopped
}

// stopped returns the error of all calls after a fatal error. The caller holds the lock.
func (m *Machine) stopped() error { return fmt.Errorf("%w: %w", ErrStopped, m.failed) }

// Failure returns the fatal error, or nil if there is none.
func (m *Machine) Failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// Applied returns the index and term of the last command applied.
func (m *Machine) Applied() (index, term uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.command, m.term
}

// Fork returns the committed state and its index for reading. All callers at the same index share
// the fork, so they must not change it or fork it again. Planning returns a fork that may be
// changed.
func (m *Machine) Fork() (st *state.State, index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fork == nil {
		m.fork = m.timedFork()
	}
	return m.fork, m.command
}

// Planning returns a private fork that the caller may change: the planning state of a new leader,
// or the state of a what-if run. sequence is the sequence number of the first batch that is planned
// on it in the given term. Each further batch has the next number.
func (m *Machine) Planning(term uint64) (st *state.State, index, sequence uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.timedFork(), m.command, next(m.sequence, term)
}

// timedFork forks the state and reports the duration. The caller holds the lock.
func (m *Machine) timedFork() *state.State {
	start := time.Now()
	f := m.st.Fork()
	if m.cfg.Observe.Fork != nil {
		m.cfg.Observe.Fork(time.Since(start))
	}
	return f
}
