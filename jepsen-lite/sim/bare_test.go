package sim

import (
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/jepsen-lite/sim/network"
	"rmd/jepsen-lite/sim/owner"
	"rmd/jepsen-lite/sim/yield"
)

// bare is a cluster of hashicorp/raft alone, on the same simulated network, without rmd's guard,
// transport and watchdogs. It shows that the library still has the faults that rmd works around.
type bare struct {
	t   *testing.T
	net *network.Network
	w   *world // only for its hook on raft's log messages
	rs  []*bareReplica
}

type bareReplica struct {
	id    string
	host  *network.Host
	raft  *raft.Raft
	logs  *hangingStore
	snaps raft.SnapshotStore
	fsm   *remembering
}

// hangingStore is a store whose writes may hang.
type hangingStore struct {
	*raft.InmemStore
	mu   sync.Mutex
	hang chan struct{}
}

// StoreLogs implements raft.LogStore.
func (s *hangingStore) StoreLogs(l []*raft.Log) error {
	s.mu.Lock()
	hang := s.hang
	s.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return s.InmemStore.StoreLogs(l)
}

// StoreLog implements raft.LogStore.
func (s *hangingStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// freeze makes all writes hang until the caller calls thaw.
func (s *hangingStore) freeze() (thaw func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang = make(chan struct{})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.hang)
		s.hang = nil
	}
}

// remembering is a state machine that remembers only which entries it has applied.
type remembering struct {
	mu   sync.Mutex
	seen map[string]bool
}

// Apply implements raft.FSM.
func (m *remembering) Apply(l *raft.Log) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[string(l.Data)] = true
	return nil
}

func (m *remembering) saw(data string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[data]
}

func (*remembering) Snapshot() (raft.FSMSnapshot, error)  { return &remembering{}, nil }
func (*remembering) Restore(r io.ReadCloser) error        { return r.Close() }
func (*remembering) Persist(sink raft.SnapshotSink) error { return sink.Close() }
func (*remembering) Release()                             {}

func newBare(t *testing.T) *bare {
	b := &bare{t: t, net: network.New(1), w: &world{yield: &yield.Yielder{}}}
	var conf raft.Configuration
	for _, id := range []string{"a", "b", "c"} {
		r := &bareReplica{id: id, logs: &hangingStore{InmemStore: raft.NewInmemStore()}, snaps: raft.NewInmemSnapshotStore()}
		b.start(r)
		conf.Servers = append(conf.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
		b.rs = append(b.rs, r)
	}
	if err := b.rs[0].raft.BootstrapCluster(conf).Error(); err != nil {
		t.Fatal(err)
	}
	return b
}

// start starts a process on the stores of r.
func (b *bare) start(r *bareReplica) {
	r.host, r.fsm = b.net.Connect(r.id, owner.Mark{}), &remembering{seen: map[string]bool{}}
	r.host.Identify("0", "bare")
	rc := raft.DefaultConfig()
	rc.LocalID, rc.Logger, rc.TrailingLogs = raft.ServerID(r.id), raftLogger{hclog.NewNullLogger(), b.w, r.id}, 0
	var err error
	if r.raft, err = raft.NewRaft(rc, r.fsm, r.logs, r.logs, r.snaps, r.host); err != nil {
		b.t.Fatal(err)
	}
}

// crash kills a process.
func (b *bare) crash(r *bareReplica) {
	b.net.Crash(r.host)
	if err := r.raft.Shutdown().Error(); err != nil {
		b.t.Error(err)
	}
}

// leader waits for a leader other than not.
func (b *bare) leader(not *bareReplica) *bareReplica {
	for range 3000 {
		time.Sleep(10 * time.Millisecond)
		for _, r := range b.rs {
			if r != not && r.raft.State() == raft.Leader {
				return r
			}
		}
	}
	b.t.Fatal("no leader in 30 s")
	return nil
}

// apply proposes an entry and waits at most 5 s for the result.
func (r *bareReplica) apply() error {
	f := r.raft.Apply([]byte("x"), time.Second)
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		return network.ErrLost
	}
}

func (b *bare) stop() {
	for _, r := range b.rs {
		r.logs.mu.Lock()
		if r.logs.hang != nil {
			close(r.logs.hang)
		}
		r.logs.mu.Unlock()
		b.net.Crash(r.host)
		_ = r.raft.Shutdown().Error()
	}
	time.Sleep(time.Minute)
}
