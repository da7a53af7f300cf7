package server

import (
	"time"

	"rmd/cluster"
	"rmd/leader"
	"rmd/scheduler/input"
)

// observeSequencer hands the sequencer's measurements to the metrics.
func (r *Replica) observeSequencer() leader.Observe {
	return leader.Observe{
		Batch:  func(events, _, _ int) { r.metrics.ObserveBatch(events) },
		Commit: r.metrics.ObserveCommit,
		Plan:   func(kind input.Kind, _ int, _ bool, took time.Duration) { r.metrics.ObservePlan(kind, took) },
		Wait:   r.metrics.ObserveReplyWait,
	}
}

// measure hands the consensus part's measurements to the metrics.
func (r *Replica) measure(what cluster.Measure, d time.Duration) {
	switch what {
	case cluster.MeasureSync:
		r.metrics.ObserveSync(d)
	case cluster.MeasureElection:
		r.metrics.CountElection()
	case cluster.MeasureSnapshot:
		r.metrics.CountSnapshot("write", "ok")
	case cluster.MeasureInstall:
		r.metrics.CountSnapshot("install", "ok")
	}
}
