// Package cluster runs Raft for one replica: start and restart, proposals, reads, leadership,
// membership and the commands that change the membership. It knows nothing of YARN. The caller
// passes in a raft.FSM, and a Peer for the connections to the other replicas (*peer.Server of
// transport/peer).
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
//   - If Propose returns ErrNotLeader, the entry was not appended. If it returns ErrUnknownOutcome,
//     this replica cannot know the outcome.
//   - The applied index never decreases while the process runs, not even when Raft is restarted in
//     place.
//   - Only one membership change is checked and made at a time.
//   - A replica that is not a member cannot vote or lead, and gets no answers about the cluster's
//     state.
//
// The version of hashicorp/raft is fixed at v1.8.0. Each bug of the library has a work-around in a
// file of its own. The file is named after the library's issue (raft503_…) or after a number of
// ours (raft_w1_…). DESIGN.md lists them.
//
// Cluster consists of parts. Each part owns its data and knows the parts that it uses: newCluster in
// cluster.go shows which. What several parts use is in package local.
//
// Read cluster.go and propose.go first. join.go and change.go contain the membership changes.
package cluster
