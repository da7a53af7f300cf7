package raftstore

// hashicorp/raft #697, the part that concerns the store (v1.8.0, raft.go: installSnapshot, log.go:
// MonotonicLogStore). The other parts are in cluster/raft697_install.go and
// rafttransport/raft697_snapshot.go.
//
// Library: a follower keeps a divergent tail when it installs a snapshot, and downloads the
// snapshot again and again, forever.
// Guard: the log declares itself monotonic, so raft clears it when it installs a snapshot.
// Test: as in cluster/raft697_install.go.
// Delete when: as in cluster/raft697_install.go.

// IsMonotonic returns true: the log must have no gaps.
func (s *LogStore) IsMonotonic() bool { return true }
