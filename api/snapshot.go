package api

// Snapshots lists the snapshots on the replica's disk, newest first.
type Snapshots struct {
	Snapshots []Snapshot `json:"snapshots"`
}

// Snapshot describes one snapshot.
type Snapshot struct {
	ID        string `json:"id"`
	Index     uint64 `json:"index"`
	Term      uint64 `json:"term"`
	Bytes     int64  `json:"bytes"`
	AtMillis  int64  `json:"at_ms,omitempty"`
	ClusterID string `json:"cluster_id,omitempty"`
	Digest    string `json:"digest,omitempty"`
}

// Restored describes the state after a restore.
type Restored struct {
	ClusterID string `json:"cluster_id"` // of the snapshot
	Index     uint64 `json:"index"`      // of the snapshot
	Epoch     uint32 `json:"epoch"`      // the epoch after the restore
	Apps      int    `json:"apps"`
	Nodes     int    `json:"nodes"`
	Digest    string `json:"digest,omitempty"`
	// TokensKept counts the access tokens of the running cluster that remain valid because the
	// snapshot has none.
	TokensKept int  `json:"tokens_kept,omitempty"`
	DryRun     bool `json:"dry_run,omitempty"`
}
