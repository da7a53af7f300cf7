// Package result has what a simulated run leaves: the result of a seed, the summary of many, and totals
// over all runs of a folder.
//
//	all := result.NewSummary(kinds)
//	all.Add(r)
//	fmt.Print(all.Report(wall))
//	all.Total(profile, wall).Append(out)
//
// Begin with result.go. keep.go writes the files of a seed and lets package check judge its history,
// summary.go has the report of a run of TestSeeds, and total.go its line in total.jsonl. The package
// runs nothing.
package result

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

	Executed []Step
	Lines    []history.Line // what package check judges
	Counts   checker.Counts
	Kinds    map[string]int
	Achieved map[string]int
	Exits    map[int]int
	Hits     map[failpoint.Name]int
	Net      network.Traffic
	Installs int
	Restarts int           // restarts of raft in place
	Leader   time.Duration // L1: time from the calm to a leader
	Step     time.Duration // L2: time from the calm until all replicas are in step
	Debt     time.Duration // L7: the longest debt of a guarantee

	undecided int // checks of package check without a result
}

// Step is a step that was executed.
type Step struct {
	Kind     string
	At, Took time.Duration // At is since the start of the faults
}
