package sim

import (
	"time"

	"rmd/internal/failpoint"
	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/sim/checker"
	"rmd/jepsen-lite/sim/network"
)

// Result is the result of one seed.
type Result struct {
	Seed       int64
	Violations []string
	History    string // only of a failing seed
	Settings   string
	Virtual    time.Duration // virtual time of the run
	Real       time.Duration

	executed []planned
	lines    []history.Line
	counts   checker.Counts
	kinds    map[string]int
	achieved map[string]int
	exits    map[int]int
	hits     map[failpoint.Name]int
	net      network.Traffic
	installs int
	restarts int           // restarts of raft in place
	leader   time.Duration // L1: time from the calm to a leader
	step     time.Duration // L2: time from the calm until all replicas are in step

	undecided int // checks of package check without a result
}

// planned is a step that was executed.
type planned struct {
	kind     string
	at, took time.Duration // at is since the start of the faults
}
