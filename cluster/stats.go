package cluster

import (
	"time"
)

// Stats contains what /metrics shows of the Raft part of this replica.
type Stats struct {
	State          string        `json:"state"`
	Term           uint64        `json:"term"`
	Commit         uint64        `json:"commit"`
	Applied        uint64        `json:"applied"`
	LastIndex      uint64        `json:"last_index"`
	FirstIndex     uint64        `json:"first_index"`
	LastContact    time.Duration `json:"last_contact"` // -1: never
	Elections      uint64        `json:"elections"`    // how often this replica became leader
	Snapshots      uint64        `json:"snapshots"`
	Installs       uint64        `json:"installs"`     // snapshots received
	Restarts       uint64        `json:"restarts"`     // of raft in place
	Crashes        uint64        `json:"crashes"`      // deaths of leaders that this replica detected
	SnapshotAge    time.Duration `json:"snapshot_age"` // -1: none since the start
	WriteAge       time.Duration `json:"write_age"`    // of the oldest write in flight
	DiskFree       uint64        `json:"disk_free"`
	StoreBytes     int64         `json:"store_bytes"`
	StoreFreeBytes int64         `json:"store_free_bytes"`
}

// Stats returns the counters and indexes of this replica.
func (c *Cluster) Stats() Stats {
	first, _ := c.core.Stores.Logs.FirstIndex()
	i := c.info()
	s := Stats{
		State: c.core.Current().Raft.State().String(), Term: i.Term, Commit: i.Commit, Applied: i.Applied,
		LastIndex: i.LastIndex, FirstIndex: first,
		LastContact: i.LastContact, Elections: c.core.Counters.Elections.Load(), Snapshots: c.core.Counters.Snapshots.Load(),
		Installs: c.core.Counters.Installs.Load(),
		Restarts: c.core.Counters.Restarts.Load(), Crashes: c.core.Counters.Crashes.Load(), SnapshotAge: -1,
		WriteAge: c.core.Guard.OldestWrite(time.Now()), DiskFree: i.DiskFree,
	}
	if at := c.core.Counters.SnapshotAt.Load(); at != 0 {
		s.SnapshotAge = time.Since(time.Unix(0, at))
	}
	s.StoreBytes, s.StoreFreeBytes = c.core.Stores.DiskUsage()
	return s
}
