package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"rmd/workload/report"
)

// patienceMax is the maximum virtual time between two rounds of heartbeats while applications wait.
const patienceMax = time.Minute

// Simulate drives the cluster behind cfg.Submitter in virtual time, one call after another, as fast
// as the cluster answers. With equal Configs and equal answers it makes the same calls and returns
// the same results, except Elapsed.
//
// It skips time in which no application waits. A node sends a heartbeat immediately when one of its
// containers ends. While an application waits, all nodes send heartbeats in each cfg.Heartbeat, at
// their cfg.Phases, and after them the waiting AMs call in order of submission. Simulate ends when
// all jobs are done, or when nothing more can happen. Containers that still wait then count as
// unserved.
func Simulate(ctx context.Context, cfg Config) (*report.Summary, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Submitter == nil || cfg.Jobs == nil || len(cfg.Nodes) == 0 {
		return nil, errors.New("workload: a simulation needs a submitter, jobs and nodes")
	}
	if cfg.Clock == nil {
		cfg.Clock = SystemClock{}
	}
	w := newWorld(ctx, cfg, 1)
	defer w.stop()
	w.exact = true
	begun := cfg.Clock.Now()
	s := &simulation{w: w, turns: turnsOf(w.nodes, cfg.Phases), lastRound: -1, begun: begun,
		mark: int64(cfg.ProgressEvery)}
	w.exec, w.pace = s, s
	if cfg.Granted != nil {
		s.base = cfg.Granted()
		s.swept = s.base
	}
	s.observe()
	w.registerNodes()
	w.pull()
	err := s.run(ctx)
	s.sample()
	s.tell()
	return w.summary(cfg.Clock.Now().Sub(begun)), errors.Join(err, w.verdict())
}

// simulation is the executor and pace of Simulate.
type simulation struct {
	w     *world
	begun time.Time
	mark  int64 // virtual time of the next OnProgress call

	turns     []turn // in order of time
	round     *timer
	lastRound int64
	fruitless int // number of successive rounds without a change
	stalled   bool

	freed    bool // there may be new allocations for AMs
	retry    bool // refused calls may be repeated
	sweeping bool
	base     uint64 // value of Config.Granted at the start
	swept    uint64 // value of Config.Granted at the last sweep
}

// turn is the heartbeat of a node in a round.
type turn struct {
	node  *node
	after int64 // since the beginning of the round
}

// turnsOf returns the turns of nodes in a round. Nodes with equal phases keep their order.
func turnsOf(nodes []*node, phases []time.Duration) []turn {
	turns := make([]turn, len(nodes))
	for i, n := range nodes {
		turns[i].node = n
		if phases != nil {
			turns[i].after = int64(phases[i])
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.after, b.after) })
	return turns
}

// start implements executor: it makes the call now, and adds the answer after everything that is
// ready.
func (s *simulation) start(work, done func()) {
	work()
	s.w.loop.addReady(done)
}

func (s *simulation) run(ctx context.Context) error {
	w, l := s.w, s.w.loop
	for {
		l.drain()
		switch {
		case w.err != nil || s.stalled:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("simulation ended early: %w", context.Cause(ctx))
		case s.sweepDue():
			s.sweep()
			continue
		case w.finished():
			return nil
		}
		s.arm()
		at, ok := l.next()
		if !ok {
			return nil
		}
		if due := s.roundDue(); due <= at {
			s.advance(due)
			l.now = due
			if w.cfg.Round() {
				s.happened(true)
			}
			continue
		}
		if at > l.now {
			s.advance(at)
		}
		l.fire()
	}
}

// roundDue returns the time of the next call of Config.Round. If no application waits, it returns
// the maximum time.
func (s *simulation) roundDue() int64 {
	if s.w.cfg.Round == nil || s.w.demand == 0 {
		return math.MaxInt64
	}
	every := int64(s.w.cfg.RoundEvery)
	return (s.w.loop.now/every + 1) * every
}

// arm sets the timer of the next round if a round is needed: an application waits, a node has
// statuses to report, or there are no other timers.
func (s *simulation) arm() {
	w := s.w
	if s.round != nil && s.round.index >= 0 {
		return
	}
	if w.demand == 0 && w.news == 0 && len(w.loop.timers) > 0 {
		return
	}
	s.round = w.loop.at(s.nextRound(s.interval()), true, s.beat)
}

// nextRound returns the first multiple of the interval that is not over and after the last round.
func (s *simulation) nextRound(every int64) int64 {
	now := s.w.loop.now
	at := (now + every - 1) / every * every
	if at <= s.lastRound {
		at += every
	}
	return at
}

func (s *simulation) interval() int64 {
	every := int64(s.w.cfg.Heartbeat)
	if p := s.w.cfg.Patience; p > 0 {
		for n := s.fruitless / p; n > 0 && every < int64(patienceMax); n-- {
			every *= 2
		}
	}
	return every
}

