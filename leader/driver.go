package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rmd/internal/exitcode"
	"rmd/internal/failpoint"
	"rmd/scheduler/input"
)

// driver runs one Core. It passes inputs and time to the Core, batches to the Log, and replies to
// their callers. Its goroutine owns everything except the channels.
type driver struct {
	s    *Sequencer
	term uint64
	core *Core[call]

	queue    chan *call    // inputs that wait to be planned
	inflight []time.Time   // when each batch in flight was proposed, oldest first
	proposed chan []byte   // entries for the Log
	outcomes chan logReply // the results of the Log for each entry, in order
}

// logReply is the result of the Log for one entry.
type logReply struct {
	index uint64
	err   error
}

// Lead leads in a term in which this replica was elected, until ctx ends or a batch is not applied
// as planned. It returns the reason of the end.
func (s *Sequencer) Lead(ctx context.Context, term uint64) error {
	s.lead.Lock()
	defer s.lead.Unlock()
	start := time.Now()
	s.progress.stage.Store(stageBegins)
	d, err := s.begin(ctx, term)
	if err != nil {
		return fmt.Errorf("begin leadership of term %d: %w", term, err)
	}
	s.cfg.Logger.Info("leadership begun", "term", term, "index", d.core.Applied(), "took", time.Since(start))
	err = d.run(ctx)
	d.end()
	d.logFault(err)
	s.cfg.Logger.Info("leadership ended", "term", term, "index", d.core.Applied(), "error", err)
	return err
}

