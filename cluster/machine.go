package cluster

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"rmd/cluster/raftstore"
	"rmd/internal/failpoint"
)

// machine wraps the caller's FSM for raft. It remembers what the FSM has applied. After a restart
// of raft in place it skips entries that the FSM has already applied, so that the state never goes
// back.
type machine struct {
	inner   raft.FSM
	changed func(index uint64, conf raft.Configuration)
	failed  func(err error) // called for a snapshot that the FSM cannot make

	applied atomic.Uint64 // highest index whose effect is in the FSM
	seen    atomic.Uint64 // highest index that this raft instance has passed in

	committed atomic.Pointer[raft.Configuration] // the newest applied membership, nil before the first one

	mu   sync.Mutex
	wake chan struct{} // closed and replaced when applied grows
}

var (
	_ raft.FSM                = (*machine)(nil)
	_ raft.ConfigurationStore = (*machine)(nil)
)

func newMachine(inner raft.FSM, changed func(uint64, raft.Configuration), failed func(error)) *machine {
	return &machine{inner: inner, changed: changed, failed: failed, wake: make(chan struct{})}
}

// errReplaying delays a snapshot.
var errReplaying = errors.New("raft has not caught up after its restart")

// restarted prepares for a new raft instance that starts at a snapshot's index.
func (m *machine) restarted(snapshot uint64) { m.seen.Store(snapshot) }

// Apply applies an entry unless the FSM has already applied it.
func (m *machine) Apply(l *raft.Log) any {
	m.seen.Store(l.Index)
	if l.Index <= m.applied.Load() {
		return nil
	}
	resp := m.inner.Apply(l)
	m.advance(l.Index)
	return resp
}

// StoreConfiguration records a committed membership.
func (m *machine) StoreConfiguration(index uint64, conf raft.Configuration) {
	m.seen.Store(index)
	if index > m.applied.Load() {
		if s, ok := m.inner.(raft.ConfigurationStore); ok {
			s.StoreConfiguration(index, conf)
		}
		m.committed.Store(&conf)
	}
	m.advance(index)
	m.changed(index, conf)
}

// membership returns the newest committed membership that was applied here. It is empty before the
// first one.
func (m *machine) membership() raft.Configuration {
	if conf := m.committed.Load(); conf != nil {
		return *conf
	}
	return raft.Configuration{}
}

// advance raises applied and wakes the goroutines that wait for it.
func (m *machine) advance(index uint64) {
	for {
		old := m.applied.Load()
		if index <= old {
			return
		}
		if m.applied.CompareAndSwap(old, index) {
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.wake)
	m.wake = make(chan struct{})
}

// moved returns a channel that is closed when applied changes.
func (m *machine) moved() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wake
}

// Snapshot forks the FSM's state. Raft records the snapshot under the index that it has passed in
// so far. While that index is behind the state, Snapshot fails: after a restore, entries would be
// applied twice.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.seen.Load() < m.applied.Load() {
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
func (m *machine) Restore(r io.ReadCloser) error {
	meta, err := raftstore.RestoredMeta(r)
	if err != nil {
		return err
	}
	if err := m.inner.Restore(r); err != nil {
		return err
	}
	failpoint.Hit(failpoint.SnapshotApplied)
	m.seen.Store(meta.Index)
	m.applied.Store(meta.Index) // set, not raised: a restored backup may have any index
	m.committed.Store(&meta.Configuration)
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.wake)
	m.wake = make(chan struct{})
	return nil
}
