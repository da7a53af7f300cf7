// Package raftstore keeps what Raft must not lose: the log, the term and the vote, the snapshots,
// and the replica's identity, all in one data directory.
//
// Raft never sees the inner stores. It writes through a Guard, which ends the replica with the
// first failed write, sync or damaged read:
//
//	raft ─▶ LogStore, StableStore, SnapshotStore ─▶ Guard ─▶ bbolt, files
//
// Invariants:
//   - An entry is handed out only when its checksum and its place in the log are right.
//   - After the first failed write or sync nobody uses the stores again: OnFatal is called at once, and
//     no library code runs on past the failure.
//   - A snapshot comes into being only when it was verified, and none behind a newer one.
//   - Inspect reads everything before Raft starts: a directory that lacks something, or holds another
//     replica's data, is refused.
package raftstore
