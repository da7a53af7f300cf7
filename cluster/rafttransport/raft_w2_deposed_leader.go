package rafttransport

import (
	"errors"

	"github.com/hashicorp/raft"
)

// Work-around W2: entries in the name of a leadership that has ended (v1.8.0, replication.go:
// replicateTo).
//
// Library: the goroutine that sends entries to a follower pauses after a failed call, for up to 10
// s, and then sends once more without looking whether its replica still leads. Another leader may
// be writing over the log it reads by then. A follower that has not heard of the new term would
// store that leader's entries under the old term, or entries that no leader ever had one behind the
// other.
// Guard: a leader's log is only added to, so a replica that leads no more when a request is made
// does not send it. A leader's entries are of its own term or of earlier ones, so a follower takes
// no others.
// Test: TestDeposedSendsNoEntries.
// Delete when: replicateTo checks the term after its pause and after it has read the log.

var errDeposed = errors.New("the entries belong to a leadership that has ended")

// isDeposed says that a request with entries was made, or may have been, after this replica's
// leadership.
func (tr *Transport) isDeposed(args *raft.AppendEntriesRequest) bool {
	return !isHeartbeat(args) && !tr.replica.Leads(args.Term)
}

// hasLaterTerm says that a request has entries that its sender cannot have led with.
func hasLaterTerm(q *raft.AppendEntriesRequest) bool {
	if q.PrevLogTerm > q.Term {
		return true
	}
	for _, e := range q.Entries {
		if e.Term > q.Term {
			return true
		}
	}
	return false
}
