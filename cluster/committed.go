package cluster

import "github.com/hashicorp/raft"

// proven is a request to append that tells of no commit beyond the entries which it proves to be the leader's
// too: the one before, and its own. The library takes all of a follower's log for it, also an end of the log that
// no majority has ever had. A leader sends such a request when it waits between looking for its last entry and
// building the request, which it does after each failure to reach a follower: that follower, back after a crash
// with an entry that nobody else has, applies its own entry in place of the leader's. Nothing is lost by
// it: what lies beyond is told with the next request.
func proven(q *raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	if q.LeaderCommitIndex <= reach(q) {
		return q
	}
	p := *q
	p.LeaderCommitIndex = reach(q)
	return &p
}
