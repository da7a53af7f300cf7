package replay

import (
	"context"
	"sync"

	"rmd/workload"
	"rmd/workload/report"
)

// countsMax is the maximum number of counts kept for a run. When it is reached, every second count
// is dropped, and from then on only every second count is taken.
const countsMax = 20_000

// counts records over time what happened to reservations. Observations have the numbers, and
// progress has the time.
type counts struct {
	mu    sync.Mutex // in real time, another goroutine observes
	last  report.Outcomes
	first *report.Outcomes

	all         []report.Count
	every, skip int
}

// count makes a run with observe record its counts.
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

// tick records the current counts. They are relative to the first observation, because a running
// cluster has counted before the run.
func (n *counts) tick(atMillis int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.skip++; n.first == nil || n.skip < n.every {
		return
	}
	n.skip = 0
	n.all = append(n.all, report.Count{AtMillis: atMillis, Made: n.last.Made - n.first.Made,
		Moved:     n.last.Moved - n.first.Moved,
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
