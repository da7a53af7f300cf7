package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// servedWithin is how long the cluster may take to serve writes again after a fault.
const servedWithin = 20 * time.Second

// supervise restarts stopped processes as the supervisor of a machine does, reports those that
// should not have stopped, and waits until the cluster serves writes.
func (r *run) supervise(ctx context.Context) error {
	from := time.Now()
	for _, p := range r.cluster.Replicas {
		r.reportExits(p)
		if p.Voter && !p.Running() {
			if err := p.Start(); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, servedWithin)
	defer cancel()
	if err := r.cluster.AwaitReady(ctx, r.cluster.Voters()...); err != nil {
		r.violate("L2", "not all replicas take part %s after the last fault: %v", servedWithin, err)
		return fmt.Errorf("replicas are missing: %w", err)
	}
	for r.load.Prober.Next(from).IsZero() {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				r.violate("L1", "no write was acknowledged for %s after the last fault", servedWithin)
				return errors.New("the cluster acknowledges no writes")
			}
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// reportExits reports processes that stopped without a fault as the reason.
func (r *run) reportExits(p *harness.Replica) {
	all := p.Exits()
	r.mu.Lock()
	fresh := all[r.excused[p.ID]:]
	r.excused[p.ID] = len(all)
	r.mu.Unlock()
	for _, x := range fresh {
		if !x.Asked {
			r.violate("exit", "%s ended by itself with %d %s: %s", p.ID, x.Code, x.Signal, tail(x.Said, 4))
		}
	}
}

// close stops everything and collects the results.
func (r *run) close(ctx context.Context) {
	if r.load != nil {
		r.load.Close()
		c := &r.load.Counts
		r.res.Asked, r.res.Acked, r.res.Refused, r.res.Unknown = c.Asked.Load(), c.Acked.Load(), c.Refused.Load(),
			c.Unknown.Load()
		r.res.Containers, r.res.Beats = c.Containers.Load(), r.load.Beats()
		for _, v := range r.load.Violations() {
			r.res.Violations = append(r.res.Violations, Violation{Invariant: v.Invariant, What: v.What})
		}
	}
	if r.archive != nil && !r.replaced {
		r.archive.close(false)
	}
	if r.unwatch != nil {
		r.unwatch()
		r.watch.wg.Wait()
	}
	if r.res.Broken == nil {
		r.identity(ctx)
	}
	for _, p := range r.cluster.Replicas {
		r.reportExits(p)
	}
	r.logs()
	r.cries()
	if err := r.cluster.Close(); err != nil {
		r.opt.note("cannot stop the cluster: %v", err)
	}
	r.res.Reached = r.env.Reached()
	r.rec.Mark(history.Over)
	if err := r.writer.Close(); err != nil {
		r.res.Broken = errors.Join(r.res.Broken, err)
	}
}
