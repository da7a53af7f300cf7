// Package cluster is Raft itself: stores on disk behind a guard, birth of a cluster, membership,
// leadership, reads at an index, crash detection. It knows nothing of YARN: it takes a raft.FSM and
// a Peer (the wire between replicas, which *peer.Server of transport/peer satisfies).
//
//	Propose ─▶ raft ─▶ guard (envelope, checksum, poison, watchdog) ─▶ bolt
//	             │ ▲
//	             │ └─ wire (no heartbeat fast path, injected elections, muting) ◀─▶ Peer
//	             ▼
//	          machine (applied index, no entry twice) ─▶ the caller's FSM
//
// Invariants:
//   - A stored entry is handed out only when its checksum and its place in the log are right.
//   - After the first failed write or sync the store is never used again: OnFatal is called at once,
//     and no library code runs on past the failure.
//   - An error of Propose that Is ErrNotLeader means surely not appended; ErrUnknownOutcome means
//     that nobody here can know.
//   - The applied index never goes back while the process lives, restarts of raft in place included.
//   - A live leader is never deposed because a connection was lost.
//
// DESIGN.md tells why; hashicorp/raft v1.8.0 is pinned, and the traps it has are tested one by one.
package cluster
