package rafttransport

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// openTransport returns the library's transport, which keeps up to kept connections to each peer.
func openTransport(t *testing.T, address string, kept int) *raft.NetworkTransport {
	t.Helper()
	tr, err := raft.NewTCPTransportWithLogger(address, nil, kept, 5*time.Second, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// TestTrap612 makes a follower refuse entries in a pipeline. Raft's reader stops at the first
// refusal, and a goroutine that still sends must not wait forever.
func TestTrap612(t *testing.T) {
	leads, follows := openTransport(t, "127.0.0.1:0", 2), openTransport(t, "127.0.0.1:0", 2)
	go func() { // ends with the test
		for rpc := range follows.Consumer() {
			rpc.Respond(&raft.AppendEntriesResponse{Term: 1, LastLog: 1}, nil)
		}
	}()
	send := func(p raft.AppendPipeline, d time.Duration) (hangs bool) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range 6 {
				if _, err := p.AppendEntries(&raft.AppendEntriesRequest{Term: 1}, new(raft.AppendEntriesResponse)); err != nil {
					return
				}
			}
		}()
		<-p.Consumer() // the refusal, after which nothing is read
		select {
		case <-ended:
			return false
		case <-time.After(d):
			_ = p.Close()
			<-ended
			return true
		}
	}
	w := over(t, &replica{leads: 1}, leads)
	defer w.Stop()
	ours, err := w.AppendEntriesPipeline("b", follows.LocalAddr())
	if err != nil {
		t.Fatal(err)
	}
	if send(ours, patience) {
		t.Error("a sender waits for ever behind a refusal")
	}
	if _, err := ours.AppendEntries(&raft.AppendEntriesRequest{Term: 1}, new(raft.AppendEntriesResponse)); err == nil {
		t.Error("entries are taken behind a refusal")
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	theirs, err := leads.AppendEntriesPipeline("b", follows.LocalAddr())
	if err != nil {
		t.Fatal(err)
	}
	if !send(theirs, time.Second) {
		t.Log(
			"the library's own pipeline does not hang any more: hashicorp/raft #612 may be solved, and this guard not needed")
	}
}
