package rafttransport

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// TestRollbackProof checks which answers prove that a log was rolled back.
func TestRollbackProof(t *testing.T) {
	b := newAckTracker()
	ask := func(term, prev uint64, n int) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{Term: term, PrevLogEntry: prev, Entries: make([]*raft.Log, n)}
	}
	yes := func(term uint64) *raft.AppendEntriesResponse {
		return &raft.AppendEntriesResponse{Term: term, Success: true}
	}
	no := func(term, last uint64) *raft.AppendEntriesResponse {
		return &raft.AppendEntriesResponse{Term: term, LastLog: last}
	}
	floor := func(term, want uint64) uint64 {
		t.Helper()
		at, ok := b.floor("a", term)
		if at != want || !ok {
			t.Fatalf("floor %d %v in term %d, want %d", at, ok, term, want)
		}
		return at
	}
	if b.observe("a", ask(2, 50, 0), no(2, 10), floor(2, 0)) {
		t.Error("a follower that was never heard is behind: no proof")
	}
	before := floor(2, 0)
	b.observe("a", ask(2, 10, 5), yes(2), before)
	if b.observe("a", ask(2, 50, 0), no(2, 10), before) {
		t.Error("an answer that was asked for before the acknowledgement is no proof")
	}
	if b.observe("a", ask(2, 50, 0), no(2, 15), floor(2, 15)) {
		t.Error("it has what it acknowledged")
	}
	if b.observe("a", ask(2, 50, 0), no(3, 3), floor(2, 15)) {
		t.Error("in another term the log may have been cut")
	}
	if b.observe("a", ask(3, 50, 0), no(3, 3), floor(3, 0)) {
		t.Error("what was acknowledged in an older term may have been cut since")
	}
	b.observe("a", ask(3, 3, 1), yes(3), 0)
	if !b.observe("a", ask(3, 50, 0), no(3, 3), floor(3, 4)) {
		t.Error("a shorter log than was acknowledged is proof")
	}
	if _, ok := b.floor("a", 3); ok {
		t.Error("a follower in quarantine is sent to")
	}
	if _, ok := b.floor("a", 4); !ok {
		t.Error("another term's leader has no proof")
	}
}

// TestRefusalOfARemovedServer checks that the refusal of a server that was removed is not that of the
// one that took its place under the same name with another disk.
func TestRefusalOfARemovedServer(t *testing.T) {
	tr := &Transport{answers: newAnswers(hclog.NewNullLogger())}
	tr.answers.observe("rm2.old", errQuarantined)
	for id, want := range map[raft.ServerID]int{"rm2.old": 1, "rm2.new": 0} {
		members := raft.Configuration{Servers: []raft.Server{{ID: "rm1.x"}, {ID: id}}}
		if got := tr.Refusals(members); len(got) != want {
			t.Errorf("with the member %s there are the refusals %v, want %d", id, got, want)
		}
	}
}
