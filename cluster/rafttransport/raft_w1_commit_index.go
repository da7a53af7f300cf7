package rafttransport

import "github.com/hashicorp/raft"

// Work-around W1: the commit index beyond what a request proves (v1.8.0, raft.go: appendEntries,
// "Update the commit index").
//
// Library: it commits up to min(LeaderCommitIndex, last index of its own log). So it takes an end
// of the log that no majority has ever had for committed. A leader sends such a request when it
// waits between looking for its last entry and building the request, as it does after each failure
// to reach a follower. That follower, back after a crash with an entry that nobody else has,
// applies its own entry instead of the leader's.
// Guard: the commit index of a request is limited to the last entry that the request proves to be
// the leader's. Nothing is lost: the next request tells the rest.
// Test: TestTrapCommit, here and in jepsen-lite/sim.
// Delete when: the library limits the commit index to PrevLogEntry + len(Entries); TestTrapCommit
// fails then.

// limitCommit returns a request that tells of no commit beyond its own last entry.
func limitCommit(q *raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	if q.LeaderCommitIndex <= lastIndexOf(q) {
		return q
	}
	p := *q
	p.LeaderCommitIndex = lastIndexOf(q)
	return &p
}