// begin begins a leadership: barrier, fork, planner and core, worker, intake. end does the reverse.
func (s *Sequencer) begin(ctx context.Context, term uint64) (*driver, error) {
	// 1. Everything that earlier leaders committed is in the committed state.
	if err := s.cfg.Barrier(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	failpoint.Hit(failpoint.LeadershipBarrier)
	// 2. The planning state is a fork of the committed state.
	from := s.cfg.Fork(term)
	planner, err := s.cfg.NewPlanner(from.State)
	if err != nil {
		return nil, fmt.Errorf("planner: %w", err)
	}
	d := &driver{
		s: s, term: term, core: NewCore[call](s.cfg.CoreConfig, planner, from),
		queue:    make(chan *call, s.cfg.QueueMax),
		proposed: make(chan []byte, s.cfg.MaxInFlight),
		outcomes: make(chan logReply, s.cfg.MaxInFlight),
	}
	// 3. Start the worker, then accept inputs.
	go d.commit()
	s.mu.Lock()
	s.queue = d.queue
	s.mu.Unlock()
	s.term.Store(term)
	failpoint.Hit(failpoint.LeadershipBegun)
	return d, nil
}

// end ends a leadership: intake, worker, core.
func (d *driver) end() {
	// 3. Accept no more inputs, then end the worker. Wait for the entries that the Log has: they
	// end soon after the leadership is lost, and an entry that was committed is answered as
	// committed.
	d.s.progress.stage.Store(stageEnds)
	d.s.term.Store(0)
	d.s.mu.Lock()
	d.s.queue = nil
	d.s.mu.Unlock()
	failpoint.Hit(failpoint.LeadershipEnded)
	close(d.queue)
	close(d.proposed)
	for r := range d.outcomes {
		d.complete(r)
	}
	// 2. The open batch was never proposed. Nothing that depends on it has happened.
	d.core.Stop()
	d.release()
	for c := range d.queue {
		c.result <- result{err: ErrNotLeader}
	}
}

// run plans and proposes until the leadership must end.
func (d *driver) run(ctx context.Context) error {
	tick := time.NewTicker(d.s.cfg.TickInterval)
	defer tick.Stop()
	last := time.Now()
	for first := true; ; first = false {
		d.propose()
		// Handle applied batches before new inputs, so that the Log never waits for planning.
		select {
		case r := <-d.outcomes:
			d.complete(r)
		default:
		}
		if err := d.core.Err(); err != nil {
			return err
		}
		if !first { // a leadership that fails at its first input gets nothing done
			d.s.progress.turned(len(d.inflight))
		}
		d.propose()
		if d.planDue() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		intake := d.queue
		if d.core.Full() {
			intake = nil // until the Log takes the open batch
		}
		select {
		case c := <-intake:
			d.plan(c)
		case r := <-d.outcomes:
			d.complete(r)
		case <-tick.C:
			now := time.Now() // the tick may have waited while inputs were planned
			d.core.Tick(d.now(), now.Sub(last))
			last = now
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// now returns the time for the next input, in Unix milliseconds.
func (d *driver) now() int64 { return d.s.clock.Millis(d.core.Stamp()) }

// plan plans the input of a call.
func (d *driver) plan(c *call) {
	if c.ctx.Err() != nil { // the caller has gone, but the sender is alive
		d.core.Touch(c.req.Input)
		return
	}
	d.step(c, c.req)
}

// planDue plans one input that time has made due and reports whether there was one. It also plans
// one caller's input, so that the expiry of a whole rack does not delay all callers.
func (d *driver) planDue() bool {
	in := d.core.Due()
	if in == nil {
		return false
	}
	if tick, ok := in.(*input.Tick); ok {
		tick.Entropy = d.s.cfg.Entropy()
	}
	d.step(nil, input.Request{Input: in})
	if !d.core.Full() {
		select {
		case c := <-d.queue:
			d.plan(c)
		default:
		}
	}
	return true
}

// step plans one input, measures the time, and releases the replies that are ready.
func (d *driver) step(c *call, req input.Request) {
	start := time.Now()
	d.core.Step(d.now(), c, req)
	took := time.Since(start)
	pace := d.s.pace.Load()
	d.s.pace.Store(pace + (int64(took)-pace)/16)
	if f := d.s.cfg.Observe.Plan; f != nil {
		f(req.Input.Kind(), took)
	}
	d.release()
}

// propose passes the open batch to the worker if the Core proposes one.
func (d *driver) propose() {
	p, ok := d.core.Propose()
	if !ok {
		return
	}
	d.inflight = append(d.inflight, time.Now())
	failpoint.Hit(failpoint.BatchClosed)
	d.proposed <- p.Entry // room for MaxInFlight
	if f := d.s.cfg.Observe.Batch; f != nil {
		f(p.Events)
	}
}

// commit passes entries to the Log in order. A second goroutine waits for them in the same order.
// After the first error nothing more is proposed. Both goroutines end when proposed is closed.
func (d *driver) commit() {
	futures := make(chan Future, d.s.cfg.MaxInFlight)
	failed := make(chan struct{})
	go d.await(futures, failed)
	defer close(futures)
	for entry := range d.proposed {
		select {
		case <-failed:
			futures <- notProposed{}
		default:
			f := d.s.cfg.Log.Propose(entry)
			failpoint.Hit(failpoint.BatchProposed)
			futures <- f
		}
	}
}

// notProposed is the Future of an entry that the Log did not get.
type notProposed struct{}

// Wait implements Future.
func (notProposed) Wait() (uint64, error) { return 0, ErrNotLeader }

// await forwards the result of each entry and closes failed at the first error.
func (d *driver) await(futures <-chan Future, failed chan<- struct{}) {
	defer close(d.outcomes)
	for f := range futures {
		var r logReply
		r.index, r.err = f.Wait()
		if r.err != nil && failed != nil {
			close(failed)
			failed = nil
		}
		d.outcomes <- r // room for MaxInFlight
	}
}

// complete gives the Core the result of the oldest batch in flight and releases the replies that
// waited for it.
func (d *driver) complete(r logReply) {
	since := d.inflight[0]
	d.inflight = slices.Delete(d.inflight, 0, 1)
	if r.err == nil {
		d.s.progress.done.Add(1)
	}
	if r.err != nil {
		d.core.Aborted(r.err)
	} else if err := d.core.Committed(r.index, d.outcome(r.index)); err == nil {
		failpoint.Hit(failpoint.BatchApplied)
		if f := d.s.cfg.Observe.Commit; f != nil {
			f(time.Since(since))
		}
	} else if errors.Is(err, errDiverged) {
		d.s.cfg.Logger.Error("planning state and committed state differ", "index", r.index, "error", err)
		if d.s.cfg.OnFatal != nil {
			d.s.cfg.OnFatal(exitcode.Diverged, err)
		}
	}
	d.release()
}

// outcome returns the result of the entry at an index. It is nil if the result is unknown, for
// instance after a snapshot was restored.
func (d *driver) outcome(index uint64) *Outcome {
	if d.s.cfg.Outcome == nil {
		return nil
	}
	got, ok := d.s.cfg.Outcome(index)
	if !ok {
		return nil
	}
	return &got
}

// release sends callers the replies that are ready.
func (d *driver) release() {
	for _, r := range d.core.Replies() {
		res := result{reply: r.Reply, index: r.Index, err: r.Err}
		if r.Unconfirmed {
			res.unconfirmed = d.term
		}
		if f := d.s.cfg.Observe.Wait; f != nil && r.Err == nil {
			f(time.Since(r.Caller.since))
		}
		r.Caller.result <- res // the channel has room; the caller may have gone
	}
}

// logFault logs a PlannerFault that ended the leadership.
func (d *driver) logFault(err error) {
	var f *PlannerFault
	if errors.As(err, &f) {
		d.s.cfg.Logger.Error("planning failed, this leadership ends and begins again", "input", f.Input, "fault", f.Value,
			"stack", string(f.Stack))
	}
}
