// Package cluster is one replica's Raft: start and restart, proposals, reads, leadership,
// membership and the commands that change it. It knows nothing of YARN: it takes a raft.FSM and a
// Peer, the connections to the other replicas, which *peer.Server of transport/peer is.
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
//   - An error of Propose that Is ErrNotLeader means surely not appended; ErrUnknownOutcome means that
//     nobody here can know.
//   - The applied index never goes back while the process lives, restarts of raft in place included.
//   - One membership change at a time is judged and made.
//   - Who is no member can neither vote, nor lead, nor be asked for the state of the cluster.
//
// hashicorp/raft v1.8.0 is pinned. What it does wrong is worked around in one file for each
// behavior, named raft503_… by the library's issue or raft_w1_… by a number of ours; DESIGN.md
// lists them.
package cluster
