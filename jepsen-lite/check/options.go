package check

import (
	"fmt"
	"time"
)

// Options say how a run was made, as far as the judge must know.
type Options struct {
	// Exact says that the streams' times are those of the events themselves, as in
	// virtual time; without it what an order of two streams would show is left out.
	Exact bool
	// Election is the replicas' election timeout.
	Election time.Duration
	// Recovery is how long liveness may take after the faults are gone.
	Recovery time.Duration
	// Watchdog is how long a slow, full or hung disk may hold a cluster up.
	Watchdog time.Duration
	// Search is the limit of one part's search.
	Search time.Duration
	// Autopilot says that replicas may be promoted and removed by themselves.
	Autopilot bool
	// WorkEnds says that all work of the run should be done at its end.
	WorkEnds bool
	Ceilings Ceilings
}

// Ceilings are how often a run may see what can loop: L4. 0 is no ceiling.
type Ceilings struct {
	Installs  int // snapshots received
	Campaigns int // elections called, after the recovery
	Resyncs   int
	Retries   int // of one client's operation
}

// DefaultOptions are those of the release profile.
func DefaultOptions() Options {
	return Options{Election: 500 * time.Millisecond, Recovery: 60 * time.Second, Watchdog: 10 * time.Second, Search: 60 * time.Second,
		Ceilings: Ceilings{Installs: 200, Campaigns: 50, Resyncs: 10_000, Retries: 1000}}
}

// Validate refuses what cannot be judged by.
func (o Options) Validate() error {
	switch {
	case o.Election <= 0 || o.Recovery <= 0 || o.Watchdog <= 0 || o.Search <= 0:
		return fmt.Errorf("check: election, recovery, watchdog and search must be positive")
	case o.Ceilings.Installs < 0 || o.Ceilings.Campaigns < 0 || o.Ceilings.Resyncs < 0 || o.Ceilings.Retries < 0:
		return fmt.Errorf("check: a ceiling is negative")
	}
	return nil
}
