package replay

import (
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"rmd/workload"
	"rmd/workload/trace"
)

// playCopies plays Options.Copies copies of the trace with each of a number of settings, in
// parallel. It returns the runs by setting and copy. play gets the number of the setting and the
// options of the copy.
func playCopies[R any](ctx context.Context, o Options, settings int,
	play func(ctx context.Context, setting int, o Options) (R, error)) ([][]R, error) {
	copies := max(o.Copies, 1)
	out := make([][]R, settings)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var runs sync.WaitGroup
	played := o.countRuns(copies * settings)
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range settings {
		out[i] = make([]R, copies)
		for k := range copies {
			turns <- struct{}{}
			runs.Go(func() {
				defer func() { <-turns }()
				run, err := play(ctx, i, o.copied(k))
				if err != nil {
					cancel(err)
				}
				out[i][k] = run
				played()
			})
		}
	}
	runs.Wait()
	return out, context.Cause(ctx)
}

// countRuns returns a function that reports the progress of parallel runs. Each run calls it when
// it ends.
func (o Options) countRuns(all int) func() {
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; o.Progress != nil {
			o.Progress("", workload.Progress{Finished: int64(len(o.Trace.Jobs) * done / all)})
		}
	}
}

// copyShift is the maximum delay of an application's arrival in a copy.
const copyShift = 10 * time.Second

// copied returns the options for a copy of the trace. Copy 0 is the trace itself.
func (o Options) copied(number int) Options {
	o.Progress, o.number = nil, number
	if number > 0 {
		o.Trace = shifted(o.Trace, uint64(o.Seed), uint64(number))
	}
	return o
}

// shifted returns a trace in which each application arrives a random time later.
func shifted(t *trace.Trace, seed, number uint64) *trace.Trace {
	rng := rand.New(rand.NewPCG(seed, number))
	out := *t
	out.Jobs = slices.Clone(t.Jobs)
	for i := range out.Jobs {
		out.Jobs[i].Submit += time.Duration(rng.Int64N(int64(copyShift)))
	}
	slices.SortStableFunc(out.Jobs, func(a, b trace.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return &out
}
