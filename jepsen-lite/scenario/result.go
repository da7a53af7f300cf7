package scenario

import (
	"slices"
	"time"

	"rmd/internal/quantile"
	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/nemesis"
)

// Result is the result of a run.
type Result struct {
	Scenario string
	Seed     uint64
	Commit   string
	Began    time.Time
	Took     time.Duration
	Offer    harness.Offer
	Moments  []nemesis.Moment  // injected faults
	Skipped  []string          // faults that the machine does not support
	Kinds    map[string]string // the kind of each of the scenario's faults
	Missing  []string          // required kinds that the machine does not support
	Asked    int64
	Acked    int64
	Refused  int64
	Unknown  int64
	// Containers is the number of containers that AMs received. Apps is the number of acknowledged
	// applications, and Lost are those that are missing at the end.
	Containers int64
	Beats      int64 // answered heartbeats over Hadoop's protocol
	Apps       int
	Lost       []string
	Gaps       []time.Duration // time without an acknowledged write, for each kill of a leader
	Violations []Violation
	// Reached has for each failpoint how often a replica crashed or waited there.
	Reached    map[string]int
	Failpoints []string // all failpoints
	// Broken says why the run could not be completed. The other fields have what there is so far.
	Broken  error
	Verdict *check.Verdict
	History *history.History
	Out     string // directory of all files of the run
}

// Violation is a violation that the run itself has found.
type Violation struct {
	Invariant string
	What      string
	After     time.Duration // since the run began
}

// OK reports whether the run passes: nothing is violated or undecided, and nothing that the
// scenario requires was skipped.
func (r *Result) OK() bool {
	return r.Broken == nil && len(r.Violations) == 0 && len(r.Missing) == 0 && (r.Verdict == nil || r.Verdict.Holds())
}

// Missed returns the failpoints at which no replica crashed or waited, in the order of Failpoints.
func (r *Result) Missed() []string {
	return slices.DeleteFunc(slices.Clone(r.Failpoints), func(name string) bool { return r.Reached[name] > 0 })
}

// Counts returns how often each fault was injected, sorted by name.
func (r *Result) Counts() []Count {
	var out []Count
	for _, m := range r.Moments {
		if m.Ended.IsZero() {
			continue
		}
		i, ok := slices.BinarySearchFunc(out, m.Fault, func(c Count, name string) int {
			switch {
			case c.Fault < name:
				return -1
			case c.Fault > name:
				return 1
			}
			return 0
		})
		if !ok {
			out = slices.Insert(out, i, Count{Fault: m.Fault})
		}
		out[i].Times++
	}
	return out
}

// Count says how often a fault was injected.
type Count struct {
	Fault string
	Times int
}

// Percentile returns a percentile of the gaps; 0 if there is none.
func (r *Result) Percentile(p float64) time.Duration {
	return quantile.Of(slices.Sorted(slices.Values(r.Gaps)), p)
}
