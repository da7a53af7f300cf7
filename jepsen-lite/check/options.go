package check

import (
	"fmt"
	"time"
)

// Options are the facts about a run that the checks need.
type Options struct {
	// Exact says that the times in the streams are those of the events themselves, as in virtual
	// time. Without it, checks that compare times of two streams are left out.
	Exact bool
	// Election is the replicas' election timeout.
	Election time.Duration
	// Recovery is how long the cluster may take to recover after the last fault.
	Recovery time.Duration
	// Watchdog is how long a slow, full or hung disk may block the cluster.
	Watchdog time.Duration
	// Search limits the search for an order of one part's operations (S13).
	Search time.Duration
	// Autopilot says that autopilot may promote and remove replicas.
	Autopilot bool
	// WorkEnds says that all applications must have ended at the end of the run.
	WorkEnds bool
	Ceilings Ceilings
}

// Ceilings are the highest allowed numbers of repeated actions: L4. 0 means no limit.
type Ceilings struct {
	Installs  int // installed snapshots
	Campaigns int // elections after the begin of the recovery phase
	Resyncs   int
	Retries   int // calls with one idempotency key
}

// DefaultOptions returns the options of the release profile for replicas with an election timeout.
func DefaultOptions(election time.Duration) Options {
	return Options{Election: election, Recovery: 60 * time.Second, Watchdog: 10 * time.Second, Search: 60 * time.Second,
		Ceilings: Ceilings{Installs: 200, Campaigns: 50, Resyncs: 10_000, Retries: 1000}}
}

// Validate returns an error for a value that is not positive or, in Ceilings, negative.
func (o Options) Validate() error {
	switch {
	case o.Election <= 0 || o.Recovery <= 0 || o.Watchdog <= 0 || o.Search <= 0:
		return fmt.Errorf("check: election, recovery, watchdog and search must be positive")
	case o.Ceilings.Installs < 0 || o.Ceilings.Campaigns < 0 || o.Ceilings.Resyncs < 0 || o.Ceilings.Retries < 0:
		return fmt.Errorf("check: a ceiling is negative")
	}
	return nil
}