// beat begins one round of heartbeats.
func (s *simulation) beat() {
	w := s.w
	s.lastRound = w.loop.now
	last := len(w.loop.timers) == 0 // no container runs and no job is to come
	if s.fruitless++; s.fruitless > w.cfg.StallRounds && last {
		s.stalled = true
		w.log.Warn("nothing more can happen", "waiting", w.counts.waiting, "applications", len(w.live))
		return
	}
	s.take(s.turns, last)
}

// take takes the remaining turns of a round: those that are due now, and the others when they are
// due. A round ends before the next one begins, because phases are shorter than the interval.
func (s *simulation) take(turns []turn, last bool) {
	w := s.w
	for i, t := range turns {
		if at := s.lastRound + t.after; at > w.loop.now {
			w.loop.at(at, true, func() { s.take(turns[i:], last) })
			return
		}
		if n := t.node; w.demand > 0 || last || len(n.manager.Pending()) > 0 || !n.up {
			n.beat()
		}
	}
	s.freed, s.retry = true, true
}

// sweepDue reports whether a call of waiting AMs may have a result.
func (s *simulation) sweepDue() bool {
	switch {
	case s.sweeping:
		return false
	case s.retry:
		return true
	case s.w.cfg.Granted == nil:
		return s.freed
	}
	return s.w.cfg.Granted() != s.swept && s.untold()
}

// untold reports whether the cluster has allocated containers that no AM has received yet.
func (s *simulation) untold() bool { return s.w.cfg.Granted()-s.base > s.w.delivered }

// sweep lets the waiting applications call, each after the answer to the previous one.
func (s *simulation) sweep() {
	w := s.w
	freed, retry := s.freed, s.retry
	s.sweeping, s.freed, s.retry = true, false, false
	if w.cfg.Granted != nil {
		s.swept = w.cfg.Granted()
	}
	forced := retry && len(w.loop.timers) == 0
	ordinal := 0
	var visit func()
	visit = func() {
		for i, _ := w.find(ordinal); i < len(w.live); i++ {
			a := w.live[i]
			if !s.worth(a, freed, retry, forced) {
				continue
			}
			ordinal = a.ordinal + 1
			a.step()
			a.account()
			w.loop.addReady(visit)
			return
		}
		s.sweeping = false
	}
	visit()
}

// worth reports whether an application calls during a sweep.
func (s *simulation) worth(a *app, freed, retry, forced bool) bool {
	switch {
	case a.calls:
		return false
	case a.phase == phaseRegistering || a.phase == phaseLost:
		return retry
	case a.phase == phaseRunning:
		if forced || !a.demanding || s.w.cfg.Granted == nil {
			return forced || (a.demanding && freed)
		}
		return s.untold()
	}
	return false
}

// advance finishes the current time before the clock moves to to. The last state of the current
// time is valid until then.
func (s *simulation) advance(to int64) {
	m := s.w.meter
	if (m.changed || s.w.cfg.Observe != nil) && m.due(s.w.loop.now) {
		s.sample()
	}
	if to >= s.mark {
		s.tell()
		s.mark = (to/int64(s.w.cfg.ProgressEvery) + 1) * int64(s.w.cfg.ProgressEvery)
	}
	if s.w.cfg.Advance != nil {
		s.w.cfg.Advance(time.Duration(to))
	}
}

func (s *simulation) sample() {
	s.observe()
	s.w.sample()
}

func (s *simulation) observe() {
	if ask := s.w.cfg.Observe; ask != nil {
		if o, err := ask(s.w.ctx); err == nil {
			s.w.meter.observe(o)
		}
	}
}

func (s *simulation) tell() {
	if s.w.cfg.OnProgress != nil {
		s.w.cfg.OnProgress(s.w.progress(s.begun, s.w.cfg.Clock.Now()))
	}
}

// nodeIdle implements pace. It does nothing: nodes call in rounds.
func (s *simulation) nodeIdle(*node) {}

// nodeNews implements pace: one immediate heartbeat reports the ends of one time. Other statuses
// wait for a round.
func (s *simulation) nodeNews(n *node, urgent bool) {
	if !urgent || n.calls || n.down || !n.up || (n.prompt != nil && n.prompt.index >= 0) {
		return
	}
	n.prompt = s.w.loop.after(0, n.beat)
}

// appIdle implements pace. It does nothing: waiting AMs call in sweeps.
func (s *simulation) appIdle(*app) {}

// appNews implements pace.
func (s *simulation) appNews(a *app) { a.wake() }

// happened implements pace: rounds follow at the normal interval again.
func (s *simulation) happened(freed bool) {
	s.fruitless = 0
	s.freed = s.freed || freed
	if s.round != nil && s.round.index >= 0 && s.w.cfg.Patience > 0 {
		if at := s.nextRound(int64(s.w.cfg.Heartbeat)); at < s.round.at {
			s.w.loop.cancel(s.round)
		}
	}
}
