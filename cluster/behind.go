package cluster

import (
	"github.com/hashicorp/raft"
)

// This file ends a loop of the library that is the other half of hashicorp/raft #697. A follower whose log
// begins behind its newest snapshot cannot answer a leader that probes at or before that snapshot: it has
// no entry there to compare, and the library takes that for a difference. The leader then sends its own
// newest snapshot. When that one is older, the state would go back and the log behind it would be
// cleared; when it is the same, nothing is won as long as a divergent tail stays. Everything up to the
// snapshot is committed, so it is what every leader has: requests are answered, or shortened, by that.

// holds says whether all that a snapshot brings is here already: it is applied, or the log has the
// snapshot's last entry. To answer that it is installed is true. Such a request may also come late, out
// of a queue or over a connection that its leader has given up: installing it would clear entries that
// were acknowledged. A request of an older term is raft's to refuse.
func (c *Cluster) holds(q *raft.InstallSnapshotRequest) (term uint64, ok bool) {
	in := c.current()
	if in == nil {
		return 0, false
	}
	if term = in.raft.CurrentTerm(); q.Term < term {
		return term, false
	}
	return term, q.LastLogIndex <= c.appliedIn(in) || c.hasEntry(q.LastLogIndex, q.LastLogTerm)
}

// appliedIn is up to where everything is applied. A snapshot may end with a barrier or a no-op, of which only
// raft knows that it is: the FSM is not told. After a restart in place the state may be ahead of raft.
func (c *Cluster) appliedIn(in *instance) uint64 {
	return max(c.fsm.applied.Load(), in.raft.AppliedIndex())
}

// hasEntry says whether the log has an entry.
func (c *Cluster) hasEntry(index, term uint64) bool {
	var l raft.Log
	return c.stores.Logs.Peek(index, &l) == nil && l.Term == term
}

// behind returns the newest snapshot when a request to append starts at or before it and the log has nothing to
// compare there, otherwise nil.
func (c *Cluster) behind(q *raft.AppendEntriesRequest) *raft.SnapshotMeta {
	in := c.current()
	first, _ := c.stores.Logs.FirstIndex()
	if in == nil || len(q.Entries) == 0 || q.PrevLogEntry == 0 || (first != 0 && q.PrevLogEntry >= first) || q.Term != in.raft.CurrentTerm() {
		return nil
	}
	list, err := c.stores.Snapshots.List()
	if err != nil || len(list) == 0 || q.PrevLogEntry > list[0].Index || list[0].Index > c.appliedIn(in) {
		return nil
	}
	return list[0]
}

// shorten makes a request that is behind the newest snapshot start after what is surely here. It returns the
// request for raft, or the answer when nothing is left of it. Raft must have done with the request before: one
// that installs a snapshot clears entries that are here still.
func (c *Cluster) shorten(q *raft.AppendEntriesRequest) (*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {
	snap := c.behind(q)
	if snap == nil {
		return q, nil
	}
	short := *q
	short.PrevLogEntry, short.PrevLogTerm = snap.Index, snap.Term
	rest := q.Entries
	for len(rest) > 0 && (rest[0].Index <= snap.Index || c.hasEntry(rest[0].Index, rest[0].Term)) {
		if e := rest[0]; e.Index > snap.Index {
			short.PrevLogEntry, short.PrevLogTerm = e.Index, e.Term
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, &raft.AppendEntriesResponse{Term: q.Term, LastLog: q.Entries[len(q.Entries)-1].Index, Success: true}
	}
	short.Entries = rest
	if last, term := c.stores.Logs.Tail(); short.PrevLogEntry == snap.Index && last >= snap.Index && !c.hasEntry(snap.Index, snap.Term) {
		// Raft would look for the snapshot's own entry in the log, and the log goes on behind it without one: it
		// begins there with another entry than this term's leader has, or has another entry in its place. By the log
		// matching property all that follows is divergent and nothing of it was committed; what precedes is in the
		// snapshot. (A log that ends before the snapshot, or has its entry, is raft's to compare and cut.)
		c.drop(raft.Log{Index: last, Term: term})
	}
	return &short, nil
}

// drop has the log that ends with an entry dropped by a restart in place. A log that ends otherwise by then is
// another: it was cleared by a snapshot, and holds what was acknowledged since.
func (c *Cluster) drop(tail raft.Log) {
	if !c.dropping.CompareAndSwap(false, true) {
		return
	}
	c.divergent.Store(&tail)
	c.goRun(func() {
		defer c.dropping.Store(false)
		c.restart("the log behind the snapshot is divergent (hashicorp/raft #697)")
	})
}

// toDrop says, once, whether the log is the one to be dropped.
func (c *Cluster) toDrop() bool {
	tail := c.divergent.Swap(nil)
	last, term := c.stores.Logs.Tail()
	return tail != nil && tail.Index == last && tail.Term == term
}
