package rafttransport

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// TestLateInstall checks which snapshots count as already covered by this replica.
func TestLateInstall(t *testing.T) {
	const at, term = 7, 3
	w := over(t, &replica{term: term, applied: at, has: func(index, of uint64) bool {
		return index == at+2 && of == term
	}}, fed{})
	defer w.Stop()
	for _, q := range []raft.InstallSnapshotRequest{{Term: term, LastLogIndex: at - 1}, {Term: term, LastLogIndex: at},
		{Term: term, LastLogIndex: at + 2, LastLogTerm: term}} {
		if in, ok := w.coversSnapshot(&q); !ok || in != term {
			t.Errorf("index %d of %d: %v in term %d", q.LastLogIndex, at, ok, in)
		}
	}
	for _, q := range []raft.InstallSnapshotRequest{{Term: term - 1, LastLogIndex: at},
		{Term: term, LastLogIndex: at + 1, LastLogTerm: term}} {
		if _, ok := w.coversSnapshot(&q); ok {
			t.Errorf("index %d of term %d is taken for known", q.LastLogIndex, q.Term)
		}
	}
}

// fed is a transport whose requests the test sends.
type fed struct {
	raft.Transport
	in chan raft.RPC
}

func (f fed) Consumer() <-chan raft.RPC { return f.in }

// playRaft acts as raft's main loop: it serves one request after the other until it gets a
// TimeoutNow.
func playRaft(w *Transport, serve func(raft.RPC)) {
	for rpc := range w.Consumer() {
		switch rpc.Command.(type) {
		case barrierProbe:
			rpc.Respond(nil, raft.ErrUnsupportedProtocol)
		case *raft.TimeoutNowRequest:
			rpc.Respond(nil, nil)
			return
		default:
			serve(rpc)
		}
	}
}

// TestInstallBehindAppend sends a late snapshot while raft stores entries that reach beyond the
// snapshot. The decision about the snapshot must wait until raft has stored them. Otherwise the
// snapshot would clear entries that raft has acknowledged.
func TestInstallBehindAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stored := make(chan raft.RPC), false
		w := over(t, &replica{term: 1, has: func(uint64, uint64) bool { return stored }}, fed{in: in})
		go playRaft(w, func(rpc raft.RPC) {
			switch rpc.Command.(type) {
			case *raft.AppendEntriesRequest:
				time.Sleep(time.Second)
				stored = true
				rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
			case *raft.InstallSnapshotRequest:
				t.Error("the snapshot is installed")
				rpc.Respond(nil, raft.ErrLogNotFound)
			}
		})
		answers := make(chan raft.RPCResponse, 2)
		in <- raft.RPC{Command: &raft.AppendEntriesRequest{Term: 1}, RespChan: answers}
		in <- raft.RPC{Command: &raft.InstallSnapshotRequest{Term: 1, LastLogIndex: 7}, Reader: strings.NewReader("snapshot"),
			RespChan: answers}
		if r := <-answers; r.Error != nil {
			t.Errorf("answer to AppendEntries: %v, want no error", r.Error)
		}
		r := <-answers
		if a, ok := r.Response.(*raft.InstallSnapshotResponse); !ok || r.Error != nil || !a.Success {
			t.Errorf("the snapshot is answered with %+v, %v", r.Response, r.Error)
		}
		w.Inject(&raft.TimeoutNowRequest{}, t.Context().Done()) // ends playRaft
		w.Stop()
	})
}

// TestAppendBehindInstall sends an AppendEntries request while raft installs a snapshot and clears
// the log. The decision about the request must wait for that. Otherwise cleared entries would be
// acknowledged.
func TestAppendBehindInstall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, cleared := make(chan raft.RPC), false
		w := over(t, &replica{term: 1, applied: 7, snapshot: &raft.SnapshotMeta{Index: 7}, has: func(index, _ uint64) bool {
			return index == 8 && !cleared
		}}, fed{in: in})
		go playRaft(w, func(rpc raft.RPC) {
			switch rpc.Command.(type) {
			case *raft.InstallSnapshotRequest:
				time.Sleep(time.Second)
				cleared = true
				rpc.Respond(&raft.InstallSnapshotResponse{Success: true}, nil)
			case *raft.AppendEntriesRequest:
				rpc.Respond(&raft.AppendEntriesResponse{}, nil)
			}
		})
		installed, appended := make(chan raft.RPCResponse, 1), make(chan raft.RPCResponse, 1)
		in <- raft.RPC{Command: &raft.InstallSnapshotRequest{Term: 1, LastLogIndex: 9}, Reader: strings.NewReader("snapshot"),
			RespChan: installed}
		in <- raft.RPC{Command: &raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 6,
			Entries: []*raft.Log{{Index: 7}, {Index: 8}}}, RespChan: appended}
		<-installed
		if r := <-appended; r.Error != nil || r.Response.(*raft.AppendEntriesResponse).Success {
			t.Errorf("entries that were cleared are answered with %+v, %v", r.Response, r.Error)
		}
		w.Inject(&raft.TimeoutNowRequest{}, t.Context().Done()) // ends playRaft
		w.Stop()
	})
}
