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

// machine is the caller's FSM as raft sees it. It remembers what was really applied, and after raft
// was restarted in place it takes no entry twice, so that the FSM's state never goes back.
type machine struct {
	inner   raft.FSM
	changed func(index uint64, conf raft.Configuration)

	applied atomic.Uint64 // highest index whose effect is in the FSM
	seen    atomic.Uint64 // highest index this raft instance has offered

	committed atomic.Pointer[raft.Configuration] // the newest membership that was applied; none before the first

	mu   sync.Mutex
	wake chan struct{} // closed and replaced when applied grows
}

var (
	_ raft.FSM                = (*machine)(nil)
	_ raft.ConfigurationStore = (*machine)(nil)
)

func newMachine(inner raft.FSM, changed func(uint64, raft.Configuration)) *machine {
	return &machine{inner: inner, changed: changed, wake: make(chan struct{})}
}

// errReplaying is why a snapshot has to wait.
var errReplaying = errors.New("raft has not caught up after its restart")

// restarted forgets what the former raft instance had offered.
func (m *machine) restarted(snapshot uint64) { m.seen.Store(snapshot) }

// Apply applies one entry, once.
func (m *machine) Apply(l *raft.Log) any {
	m.seen.Store(l.Index)
	if l.Index <= m.applied.Load() {
		return nil
	}
	resp := m.inner.Apply(l)
	m.advance(l.Index)
	return resp
}

// StoreConfiguration takes in each committed membership.
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

// membership is the newest one that is known here to be committed; it is empty before the first.
func (m *machine) membership() raft.Configuration {
	if conf := m.committed.Load(); conf != nil {
		return *conf
	}
	return raft.Configuration{}
}

// advance raises applied and wakes those who wait for it.
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

// moved returns a channel that is closed when applied grows.
func (m *machine) moved() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wake
}

// Snapshot forks the FSM's state. Raft would name it by the index it has offered: while that is
// behind the state, restoring it would apply entries twice.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.seen.Load() < m.applied.Load() {
		return nil, errReplaying
	}
	s, err := m.inner.Snapshot()
	if err != nil {
		return nil, err
	}
	return raftstore.NewOwnSnapshot(s), nil
}

// Restore replaces the state with a snapshot that was verified when it was written.
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
	m.applied.Store(meta.Index) // a restored backup may lie anywhere: set, not raise
	m.committed.Store(&meta.Configuration)
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.wake)
	m.wake = make(chan struct{})
	return nil
}
