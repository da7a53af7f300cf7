package local

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"rmd/cluster/raftstore"
	"rmd/internal/failpoint"
)

// Machine wraps the caller's FSM for raft. It remembers what the FSM has applied. After a restart
// of raft in place it skips entries that the FSM has already applied, so that the state never goes
// back.
type Machine struct {
	inner   raft.FSM
	changed func(index uint64, conf raft.Configuration)
	failed  func(err error) // called for a snapshot that the FSM cannot make

	Applied atomic.Uint64 // highest index whose effect is in the FSM
	seen    atomic.Uint64 // highest index that this raft instance has passed in

	committed atomic.Pointer[raft.Configuration] // the newest applied membership, nil before the first one

	mu   sync.Mutex
	wake chan struct{} // closed and replaced when applied grows
}

var (
	_ raft.FSM                = (*Machine)(nil)
	_ raft.ConfigurationStore = (*Machine)(nil)
)

// NewMachine returns a Machine around the FSM of the caller.
func NewMachine(inner raft.FSM, changed func(uint64, raft.Configuration), failed func(error)) *Machine {
	return &Machine{inner: inner, changed: changed, failed: failed, wake: make(chan struct{})}
}

// errReplaying delays a snapshot.
var errReplaying = errors.New("raft has not caught up after its restart")

// Restarted prepares for a new raft instance that starts at a snapshot's index.
func (m *Machine) Restarted(snapshot uint64) { m.seen.Store(snapshot) }

// Apply applies an entry unless the FSM has already applied it.
func (m *Machine) Apply(l *raft.Log) any {
	m.seen.Store(l.Index)
	if l.Index <= m.Applied.Load() {
		return nil
	}
	resp := m.inner.Apply(l)
	m.advance(l.Index)
	return resp
}

// StoreConfiguration records a committed membership.
func (m *Machine) StoreConfiguration(index uint64, conf raft.Configuration) {
	m.seen.Store(index)
	if index > m.Applied.Load() {
		if s, ok := m.inner.(raft.ConfigurationStore); ok {
			s.StoreConfiguration(index, conf)
		}
		m.committed.Store(&conf)
	}
	m.advance(index)
	m.changed(index, conf)
}

// Membership returns the newest committed membership that was applied here. It is empty before the
// first one.
func (m *Machine) Membership() raft.Configuration {
	if conf := m.committed.Load(); conf != nil {
		return *conf
	}
	return raft.Configuration{}
}

// advance raises applied and wakes the goroutines that wait for it.
func (m *Machine) advance(index uint64) {
	for {
		old := m.Applied.Load()
		if index <= old {
			return
		}
		if m.Applied.CompareAndSwap(old, index) {
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.wake)
	m.wake = make(chan struct{})
}

// Moved returns a channel that is closed when applied changes.
func (m *Machine) Moved() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wake
}

// Snapshot forks the FSM's state. Raft records the snapshot under the index that it has passed in
// so far. While that index is behind the state, Snapshot fails: after a restore, entries would be
// applied twice.
func (m *Machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.seen.Load() < m.Applied.Load() {
		return nil, errReplaying
	}
	s, err := m.inner.Snapshot()
	if err != nil {
		m.failed(err)
		return nil, err
	}
	return raftstore.NewOwnSnapshot(s), nil
}

// Restore replaces the state with a snapshot, which was verified when it was written.
func (m *Machine) Restore(r io.ReadCloser) error {
	meta, err := raftstore.RestoredMeta(r)
	if err != nil {
		return err
	}
	if err := m.inner.Restore(r); err != nil {
		return err
	}
	failpoint.Hit(failpoint.SnapshotApplied)
	m.seen.Store(meta.Index)
	m.Applied.Store(meta.Index) // set, not raised: a restored backup may have any index
	m.committed.Store(&meta.Configuration)
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.wake)
	m.wake = make(chan struct{})
	return nil
}
