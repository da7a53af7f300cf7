package cluster

import (
	"sync/atomic"
	"time"
)

// counters counts events since the start.
type counters struct {
	elections, snapshots, installs, restarts, crashes atomic.Uint64
	snapshotAt                                        atomic.Int64
}

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
	first, _ := c.stores.Logs.FirstIndex()
	i := c.info()
	s := Stats{
		State: c.current().raft.State().String(), Term: i.Term, Commit: i.Commit, Applied: i.Applied, LastIndex: i.LastIndex, FirstIndex: first,
		LastContact: i.LastContact, Elections: c.counters.elections.Load(), Snapshots: c.counters.snapshots.Load(), Installs: c.counters.installs.Load(),
		Restarts: c.counters.restarts.Load(), Crashes: c.counters.crashes.Load(), SnapshotAge: -1,
		WriteAge: c.guard.OldestWrite(time.Now()), DiskFree: i.DiskFree,
	}
	if at := c.counters.snapshotAt.Load(); at != 0 {
		s.SnapshotAge = time.Since(time.Unix(0, at))
	}
	s.StoreBytes, s.StoreFreeBytes = c.stores.DiskUsage()
	return s
}
