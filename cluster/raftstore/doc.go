// Package raftstore stores what Raft must not lose in one data directory: the log, the term and the
// vote, the snapshots, and the replica's identity.
//
// Raft does not access the inner stores directly. It writes through a Guard, which stops the
// replica at the first failed write, failed sync or damaged read:
//
//	raft ─▶ LogStore, StableStore, SnapshotStore ─▶ Guard ─▶ bbolt, files
//
// Invariants:
//   - An entry is returned only if its checksum, index and term are right.
//   - After the first failed write or sync, the stores are not used again. OnFatal is called
//     immediately, and no code of the library continues after the failure.
//   - A snapshot becomes visible only after it was verified, and never after a newer one.
//   - Inspect reads everything before Raft starts. It refuses a directory that lacks something or
//     has another replica's data.
//
// The package depends on hashicorp/raft and bbolt, and does not know about other replicas.
package raftstore
