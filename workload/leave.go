package workload

import (
	"context"

	"rmd/scheduler/input"
)

// finish waits for the calls in flight, cleans up if Config.Leave is set, and takes the last
// sample.
func (x *live) finish(ctx context.Context, cancel context.CancelFunc) {
	cancel()
	x.wg.Wait()
	late, done := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer done()
	if ask := x.w.cfg.Observe; ask != nil {
		if o, err := ask(late); err == nil {
			x.w.meter.observe(o)
		}
	}
	x.w.sample()
	if x.w.cfg.OnProgress != nil {
		x.w.cfg.OnProgress(x.w.progress(x.begun, x.clock.Now()))
	}
	if x.w.cfg.Leave {
		x.leave(late)
	}
}

// leave kills the live applications and unregisters the nodes, until its context ends.
func (x *live) leave(ctx context.Context) {
	for _, a := range x.w.live {
		if a.phase == phaseSubmitting || a.stranger {
			continue
		}
		in := &input.KillApplication{ID: a.id, User: a.job.User, Diagnostics: "the simulated workload ended"}
		if _, err := x.w.cfg.Submitter.Do(ctx, in); err != nil {
			x.w.log.Warn("application left behind", "application", a.id.String(), "error", err)
			return
		}
	}
	for _, n := range x.w.nodes {
		if !n.up {
			continue
		}
		if _, err := x.w.cfg.Submitter.Do(ctx, &input.UnregisterNode{ID: n.id}); err != nil {
			x.w.log.Warn("node left behind", "node", n.id.String(), "error", err)
			return
		}
	}
}
