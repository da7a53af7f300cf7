package fsm

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/fsm/event"
)

// TestUnderRaft runs a single replica under real Raft: entries, a membership change, a snapshot,
// and a restart from the stored data.
func TestUnderRaft(t *testing.T) {
	logs, stable, snaps := raft.NewInmemStore(), raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	m, r := open(t, logs, stable, snaps)
	conf := raft.Configuration{Servers: []raft.Server{{ID: "r1", Address: "r1"}}}
	if err := r.BootstrapCluster(conf).Error(); err != nil {
		t.Fatal(err)
	}
	lead(t, r)
	_, _, seq := m.Planning(r.CurrentTerm())
	propose := func(sequence uint64, e event.Event) raft.ApplyFuture {
		f := r.Apply(entry(0, 0, sequence, e).Data, time.Minute)
		if err := f.Error(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	propose(seq, node(1))
	if err, ok := propose(seq, node(1)).Response().(error); !ok || !errors.Is(err, ErrStale) {
		t.Errorf("a batch appended twice: %v", err)
	}
	if err := r.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	f := propose(seq+1, node(2))
	if err := r.AddNonvoter("r2", "r2", 0, time.Minute).Error(); err != nil {
		t.Fatal(err)
	}
	if err := r.Barrier(time.Minute).Error(); err != nil {
		t.Fatal(err)
	}
	if err := m.WaitApplied(t.Context(), f.Index()+1); err != nil {
		t.Fatal(err) // the membership entry
	}
	want, _ := m.Digest(f.Index())
	if err := r.Shutdown().Error(); err != nil {
		t.Fatal(err)
	}

	m, r = open(t, logs, stable, snaps)
	if err := m.WaitApplied(t.Context(), f.Index()); err != nil {
		t.Fatal(err)
	}
	if got, ok := m.Digest(f.Index()); !ok || got != want {
		t.Errorf("digest after a restart from snapshot and log: %x %v, want %x", got, ok, want)
	}
	if err := r.Shutdown().Error(); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, logs raft.LogStore, stable raft.StableStore, snaps raft.SnapshotStore) (*Machine, *raft.Raft) {
	t.Helper()
	m := New(Config{})
	c := raft.DefaultConfig()
	c.LocalID, c.Logger = "r1", hclog.NewNullLogger()
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = 500*time.Millisecond, 500*time.Millisecond,
		500*time.Millisecond
	c.TrailingLogs = 1
	_, trans := raft.NewInmemTransport("r1")
	r, err := raft.NewRaft(c, m, logs, stable, snaps, trans)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func lead(t *testing.T, r *raft.Raft) {
	t.Helper()
	select {
	case <-r.LeaderCh():
	case <-time.After(time.Minute):
		t.Fatal("no leader")
	}
}
