package cluster

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// TestOlderSnapshot: a follower's log holds nothing but a divergent tail behind its
// newest snapshot, and the new leader's newest snapshot is older, or the same. The
// follower must catch up, its state must not go back, and no snapshot may be sent
// over and over.
func TestOlderSnapshot(t *testing.T) {
	for _, same := range []bool{false, true} {
		t.Run(fmt.Sprintf("same %v", same), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimCluster(t, 1, func(c *Config) { c.Trailing = 0 })
				s.boot()
				old := s.leader(nil)
				propose := func(r *simReplica, n int) (index uint64) {
					var err error
					for range n {
						if index, _, err = r.c.Propose([]byte("x")).Wait(); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Second)
					return index
				}
				snap := func(rs ...*simReplica) {
					for _, r := range rs {
						if err := r.c.Snapshot(); err != nil {
							t.Fatal(err)
						}
					}
				}
				propose(old, 10)
				snap(s.rs...)
				propose(old, 10)
				if snap(old); same {
					for _, r := range s.rs {
						if r != old {
							snap(r)
						}
					}
				}
				s.net.isolate(s.addr(old), true, true)
				for range 100 {
					old.c.current().raft.Apply([]byte("lost"), time.Second)
				}
				now := s.leader(old)
				applied, before := old.c.AppliedIndex(), s.net.countInstalls()
				s.net.heal()
				index := propose(now, 5)
				for range 300 {
					time.Sleep(100 * time.Millisecond)
					if at := old.c.AppliedIndex(); at < applied {
						t.Fatalf("applied index went back from %d to %d", applied, at)
					} else {
						applied = at
					}
				}
				if old.fsm.back {
					t.Error("a snapshot took the state back")
				}
				if applied < index {
					t.Errorf("the follower is at %d, not at %d", applied, index)
				}
				if n := s.net.countInstalls() - before; n > 5 {
					t.Errorf("%d snapshots were sent", n)
				}
				if msg := differ(s.rs); msg != "" {
					t.Error(msg)
				}
				s.stopAll()
			})
		})
	}
}

// TestLateInstall: a snapshot that is here already is answered and not installed.
func TestLateInstall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, nil)
		s.boot()
		l := s.leader(nil)
		for range 5 {
			if _, _, err := l.c.Propose([]byte("x")).Wait(); err != nil {
				t.Fatal(err)
			}
		}
		at := l.c.AppliedIndex()
		for _, q := range []raft.InstallSnapshotRequest{{Term: l.c.Term(), LastLogIndex: at - 1}, {Term: l.c.Term(), LastLogIndex: at}} {
			if term, ok := l.c.holds(&q); !ok || term != l.c.Term() {
				t.Errorf("index %d of %d: %v in term %d", q.LastLogIndex, at, ok, term)
			}
		}
		for _, q := range []raft.InstallSnapshotRequest{{Term: l.c.Term() - 1, LastLogIndex: at}, {Term: l.c.Term(), LastLogIndex: at + 1, LastLogTerm: l.c.Term()}} {
			if _, ok := l.c.holds(&q); ok {
				t.Errorf("index %d of term %d is taken for known", q.LastLogIndex, q.Term)
			}
		}
		s.stopAll()
	})
}

// fed is a transport of which a test is the other end.
type fed struct {
	raft.Transport
	in chan raft.RPC
}

func (f fed) Consumer() <-chan raft.RPC { return f.in }

// TestInstallBehindAppend: a late snapshot comes while raft stores the entries that it
// brings, and later ones. It must be judged by what is here when raft has done so: it
// would clear the later ones, which raft has acknowledged by then.
func TestInstallBehindAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stored := make(chan raft.RPC), false
		w := newWire(fed{in: in}, false, nil)
		w.holds = func(*raft.InstallSnapshotRequest) (uint64, bool) { return 1, stored }
		go func() { // raft's main loop
			for rpc := range w.Consumer() {
				switch rpc.Command.(type) {
				case *raft.AppendEntriesRequest:
					time.Sleep(time.Second)
					stored = true
					rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
				case *raft.InstallSnapshotRequest:
					t.Error("the snapshot is installed")
					rpc.Respond(nil, raft.ErrLogNotFound)
				case nothing:
					rpc.Respond(nil, raft.ErrUnsupportedProtocol)
				default:
					rpc.Respond(nil, nil)
					return
				}
			}
		}()
		answers := make(chan raft.RPCResponse, 2)
		in <- raft.RPC{Command: &raft.AppendEntriesRequest{Term: 1}, RespChan: answers}
		in <- raft.RPC{Command: &raft.InstallSnapshotRequest{Term: 1, LastLogIndex: 7}, Reader: strings.NewReader("snapshot"), RespChan: answers}
		if r := <-answers; r.Error != nil {
			t.Error(r.Error)
		}
		r := <-answers
		if a, ok := r.Response.(*raft.InstallSnapshotResponse); !ok || r.Error != nil || !a.Success {
			t.Errorf("the snapshot is answered with %+v, %v", r.Response, r.Error)
		}
		w.inject(&raft.TimeoutNowRequest{}, t.Context().Done()) // the loop ends
		w.close()
	})
}
