package workload

import (
	"errors"
	"fmt"
	"time"

	"rmd/workload/report"
	"rmd/workload/submit"
)

// Progress is how far a run is.
type Progress struct {
	Virtual time.Duration // time of the trace
	Elapsed time.Duration // real time

	Submitted int64 // applications that the cluster took
	Refused   int64 // and did not take
	Running   int64 // alive
	Finished  int64
	Failed    int64 // ended otherwise
	Restarts  int64 // attempts after the first

	Waiting   int64 // containers asked for and not granted
	Granted   int64
	Completed int64
	Lost      int64   // ended by the cluster and asked for again
	Surplus   int64   // granted though nobody waited any more, and given back
	Repeated  int64   // granted though we had them: never, when the cluster is right
	PerSecond float64 // containers granted a second of real time, since the last progress

	Nodes   int   // registered
	Resyncs int64 // nodes told to register again

	Calls       int64 // answered
	Errors      int64
	LastError   string // of a call
	LastRefusal string // by the cluster
	Submitter   submit.Stats
}

// counts are what Progress is made of.
type counts struct {
	submitted, refused, registered, finished, failed, restarts int64
	granted, completed, lost, surplus, repeated                int64
	resyncs, errors                                            int64
	waiting                                                    int
	lastError, lastRefusal                                     error
	lastSubmit                                                 int64 // virtual milliseconds
}

// progress tells how far the run is; rates are since the last call.
type progress struct {
	start   time.Time
	last    time.Time
	granted int64
}

func (w *world) progress(p *progress, now time.Time) Progress {
	c := &w.counts
	out := Progress{Virtual: w.virtual(), Elapsed: now.Sub(p.start),
		Submitted: c.submitted, Refused: c.refused, Running: int64(len(w.live)), Finished: c.finished, Failed: c.failed,
		Restarts: c.restarts, Waiting: int64(c.waiting), Granted: c.granted, Completed: c.completed, Lost: c.lost,
		Surplus: c.surplus, Repeated: c.repeated, Resyncs: c.resyncs, Calls: w.answered, Errors: c.errors}
	if d := now.Sub(p.last).Seconds(); d > 0 {
		out.PerSecond = float64(c.granted-p.granted) / d
	}
	p.last, p.granted = now, c.granted
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

// capacity is the room of the nodes that are registered.
func (w *world) capacity() report.Resource {
	var sum report.Resource
	for _, n := range w.nodes {
		if n.up {
			sum = plus(sum, n.total, w.cfg.Kinds)
		}
	}
	return sum
}

// sample notes how full the cluster is now.
func (w *world) sample() {
	w.cannotBe(w.meter.sample(w.loop.now, w.millis(), w.capacity()))
}

// summary is the run in figures.
func (w *world) summary(elapsed time.Duration) *report.Summary {
	w.meter.c.End(w.millis())
	w.meter.c.Describe(report.Run{Apps: int(w.counts.submitted), Nodes: len(w.nodes), Seed: w.cfg.Seed,
		TraceMillis: w.counts.lastSubmit, Elapsed: elapsed})
	s := w.meter.c.Summary()
	s.Reservations = w.meter.outcomes()
	return s
}

// verdict is why a run ended, when it is not that all is done.
func (w *world) verdict() error {
	err := errors.Join(w.err, w.wrong)
	if err == nil && w.counts.refused > 0 && w.counts.submitted == 0 {
		err = fmt.Errorf("none of %d applications was taken: %w", w.counts.refused, w.counts.lastRefusal)
	}
	return err
}
