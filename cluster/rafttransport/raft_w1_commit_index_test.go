package rafttransport

import (
	"io"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// applied is a state machine that sends the applied entries to a channel.
type applied struct{ entries chan *raft.Log }

func (a applied) Apply(l *raft.Log) any               { a.entries <- l; return nil }
func (a applied) Snapshot() (raft.FSMSnapshot, error) { return nil, io.EOF }
func (a applied) Restore(r io.ReadCloser) error       { return r.Close() }

// alone starts a follower whose log has, after the membership, one entry that no other replica has.
// through may wrap the follower's transport.
func alone(t *testing.T, through func(raft.Transport) raft.Transport) (leader *raft.InmemTransport,
	follower raft.ServerAddress, got chan *raft.Log) {
	t.Helper()
	conf := raft.DefaultConfig()
	conf.LocalID, conf.Logger = "rm1", hclog.NewNullLogger()
	conf.HeartbeatTimeout, conf.ElectionTimeout = time.Minute, time.Minute
	store := raft.NewInmemStore()
	addr, inner := raft.NewInmemTransport("")
	there, leader := raft.NewInmemTransport("")
	leader.Connect(addr, inner)
	members := raft.Configuration{Servers: []raft.Server{{ID: "rm1", Address: addr}, {ID: "rm2", Address: there}}}
	if err := raft.BootstrapCluster(conf, store, store, raft.NewInmemSnapshotStore(), inner, members); err != nil {
		t.Fatal(err)
	}
	if err := store.StoreLog(&raft.Log{Index: 2, Term: 1, Type: raft.LogCommand, Data: []byte("mine")}); err != nil {
		t.Fatal(err)
	}
	fsm := applied{make(chan *raft.Log, 8)}
	r, err := raft.NewRaft(conf, fsm, store, store, raft.NewInmemSnapshotStore(), through(inner))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shutdown().Error(); err != nil {
			t.Error(err)
		}
	})
	return leader, addr, fsm.entries
}

// send sends one request of the leader of term 2, whose own entry at index 2 is committed.
func (q appending) send(t *testing.T) {
	t.Helper()
	req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax,
		ID: []byte("rm2"), Addr: []byte("there")}, Term: 2,
		PrevLogEntry: 1, PrevLogTerm: 1, LeaderCommitIndex: 2, Entries: q.entries}
	var resp raft.AppendEntriesResponse
	if err := q.leader.AppendEntries("rm1", q.follower, req, &resp); err != nil || !resp.Success {
		t.Fatalf("AppendEntries: %v, want no error and success; got %+v", err, resp)
	}
}

type appending struct {
	leader   *raft.InmemTransport
	follower raft.ServerAddress
	entries  []*raft.Log
}

// TestTrapCommit shows that the library applies an entry that was never committed, if a request has
// a commit index beyond its own entries. With our Transport in between, the follower applies the
// leader's entry, after it has received it.
func TestTrapCommit(t *testing.T) {
	leader, to, got := alone(t, func(tr raft.Transport) raft.Transport { return tr })
	appending{leader, to, nil}.send(t)
	select {
	case l := <-got:
		if string(l.Data) != "mine" {
			t.Errorf("applied %q", l.Data)
		}
	case <-time.After(patience):
		t.Error("the library does not apply what was never committed any more: the guard can go")
	}

	var w *Transport
	leader, to, got = alone(t, func(tr raft.Transport) raft.Transport {
		w = over(t, &replica{}, tr)
		return w
	})
	t.Cleanup(func() { w.Stop() })
	appending{leader, to, nil}.send(t)
	appending{leader, to, []*raft.Log{{Index: 2, Term: 2, Type: raft.LogCommand, Data: []byte("the leader's")}}}.send(t)
	select {
	case l := <-got:
		if string(l.Data) != "the leader's" {
			t.Errorf("applied %q, which was never committed", l.Data)
		}
	case <-time.After(patience):
		t.Error("the leader's entry is not applied")
	}
}
