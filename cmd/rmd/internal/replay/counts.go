package replay

import (
	"context"
	"sync"

	"rmd/workload"
	"rmd/workload/report"
)

// countsMax bounds what is kept of a run of any length: then every second count
// is forgotten, and from there on only every second one is taken, and so on.
const countsMax = 20_000

// counts gathers over time what became of reservations: the observation says it,
// the progress says when.
type counts struct {
	mu    sync.Mutex // a real-time run observes on a goroutine of its own
	last  report.Outcomes
	first *report.Outcomes

	all         []report.Count
	every, skip int
}

// count hooks it into a run that observes with observe.
func (n *counts) count(c *workload.Config, observe func(context.Context) (workload.Observation, error)) {
	c.Observe = func(ctx context.Context) (workload.Observation, error) {
		o, err := observe(ctx)
		if err == nil {
			n.observed(o.Outcomes)
		}
		return o, err
	}
	told := c.OnProgress
	c.OnProgress = func(p workload.Progress) {
		n.tick(p.Virtual.Milliseconds())
		if told != nil {
			told(p)
		}
	}
}

func (n *counts) observed(o report.Outcomes) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.first == nil {
		n.first = &o
	}
	n.last = o
}

// tick notes the counts of now. They are since the run began: a running cluster
// has counted before.
func (n *counts) tick(atMillis int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.skip++; n.first == nil || n.skip < n.every {
		return
	}
	n.skip = 0
	n.all = append(n.all, report.Count{AtMillis: atMillis, Made: n.last.Made - n.first.Made, Moved: n.last.Moved - n.first.Moved,
		Fulfilled: n.last.Fulfilled - n.first.Fulfilled, Cancelled: n.last.Cancelled - n.first.Cancelled})
	if len(n.all) < countsMax {
		return
	}
	for i := range countsMax / 2 {
		n.all[i] = n.all[2*i]
	}
	n.all, n.every = n.all[:countsMax/2], max(2*n.every, 2)
}

// into adds the counts to a summary.
func (n *counts) into(s *report.Summary) *report.Summary {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s != nil && s.Series != nil {
		s.Series.Counts = n.all
	}
	return s
}
