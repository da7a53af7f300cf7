package rafttransport

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

// TestMuted checks that a muted replica asks for nothing that makes it a leader, and refuses to
// campaign for another one.
func TestMuted(t *testing.T) {
	addr, inner := raft.NewInmemTransport("")
	_, other := raft.NewInmemTransport("")
	other.Connect(addr, inner)
	r := &replica{term: 1, leads: 1}
	tr := over(t, r, inner)
	defer tr.Stop()
	tr.Mute(true)
	for what, err := range map[string]error{
		"entries":    tr.AppendEntries("b.0", "b", &raft.AppendEntriesRequest{Term: 1}, &raft.AppendEntriesResponse{}),
		"a pre-vote": tr.RequestPreVote("b.0", "b", &raft.RequestPreVoteRequest{}, &raft.RequestPreVoteResponse{}),
		"a vote":     tr.RequestVote("b.0", "b", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}),
	} {
		if !errors.Is(err, errMuted) {
			t.Errorf("it asks for %s: %v", what, err)
		}
	}
	if err := other.TimeoutNow("a.0", addr, &raft.TimeoutNowRequest{}, &raft.TimeoutNowResponse{}); err == nil ||
		err.Error() != errMuted.Error() {
		t.Errorf("told to campaign: %v, want %v", err, errMuted)
	}
	tr.Mute(false)
	if _, answered := tr.judge(raft.RPC{Command: &raft.TimeoutNowRequest{}}); answered {
		t.Error("it refuses to campaign although it is not muted")
	}
}
