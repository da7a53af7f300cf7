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

// Result is what came of a run.
type Result struct {
	Scenario string
	Seed     uint64
	Commit   string
	Began    time.Time
	Took     time.Duration
	Offer    harness.Offer
	Moments  []nemesis.Moment  // faults, as they were done
	Skipped  []string          // faults that the machine does not offer
	Kinds    map[string]string // what each of the scenario's faults needs
	Missing  []string          // kinds that the scenario requires, and that did not run
	Asked    int64
	Acked    int64
	Refused  int64
	Unknown  int64
	// Containers were given to masters; Apps were acknowledged, Lost of them are
	// not there any more.
	Containers int64
	Beats      int64 // heartbeats over Hadoop's wire that were answered
	Apps       int
	Lost       []string
	Gaps       []time.Duration // time without a committed write, of each kill of a leader
	Violations []Violation
	// Reached are the named places of the program's code where a replica crashed or
	// was held, and how often.
	Reached    map[string]int
	Failpoints []string // all such places
	// Broken is why the run came to no end; the rest is what there is so far.
	Broken  error
	Verdict *check.Verdict
	History *history.History
	Out     string // where everything is
}

// Violation is something that is wrong beyond doubt.
type Violation struct {
	Invariant string
	What      string
	After     time.Duration // since the run began
}

// OK says whether the run passes: nothing is violated or undecided, and nothing
// was skipped that the scenario requires.
func (r *Result) OK() bool {
	return r.Broken == nil && len(r.Violations) == 0 && len(r.Missing) == 0 && (r.Verdict == nil || r.Verdict.Holds())
}

// Missed are the named places at which nobody crashed or was held, in the order of the
// program's own list.
func (r *Result) Missed() []string {
	return slices.DeleteFunc(slices.Clone(r.Failpoints), func(name string) bool { return r.Reached[name] > 0 })
}

// Counts are how often each fault was done, by name, in the order of names.
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

// Count is how often a fault was done.
type Count struct {
	Fault string
	Times int
}

// Percentile of the gaps; 0 when there is none.
func (r *Result) Percentile(p float64) time.Duration {
	return quantile.Of(slices.Sorted(slices.Values(r.Gaps)), p)
}
