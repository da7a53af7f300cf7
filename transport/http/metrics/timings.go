package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Timings are how long commits and the log's syncs took here lately. They are
// read from the histograms of the metrics once a second, so that showing them
// costs nothing.
type Timings struct {
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

// lookPause is how often Look is called.
const lookPause = time.Second

// timingWindow is a minute, in looks; long enough for a hundredth of the commits
// of a quiet cluster.
const timingWindow = int(time.Minute / lookPause)

// Names of the histograms that timings are taken from.
const (
	CommitSeconds = "rmd_raft_commit_seconds"
	SyncSeconds   = "rmd_raft_fsync_seconds"
)

// NewTimings takes timings from metrics.
func NewTimings(m *Metrics) *Timings {
	t := &Timings{source: prometheus.NewRegistry(), byName: map[string]*timing{}}
	t.source.MustRegister(m.commit, m.sync)
	return t
}

// Look takes the histograms as they are now.
func (t *Timings) Look() {
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

func (t *Timings) of(name string) *timing {
	if t.byName[name] == nil {
		t.byName[name] = &timing{}
	}
	return t.byName[name]
}

// P99 is what 99 of 100 stayed below lately; 0 when there were none.
func (t *Timings) P99(name string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(name).p99
}

// take moves the window and finds the figure again.
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
