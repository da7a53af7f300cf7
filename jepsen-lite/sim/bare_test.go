package sim

import (
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// bare is a cluster of the library alone, without our guard, wire and watchdogs, on
// the same simulated network. It shows that the traps are there.
type bare struct {
	t   *testing.T
	net *network
	rs  []*bareReplica
}

type bareReplica struct {
	id   string
	host *host
	raft *raft.Raft
	logs *hangingStore
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

// nothing is a state machine that keeps nothing.
type nothing struct{}

func (nothing) Apply(*raft.Log) any                  { return nil }
func (nothing) Snapshot() (raft.FSMSnapshot, error)  { return nothing{}, nil }
func (nothing) Restore(r io.ReadCloser) error        { return r.Close() }
func (nothing) Persist(sink raft.SnapshotSink) error { return sink.Close() }
func (nothing) Release()                             {}

func newBare(t *testing.T) *bare {
	b := &bare{t: t, net: newNetwork(1)}
	var conf raft.Configuration
	for _, id := range []string{"a", "b", "c"} {
		r := &bareReplica{id: id, host: b.net.host(id, owner{}), logs: &hangingStore{InmemStore: raft.NewInmemStore()}}
		r.host.Identify("0", "bare")
		rc := raft.DefaultConfig()
		rc.LocalID, rc.Logger, rc.TrailingLogs = raft.ServerID(id), hclog.NewNullLogger(), 0
		var err error
		if r.raft, err = raft.NewRaft(rc, nothing{}, r.logs, r.logs, raft.NewInmemSnapshotStore(), r.host); err != nil {
			t.Fatal(err)
		}
		conf.Servers = append(conf.Servers, raft.Server{ID: rc.LocalID, Address: raft.ServerAddress(id)})
		b.rs = append(b.rs, r)
	}
	if err := b.rs[0].raft.BootstrapCluster(conf).Error(); err != nil {
		t.Fatal(err)
	}
	return b
}

// leader waits for one that is not the given one.
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

// apply proposes an entry and waits shortly for its end.
func (r *bareReplica) apply() error {
	f := r.raft.Apply([]byte("x"), time.Second)
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		return errLost
	}
}

func (b *bare) stop() {
	for _, r := range b.rs {
		r.logs.mu.Lock()
		if r.logs.hang != nil {
			close(r.logs.hang)
		}
		r.logs.mu.Unlock()
		b.net.crash(r.host)
		_ = r.raft.Shutdown().Error()
	}
	time.Sleep(time.Minute)
}
