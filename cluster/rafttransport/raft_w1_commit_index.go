package rafttransport

import "github.com/hashicorp/raft"

// Work-around W1: a commit index beyond what a request proves (v1.8.0, raft.go: appendEntries,
// "Update the commit index").
//
// Library: it commits up to min(LeaderCommitIndex, last index of its own log). So it may commit the
// end of its log although no majority has it. A leader sends such a request if it is delayed
// between reading its last entry and building the request, as after each failure to reach a
// follower. If that follower returns after a crash with an entry that no other replica has, it
// applies this entry instead of the leader's.
// Guard: the commit index of a request is limited to the last entry that the request proves to be
// equal to the leader's. Nothing is lost: the next request carries the rest.
// Test: TestTrapCommit, here and in jepsen-lite/sim.
// Delete when: the library limits the commit index to PrevLogEntry + len(Entries); TestTrapCommit
// fails then.

// limitCommit returns a request whose commit index is not beyond its own last entry.
func limitCommit(q *raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	if q.LeaderCommitIndex <= lastIndexOf(q) {
		return q
	}
	p := *q
	p.LeaderCommitIndex = lastIndexOf(q)
	return &p
}
