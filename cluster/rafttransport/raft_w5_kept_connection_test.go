package rafttransport

import (
	"testing"

	"github.com/hashicorp/raft"
)

// TestVoteOverStaleConnections checks that the vote of a restarted voter counts although every
// connection that was kept to it has ended.
func TestVoteOverStaleConnections(t *testing.T) {
	grant := func(rpc raft.RPC) { rpc.Respond(&raft.RequestVoteResponse{Term: 2, Granted: true}, nil) }
	w := over(t, &replica{}, openTransport(t, "127.0.0.1:0", connsKept))
	defer w.Stop()
	before := openTransport(t, "127.0.0.1:0", connsKept)
	to := before.LocalAddr()
	ask := func() error {
		var resp raft.RequestVoteResponse
		return w.RequestVote("b", to, &raft.RequestVoteRequest{Term: 2}, &resp)
	}
	told := make(chan error)
	for range connsKept {
		go func() { told <- ask() }()
	}
	var calls []raft.RPC // concurrent calls, each over its own connection
	for range connsKept {
		calls = append(calls, <-before.Consumer())
	}
	for _, rpc := range calls {
		grant(rpc)
	}
	for range connsKept {
		if err := <-told; err != nil {
			t.Fatal(err)
		}
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	before.CloseStreams()
	after := openTransport(t, string(to), connsKept)
	go func() { // ends with the test
		for rpc := range after.Consumer() {
			grant(rpc)
		}
	}()
	if err := ask(); err != nil {
		t.Errorf("the vote is lost: %v", err)
	}
}
