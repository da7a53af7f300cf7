package rafttransport

import (
	"errors"

	"github.com/hashicorp/raft"
)

// Work-around W2: entries of a leadership that has ended (v1.8.0, replication.go: replicateTo).
//
// Library: the goroutine that sends entries to a follower pauses after a failed call, for up to 10
// s. Then it sends once more without checking that its replica still leads. By then another leader
// may be overwriting the log from which it reads. A follower that does not know the new term would
// store the new leader's entries under the old term, or a sequence of entries that no leader ever
// had.
// Guard: a leader only appends to its log, so a replica that no longer leads when a request was
// made does not send it. A leader's entries have its own or an earlier term, so a follower refuses
// others.
// Test: TestDeposedSendsNoEntries.
// Delete when: replicateTo checks the term after its pause and after it has read the log.

var errDeposed = errors.New("the entries belong to a leadership that has ended")

// isDeposed reports whether a request with entries may have been made after this replica's
// leadership had ended.
func (tr *Transport) isDeposed(args *raft.AppendEntriesRequest) bool {
	return !isHeartbeat(args) && !tr.replica.Leads(args.Term)
}

// hasLaterTerm reports whether a request refers to or contains an entry with a later term than the
// request's own.
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
