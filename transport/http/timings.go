package httpserver

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// timings are how long commits and the log's syncs took here lately. They are
// read from the histograms of the metrics once a second, so that showing them
// costs nothing.
type timings struct {
	source *prometheus.Registry // of the histograms alone

	mu     sync.Mutex
	byName map[string]*timing
}

// timing is one histogram with what it held at the beginning of this window and
// of the one before: figures are of one to two windows.
type timing struct {
	bounds    []float64
	old, base []uint64 // cumulative by bucket, the whole last
	looks     int      // of this window
	p99       time.Duration
}

// timingWindow is a minute, in looks; long enough for a hundredth of the commits
// of a quiet cluster.
const timingWindow = int(time.Minute / leaderPause)

// Names of the histograms that timings are taken from.
const (
	commitSeconds = "rmd_raft_commit_seconds"
	syncSeconds   = "rmd_raft_fsync_seconds"
)

func newTimings(m *Metrics) *timings {
	t := &timings{source: prometheus.NewRegistry(), byName: map[string]*timing{}}
	t.source.MustRegister(m.commit, m.sync)
	return t
}

// look takes the histograms as they are now.
func (t *timings) look() {
	families, err := t.source.Gather()
	if err != nil {
		return // the figures stay as they are
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

func (t *timings) of(name string) *timing {
	if t.byName[name] == nil {
		t.byName[name] = &timing{}
	}
	return t.byName[name]
}

// p99 is what 99 of 100 stayed below lately; 0 when there were none.
func (t *timings) p99(name string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(name).p99
}

// take moves the window and finds the figure anew.
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

// quantile interpolates within a bucket, as Prometheus does. What is beyond the
// last bound counts as that bound.
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
