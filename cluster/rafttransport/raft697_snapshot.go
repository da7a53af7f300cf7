package rafttransport

import (
	"github.com/hashicorp/raft"
)

// hashicorp/raft #697, the part that concerns requests (v1.8.0, raft.go: appendEntries,
// installSnapshot). The other parts are in raftstore/raft697_monotonic.go and
// cluster/raft697_install.go.
//
// Library: suppose that a follower's log begins after its newest snapshot, and that a leader's
// request has its previous entry at or before that snapshot. The follower has no entry to compare
// and reports a conflict. The leader then sends its own newest snapshot. If this one is older, the
// follower's state goes back, and the log after it is cleared, including acknowledged entries. If
// it is the same, a divergent tail stays, and the leader sends the snapshot again and again,
// forever. A delayed snapshot request, from a queue or from a connection that its leader has given
// up, has the same effect.
// Guard: everything up to a snapshot is committed, so every leader has it. This replica answers
// that a snapshot is installed if it already has everything in it. It trims an AppendEntries
// request so that it starts after the entries that are certainly equal to the leader's.
// Test: TestLateInstall, TestInstallBehindAppend, TestAppendBehindInstall; in cluster
// TestOlderSnapshot, TestTrap697; in jepsen-lite/sim TestTrap697, TestTrap697Barrier.
// Delete when: installSnapshot keeps a log that has the snapshot's last entry, and appendEntries
// compares with the snapshot.

// coversSnapshot reports whether this replica already has everything in a snapshot: it has applied
// the entries, or its log has the snapshot's last entry. It returns false for a request of an older
// term, which raft refuses.
func (tr *Transport) coversSnapshot(q *raft.InstallSnapshotRequest) (term uint64, ok bool) {
	if !tr.replica.Running() {
		return 0, false
	}
	if term = tr.replica.Term(); q.Term < term {
		return term, false
	}
	return term, q.LastLogIndex <= tr.replica.Applied() || tr.log.Has(q.LastLogIndex, q.LastLogTerm)
}

// precedesSnapshot returns the newest snapshot if an AppendEntries request starts at or before it
// and the log has no entry to compare there, otherwise nil.
func (tr *Transport) precedesSnapshot(q *raft.AppendEntriesRequest) *raft.SnapshotMeta {
	first, _ := tr.log.FirstIndex()
	if len(q.Entries) == 0 || q.PrevLogEntry == 0 || (first != 0 && q.PrevLogEntry >= first) || !tr.replica.Running() ||
		q.Term != tr.replica.Term() {
		return nil
	}
	list, err := tr.snapshots.List()
	if err != nil || len(list) == 0 || q.PrevLogEntry > list[0].Index || list[0].Index > tr.replica.Applied() {
		return nil
	}
	return list[0]
}

// trimAppend trims a request that starts at or before the newest snapshot: the result starts after
// the entries that this replica certainly has. It returns the request for raft, or the answer if
// nothing is left of the request. Raft must have served all earlier requests: one that installs a
// snapshot clears entries that are still here.
func (tr *Transport) trimAppend(q *raft.AppendEntriesRequest) (*raft.AppendEntriesRequest,
	*raft.AppendEntriesResponse) {
	snap := tr.precedesSnapshot(q)
	if snap == nil {
		return q, nil
	}
	short := *q
	short.PrevLogEntry, short.PrevLogTerm = snap.Index, snap.Term
	rest := q.Entries
	for len(rest) > 0 && (rest[0].Index <= snap.Index || tr.log.Has(rest[0].Index, rest[0].Term)) {
		if e := rest[0]; e.Index > snap.Index {
			short.PrevLogEntry, short.PrevLogTerm = e.Index, e.Term
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, &raft.AppendEntriesResponse{Term: q.Term, LastLog: q.Entries[len(q.Entries)-1].Index, Success: true}
	}
	short.Entries = rest
	if last, term := tr.log.Tail(); short.PrevLogEntry == snap.Index && last >= snap.Index &&
		!tr.log.Has(snap.Index, snap.Term) {
		// Raft would compare the snapshot's last entry with the log. The log has entries after the
		// snapshot but not that entry, and the entries that follow differ from this leader's. By
		// the log matching property all of them are divergent, and none of them was committed. The
		// entries before are in the snapshot. (If the log ends before the snapshot or has the
		// snapshot's last entry, raft compares and truncates it.)
		tr.replica.DropLog(raft.Log{Index: last, Term: term})
	}
	return &short, nil
}
