package local

import (
	"sync/atomic"

	"rmd/internal/job"
)

// Counters counts events since the start.
type Counters struct {
	Elections, Snapshots, Installs, Restarts, Crashes atomic.Uint64
	SnapshotAt                                        atomic.Int64
}

// Jobs are the background jobs of this package.
type Jobs struct{ Autopilot, Digests, DiskSpace, Membership, Snapshot *job.Job }

// NewJobs registers the jobs.
func NewJobs(r *job.Registry) Jobs {
	return Jobs{r.Job(job.Autopilot), r.Job(job.Digests), r.Job(job.DiskSpace), r.Job(job.Membership), r.Job(job.Snapshot)}
}
