package raftstore

// hashicorp/raft #697, in the store (v1.8.0, raft.go: installSnapshot, log.go: MonotonicLogStore).
// The other parts are in cluster/raft697_install.go and rafttransport/raft697_snapshot.go.
//
// Library: a follower with a divergent tail keeps it when it installs a snapshot, and downloads the
// snapshot for ever.
// Guard: the log declares itself monotonic, so raft clears it when it installs a snapshot.
// Test, delete when: as there.

// IsMonotonic is true: a log without gaps.
func (s *LogStore) IsMonotonic() bool { return true }
