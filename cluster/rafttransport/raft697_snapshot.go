package rafttransport

import (
	"github.com/hashicorp/raft"
)

// hashicorp/raft #697, on the way of the requests (v1.8.0, raft.go: appendEntries,
// installSnapshot). The other parts are in raftstore/raft697_monotonic.go and in cluster/raft697_install.go.
//
// Library: a follower whose log begins behind its newest snapshot has no entry to compare when a
// leader probes at or before that snapshot, and takes this for a difference. The leader then sends
// its own newest snapshot. When that one is older, the follower's state goes back and the log
// behind it is cleared, with entries that were acknowledged. When it is the same, a divergent tail
// stays and the snapshot is sent for ever. A snapshot request that comes late, out of a queue or
// over a connection that its leader has given up, does the same.
// Guard: everything up to a snapshot is committed, so every leader has it. A snapshot that this
// replica covers is answered as installed. A request to append is trimmed to start behind what is
// surely the leader's too.
// Test: TestLateInstall, TestInstallBehindAppend, TestAppendBehindInstall; in cluster
// TestOlderSnapshot, TestTrap697; in jepsen-lite/sim TestTrap697, TestTrap697Barrier.
// Delete when: installSnapshot keeps a log that has the snapshot's last entry, and appendEntries
// compares with the snapshot.

// coversSnapshot says whether everything in a snapshot is here already: it is applied, or the log
// has the snapshot's last entry. A request of an older term is raft's to refuse.
func (tr *Transport) coversSnapshot(q *raft.InstallSnapshotRequest) (term uint64, ok bool) {
	if !tr.replica.Running() {
		return 0, false
	}
	if term = tr.replica.Term(); q.Term < term {
		return term, false
	}
	return term, q.LastLogIndex <= tr.replica.Applied() || tr.log.Has(q.LastLogIndex, q.LastLogTerm)
}

// precedesSnapshot returns the newest snapshot when a request to append starts at or before it and
// the log has nothing to compare there, otherwise nil.
func (tr *Transport) precedesSnapshot(q *raft.AppendEntriesRequest) *raft.SnapshotMeta {
	first, _ := tr.log.FirstIndex()
	if len(q.Entries) == 0 || q.PrevLogEntry == 0 || (first != 0 && q.PrevLogEntry >= first) || !tr.replica.Running() || q.Term != tr.replica.Term() {
		return nil
	}
	list, err := tr.snapshots.List()
	if err != nil || len(list) == 0 || q.PrevLogEntry > list[0].Index || list[0].Index > tr.replica.Applied() {
		return nil
	}
	return list[0]
}

// trimAppend makes a request that starts at or before the newest snapshot start behind what is
// surely here. It returns the request for raft, or the answer when nothing is left of it. Raft must
// have served all requests before: one that installs a snapshot clears entries that are here still.
func (tr *Transport) trimAppend(q *raft.AppendEntriesRequest) (*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {
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
	if last, term := tr.log.Tail(); short.PrevLogEntry == snap.Index && last >= snap.Index && !tr.log.Has(snap.Index, snap.Term) {
		// Raft would look for the snapshot's last entry in the log. The log goes on behind it
		// without that entry, and what follows differs from this term's leader. By the log matching
		// property all of that is divergent and nothing of it was committed; what precedes is in
		// the snapshot. (A log that ends before the snapshot, or has its entry, is raft's to
		// compare and cut.)
		tr.replica.DropLog(raft.Log{Index: last, Term: term})
	}
	return &short, nil
}
