package fsm

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/exitcode"
	"rmd/internal/failpoint"
)

// Machine is one replica's committed state.
//
// One mutex guards everything. Apply holds it for one entry, which is what
// makes readers see the state between entries only; readers hold it for a fork
// or a look-up. Forks are used without it.
type Machine struct {
	cfg Config

	mu       sync.Mutex
	st       *state.State
	index    uint64 // last entry seen by Apply, StoreConfiguration or Restore
	command  uint64 // last command
	term     uint64 // its term
	sequence uint64 // last fenced batch applied; see fence.go
	failed   error

	fork    *state.State // shared for reading; nil when the state has moved on
	digests digestRing
	waiters waiterHeap
	recent  recentRing
	decoded decodedRing
}

var (
	_ raft.FSM                = (*Machine)(nil)
	_ raft.ConfigurationStore = (*Machine)(nil)
)

// New returns a Machine with an empty state. What is zero in the configuration
// gets its default.
func New(cfg Config) *Machine {
	cfg = cfg.orDefaults()
	return &Machine{
		cfg: cfg, st: state.New(),
		digests: digestRing{limit: cfg.Digests},
		recent:  recentRing{batchesMax: cfg.WatchBatches, bytesMax: cfg.WatchBytes, moved: make(chan struct{})},
	}
}

// Result is what Apply answers for an entry that was applied.
type Result struct {
	Index  uint64
	Events int
	Digest uint64
}

// Apply applies one entry. Its answer is a Result, or an error: ErrStale for a
// batch that was skipped, ErrStopped after a fatal one.
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

// apply applies a decoded batch under the lock.
func (m *Machine) apply(l *raft.Log, b *event.Batch) (Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return Result{}, m.stopped()
	}
	if l.Index <= m.command { // a backup was restored, made at a higher index of another log
		m.digests.reset()
		m.recent.reset(l.Index - 1)
	}
	skipped := !follows(m.sequence, l.Term, b.Sequence)
	if !skipped {
		m.fork = nil
		for i, e := range b.Events {
			if err := m.st.Apply(e); err != nil {
				return Result{}, fmt.Errorf("event %d of %d: %w", i+1, len(b.Events), err)
			}
		}
		if b.Sequence != 0 {
			m.sequence = b.Sequence
		}
		m.recent.add(recentBatch{index: l.Index, term: l.Term, nowMillis: m.st.Meta.NowMillis, data: l.Data, events: b.Events})
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

// StoreConfiguration is told of each committed membership; only the index
// matters here.
func (m *Machine) StoreConfiguration(index uint64, _ raft.Configuration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach(index)
}

// reach moves the index and wakes who waited for it.
func (m *Machine) reach(index uint64) {
	m.index = index
	m.waiters.release(index)
}

// fatal stops the machine and tells the owner, once, outside the lock.
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

// stopped is the error of everything after a fatal one. The lock is held.
func (m *Machine) stopped() error { return fmt.Errorf("%w: %w", ErrStopped, m.failed) }

// Failure is the fatal error, nil while there is none.
func (m *Machine) Failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// Applied is the index and term of the last command applied.
func (m *Machine) Applied() (index, term uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.command, m.term
}

// Fork returns the committed state and its index for reading. It is shared by
// all who ask at the same index: nobody may change it, or fork it again; for
// that there is Planning.
func (m *Machine) Fork() (st *state.State, index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fork == nil {
		m.fork = m.timedFork()
	}
	return m.fork, m.command
}

// Planning returns a private fork that the caller may change: the planning
// state of a new leader, or a what-if run. sequence is the number that the
// first batch planned on it in the term must carry; each one after it carries
// one more.
func (m *Machine) Planning(term uint64) (st *state.State, index, sequence uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.timedFork(), m.command, next(m.sequence, term)
}

// timedFork forks under the lock.
func (m *Machine) timedFork() *state.State {
	start := time.Now()
	f := m.st.Fork()
	if m.cfg.Observe.Fork != nil {
		m.cfg.Observe.Fork(time.Since(start))
	}
	return f
}
