package cluster

import (
	"errors"

	"github.com/hashicorp/raft"
)

// The library's goroutine that sends entries to a follower pauses after a call that failed, for up to 10 s, and sends
// once more after the pause without looking whether its leader still leads. The log that it reads then may be another
// leader's, or become so while it is read: a follower that has not heard of the new term would store entries of that
// leader under the old term, and, from a log that is being overwritten, entries that no leader ever had one behind the
// other. As long as this replica leads its log is only added to. So who leads no more when a request has been made
// does not send it; and a leader's entries are of its own term or of earlier ones, so others are not taken.

var errDeposed = errors.New("entries in the name of a leadership that has ended")

// leads says whether this replica leads in a term. Raft gives leadership up before it touches the log.
func (c *Cluster) leads(term uint64) bool {
	in := c.current()
	return in != nil && in.raft.State() == raft.Leader && in.raft.CurrentTerm() == term
}

// deposed says that a request of a leader's was made, or may have been, after its leadership.
func (w *wire) deposed(args *raft.AppendEntriesRequest) bool {
	return w.leads != nil && !isHeartbeat(args) && !w.leads(args.Term)
}

// ofLaterTerm says that a request has entries that its sender cannot have led with.
func ofLaterTerm(q *raft.AppendEntriesRequest) bool {
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
