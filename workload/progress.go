package workload

import (
	"errors"
	"fmt"
	"time"

	"rmd/workload/report"
	"rmd/workload/submit"
)

// Progress is the progress of a run.
type Progress struct {
	Virtual time.Duration // time of the trace
	Elapsed time.Duration // real time

	Submitted int64 // accepted applications
	Refused   int64 // refused applications
	Running   int64 // live applications
	Finished  int64
	Failed    int64 // applications that did not succeed
	Restarts  int64 // attempts after the first

	Waiting   int64 // containers requested and not allocated
	Granted   int64
	Completed int64
	Lost      int64 // containers ended by the cluster and requested again
	Surplus   int64 // containers that were no longer needed, and released
	Repeated  int64 // containers that were allocated twice; 0 if the cluster is correct

	Nodes   int   // registered nodes
	Resyncs int64 // orders to a node to register again

	Calls       int64 // answered calls
	Errors      int64
	LastError   string // of a call
	LastRefusal string // by the cluster
	Submitter   submit.Stats
}

// counts are the counts for Progress.
type counts struct {
	submitted, refused, registered, finished, failed, restarts int64
	granted, completed, lost, surplus, repeated                int64
	resyncs, errors                                            int64
	waiting                                                    int
	lastError, lastRefusal                                     error
	lastSubmit                                                 int64 // virtual milliseconds
}

// progress returns how far a run is that began at start.
func (w *world) progress(start, now time.Time) Progress {
	c := &w.counts
	out := Progress{Virtual: w.virtual(), Elapsed: now.Sub(start),
		Submitted: c.submitted, Refused: c.refused, Running: int64(len(w.live)), Finished: c.finished, Failed: c.failed,
		Restarts: c.restarts, Waiting: int64(c.waiting), Granted: c.granted, Completed: c.completed, Lost: c.lost,
		Surplus: c.surplus, Repeated: c.repeated, Resyncs: c.resyncs, Calls: w.answered, Errors: c.errors}
	for _, n := range w.nodes {
		if n.up {
			out.Nodes++
		}
	}
	if c.lastError != nil {
		out.LastError = c.lastError.Error()
	}
	if c.lastRefusal != nil {
		out.LastRefusal = c.lastRefusal.Error()
	}
	if d, ok := w.cfg.Submitter.(interface{ Stats() submit.Stats }); ok {
		out.Submitter = d.Stats()
	}
	return out
}

// capacity returns the total resources of the registered nodes.
func (w *world) capacity() report.Resource {
	var sum report.Resource
	for _, n := range w.nodes {
		if n.up {
			sum = plus(sum, n.total, w.cfg.Kinds)
		}
	}
	return sum
}

// sample records the current utilization of the cluster.
func (w *world) sample() {
	w.cannotBe(w.meter.sample(w.loop.now, w.millis(), w.capacity()))
}

// summary returns the summary of the run.
func (w *world) summary(elapsed time.Duration) *report.Summary {
	w.meter.c.End(w.millis())
	w.meter.c.Describe(report.Run{Apps: int(w.counts.submitted), Nodes: len(w.nodes), Seed: w.cfg.Seed,
		TraceMillis: w.counts.lastSubmit, Elapsed: elapsed})
	s := w.meter.c.Summary()
	s.Reservations = w.meter.outcomes()
	return s
}

// verdict returns the error that ended the run, or nil if all jobs are done.
func (w *world) verdict() error {
	err := errors.Join(w.err, w.wrong)
	if err == nil && w.counts.refused > 0 && w.counts.submitted == 0 {
		err = fmt.Errorf("none of %d applications was taken: %w", w.counts.refused, w.counts.lastRefusal)
	}
	return err
}
