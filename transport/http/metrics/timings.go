package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Timings has the recent times of commits and of syncs of the log. Look reads them from the
// histograms of the metrics once a second, so that showing them costs nothing.
type Timings struct {
	source *prometheus.Registry // with these histograms only

	mu     sync.Mutex
	byName map[string]*timing
}

// timing has the counts of a histogram at the beginning of the current window and of the one
// before. A figure is over one to two windows.
type timing struct {
	bounds    []float64
	old, base []uint64 // cumulative, by bucket; the last is the total
	looks     int      // calls of Look in the current window
	p99       time.Duration
}

// lookPause is the time between two calls of Look.
const lookPause = time.Second

// timingWindow is one minute in calls of Look. In that time even a quiet cluster has enough commits
// for a 99th percentile.
const timingWindow = int(time.Minute / lookPause)

// Names of the histograms in Timings.
const (
	CommitSeconds = "rmd_raft_commit_seconds"
	SyncSeconds   = "rmd_raft_fsync_seconds"
)

// NewTimings returns the timings for metrics.
func NewTimings(m *Metrics) *Timings {
	t := &Timings{source: prometheus.NewRegistry(), byName: map[string]*timing{}}
	t.source.MustRegister(m.commit, m.sync)
	return t
}

// Look reads the histograms.
func (t *Timings) Look() {
	families, err := t.source.Gather()
	if err != nil {
		return // keep the figures
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			h := m.GetHistogram()
			var bounds []float64
			var counts []uint64
			for _, b := range h.GetBucket() {
				bounds, counts = append(bounds, b.GetUpperBound()), append(counts, b.GetCumulativeCount())
			}
			t.of(f.GetName()).take(bounds, append(counts, h.GetSampleCount()))
		}
	}
}

func (t *Timings) of(name string) *timing {
	if t.byName[name] == nil {
		t.byName[name] = &timing{}
	}
	return t.byName[name]
}

// P99 returns the 99th percentile of recent times, or 0 if there are none.
func (t *Timings) P99(name string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(name).p99
}

// take adds the current counts, moves the window if it is full, and computes the percentile.
func (t *timing) take(bounds []float64, counts []uint64) {
	if len(t.old) != len(counts) {
		t.bounds, t.old, t.base = bounds, make([]uint64, len(counts)), make([]uint64, len(counts))
	}
	if t.looks++; t.looks > timingWindow {
		t.old, t.base, t.looks = t.base, slices.Clone(counts), 1
	}
	lately := make([]uint64, len(counts))
	for i := range counts {
		lately[i] = counts[i] - min(t.old[i], counts[i])
	}
	t.p99 = time.Duration(quantile(0.99, t.bounds, lately) * float64(time.Second))
}

// quantile interpolates within a bucket, as Prometheus does. Values above the last bound count as
// that bound.
func quantile(q float64, bounds []float64, cumulative []uint64) float64 {
	all := cumulative[len(cumulative)-1]
	if all == 0 || len(bounds) == 0 {
		return 0
	}
	rank := q * float64(all)
	var from float64
	var below uint64
	for i, bound := range bounds {
		if have := cumulative[i]; float64(have) >= rank {
			return from + (bound-from)*(rank-float64(below))/float64(max(have-below, 1))
		}
		from, below = bound, cumulative[i]
	}
	return bounds[len(bounds)-1]
}
