// Package cluster is one replica's Raft: start and restart, proposals, reads, leadership,
// membership and the commands that change it. It knows nothing of YARN. It takes a raft.FSM, and a
// Peer for the connections to the other replicas (*peer.Server of transport/peer).
//
//	Propose ─▶ raft ─▶ raftstore (guard, log, snapshots) ─▶ disk
//	            │ ▲
//	            │ └─ rafttransport (work-arounds, muting, injected elections) ◀─▶ Peer
//	            ▼                    ▲
//	         machine              succession (status of the others, who campaigns)
//	            ▼
//	         the caller's FSM
//
// Invariants:
//   - If an error of Propose is ErrNotLeader, the entry was not appended. If it is
//     ErrUnknownOutcome, this replica cannot know the outcome.
//   - The applied index never decreases while the process runs, restarts of Raft in place included.
//   - One membership change at a time is checked and made.
//   - A replica that is no member cannot vote or lead, and gets no answers about the cluster's
//     state.
//
// hashicorp/raft v1.8.0 is pinned. Each fault of the library has a work-around in a file of its
// own, named by the library's issue (raft503_…) or by a number of ours (raft_w1_…). DESIGN.md lists
// them.
//
// Begin with cluster.go and propose.go; join.go and change.go have the membership.
package cluster
