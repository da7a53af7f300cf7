package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rmd/workload/report"
	"rmd/workload/submit"
)

// leaveTime limits the cleanup after a run.
const leaveTime = 5 * time.Second

// Run drives the cluster in real time until all jobs are done or ctx ends. If ctx ends first, Run
// returns the summary of the run so far together with the error of ctx.
func Run(ctx context.Context, cfg Config) (*report.Summary, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Submitter == nil {
		dc := submit.DefaultConfig()
		dc.Addrs, dc.Token, dc.TLS, dc.Logger = cfg.Addrs, cfg.Token, cfg.TLS, cfg.Logger
		d, err := submit.Open(dc)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		cfg.Submitter = d
	}
	if cfg.Clock == nil {
		cfg.Clock = SystemClock{}
	}
	calls, cancel := context.WithCancel(ctx)
	defer cancel()
	w := newWorld(calls, cfg, cfg.Speed)
	defer w.stop()
	x := &live{w: w, ctx: calls, clock: cfg.Clock, begun: cfg.Clock.Now(), done: make(chan func(), cfg.MaxCalls+1)}
	w.exec, w.pace = x, x
	w.registerNodes()
	x.observe()
	x.sampling()
	x.reportProgress()
	err := x.loop(ctx)
	x.finish(ctx, cancel)
	return w.summary(cfg.Clock.Now().Sub(x.begun)), errors.Join(err, w.verdict())
}

// live is the executor and pace of Run. The loop's goroutine owns its fields.
type live struct {
	w     *world
	ctx   context.Context
	clock Clock
	begun time.Time

	registers int           // the first node that has not registered yet
	pulled    bool          // the first job was taken
	under     int           // number of calls in flight
	backlog   []pendingCall // calls that wait because of MaxCalls, oldest first
	done      chan func()   // has room for all calls and the observation, so sending never blocks
	observing bool
	wg        sync.WaitGroup
}

type pendingCall struct{ work, done func() }

// start implements executor.
func (x *live) start(work, done func()) {
	if x.under >= x.w.cfg.MaxCalls {
		x.backlog = append(x.backlog, pendingCall{work, done})
		return
	}
	x.under++
	x.wg.Go(func() {
		work()
		x.done <- func() {
			x.under--
			done()
			x.refill()
		}
	})
}

func (x *live) refill() {
	for len(x.backlog) > 0 && x.under < x.w.cfg.MaxCalls {
		c := x.backlog[0]
		x.backlog[0] = pendingCall{}
		x.backlog = x.backlog[1:]
		x.start(c.work, c.done)
	}
}

// loop runs everything that is due until all jobs are done.
func (x *live) loop(ctx context.Context) error {
	l := x.w.loop
	for {
		l.now = max(l.now, int64(x.clock.Now().Sub(x.begun)))
		l.drain()
		x.pullWhenRegistered()
		for at, ok := l.next(); ok && at <= l.now && ctx.Err() == nil; at, ok = l.next() {
			l.fire()
			l.drain()
		}
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("workload ended early: %w", context.Cause(ctx))
		case x.w.err != nil || x.w.finished():
			return nil
		}
		x.await(ctx)
	}
}

// pullWhenRegistered takes the first job when all nodes have registered. Before that, the cluster
// might refuse it: nobody may ask for more than the largest node.
func (x *live) pullWhenRegistered() {
	nodes := x.w.nodes
	for x.registers < len(nodes) && (nodes[x.registers].up || nodes[x.registers].down) {
		x.registers++
	}
	if x.registers == len(nodes) && !x.pulled {
		x.pulled = true
		x.w.pull()
	}
}

// await waits for an answer, the next timer or the end.
func (x *live) await(ctx context.Context) {
	var due <-chan time.Time
	if at, ok := x.w.loop.next(); ok {
		c, stop := x.clock.Timer(time.Duration(at - x.w.loop.now))
		defer stop()
		due = c
	}
	select {
	case fn := <-x.done:
		x.w.loop.addReady(fn)
		for range len(x.done) {
			x.w.loop.addReady(<-x.done)
		}
	case do := <-x.w.cfg.Control.ordered():
		x.w.loop.addReady(func() { do(x.w) })
	case <-due:
	case <-ctx.Done():
	}
}

// sampling records the utilization of the cluster repeatedly.
func (x *live) sampling() {
	x.w.sample()
	x.observe()
	x.w.loop.after(time.Duration(x.w.meter.every), x.sampling)
}

// observe reads the cluster's reservations, unless a read is in progress.
func (x *live) observe() {
	ask := x.w.cfg.Observe
	if ask == nil || x.observing {
		return
	}
	x.observing = true
	x.wg.Go(func() {
		o, err := ask(x.ctx)
		x.done <- func() {
			x.observing = false
			if err == nil {
				x.w.meter.observe(o)
			}
		}
	})
}

func (x *live) reportProgress() {
	if x.w.cfg.OnProgress == nil {
		return
	}
	x.w.loop.after(x.w.cfg.ProgressEvery, func() {
		x.w.cfg.OnProgress(x.w.progress(x.begun, x.clock.Now()))
		x.reportProgress()
	})
}

// nodeIdle implements pace: the node calls at its own phase of the interval, so that calls are
// spread.
func (x *live) nodeIdle(n *node) {
	if n.down || (n.timer != nil && n.timer.index >= 0) {
		return
	}
	every := int64(x.w.cfg.Heartbeat)
	phase := every * int64(n.place) / int64(len(x.w.nodes))
	now := x.w.loop.now
	at := now - (now-phase)%every + every
	if now < phase {
		at = phase
	}
	n.timer = x.w.loop.at(at, false, n.beat)
}

// nodeNews implements pace: one heartbeat reports all changes of one time.
func (x *live) nodeNews(n *node, _ bool) {
	if !x.w.cfg.Prompt || n.calls || n.down || !n.up || (n.prompt != nil && n.prompt.index >= 0) {
		return
	}
	n.prompt = x.w.loop.after(0, n.beat)
}

// appIdle implements pace: an AM calls once in each interval.
func (x *live) appIdle(a *app) {
	if a.phase == phaseWaiting || (a.timer != nil && a.timer.index >= 0) {
		return
	}
	a.timer = x.w.loop.after(x.w.cfg.AMHeartbeat, func() { a.step(); a.account() })
}

// appNews implements pace.
func (x *live) appNews(a *app) {
	if x.w.cfg.Prompt {
		a.wake()
	}
}

// happened implements pace.
func (x *live) happened(bool) {}
