package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"rmd/workload/report"
)

// patienceMax is the longest virtual time between two rounds of heartbeats while there is demand.
const patienceMax = time.Minute

// Simulate drives the cluster behind cfg.Submitter in virtual time, one call after another, as fast as it answers. The same
// Config and a Submitter that answers alike give the same calls and the same figures (Elapsed apart).
//
// Time that nobody waits in is skipped. A node heartbeats at once when a container on it ended; all nodes heartbeat
// each cfg.Heartbeat while some application waits for something, and after them the waiting AMs have their turns, in
// order of submission. It ends when all jobs are done, or when nothing more can happen: what still waits then is
// counted as unserved.
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
	s := &simulation{w: w, lastRound: -1, told: progress{start: begun, last: begun}, mark: int64(cfg.ProgressEvery)}
	w.exec, w.pace = s, s
	if cfg.Granted != nil {
		s.base = cfg.Granted()
		s.swept = s.base
	}
	s.observe()
	w.begin()
	err := s.run(ctx)
	s.sample()
	s.tell()
	return w.summary(cfg.Clock.Now().Sub(begun)), errors.Join(err, w.verdict())
}

// simulation is the executor and pace of Simulate.
type simulation struct {
	w    *world
	told progress
	mark int64 // virtual time of the next progress

	round     *timer
	lastRound int64
	fruitless int // rounds in a row that changed nothing
	stalled   bool

	freed    bool // there may be grants that nobody was told of
	retry    bool // a refused call may be tried again
	sweeping bool
	base     uint64 // Config.Granted at the start
	swept    uint64 // and at the last sweep
}

// start implements executor: the call is made now, its answer comes after all that is ready already.
func (s *simulation) start(work, done func()) {
	work()
	s.w.loop.soon(done)
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
		case w.over():
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

// roundDue is when Config.Round is called next; never when nobody waits.
func (s *simulation) roundDue() int64 {
	if s.w.cfg.Round == nil || s.w.demand == 0 {
		return math.MaxInt64
	}
	every := int64(s.w.cfg.RoundEvery)
	return (s.w.loop.now/every + 1) * every
}

// arm sets the next round when one is needed: somebody waits, a node has news, or nothing else would ever happen.
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

// nextRound is the first multiple of the interval that is not over and had no round.
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

// beat is one round of heartbeats.
func (s *simulation) beat() {
	w := s.w
	s.lastRound = w.loop.now
	last := len(w.loop.timers) == 0 // nothing runs and nothing is to come
	if s.fruitless++; s.fruitless > w.cfg.StallRounds && last {
		s.stalled = true
		w.log.Warn("nothing more can happen", "waiting", w.counts.waiting, "applications", len(w.live))
		return
	}
	for _, n := range w.nodes {
		if w.demand > 0 || last || len(n.manager.Pending()) > 0 || !n.up {
			n.beat()
		}
	}
	s.freed, s.retry = true, true
}

// sweepDue says whether AMs that wait may have something to hear.
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

// untold says whether the cluster has granted containers that we have not heard of.
func (s *simulation) untold() bool { return s.w.cfg.Granted()-s.base > s.w.delivered }

// sweep gives the waiting applications their turns, each after the answer to the one before.
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
			w.loop.soon(visit)
			return
		}
		s.sweeping = false
	}
	visit()
}

// worth says whether an application has a turn in a sweep.
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

// advance ends a time: its last state is what lasts until the next.
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
		s.w.cfg.OnProgress(s.w.progress(&s.told, s.w.cfg.Clock.Now()))
	}
}

// nodeIdle implements pace: turns come with rounds.
func (s *simulation) nodeIdle(*node) {}

// nodeNews implements pace: what ended at one time is told in one heartbeat, at once; the rest waits for a round.
func (s *simulation) nodeNews(n *node, urgent bool) {
	if !urgent || n.calls || n.down || !n.up || (n.prompt != nil && n.prompt.index >= 0) {
		return
	}
	n.prompt = s.w.loop.after(0, n.beat)
}

// appIdle implements pace: waiting AMs have their turns in sweeps.
func (s *simulation) appIdle(*app) {}

// appNews implements pace.
func (s *simulation) appNews(a *app) { a.wake() }

// happened implements pace: rounds come at the plain interval again.
func (s *simulation) happened(freed bool) {
	s.fruitless = 0
	s.freed = s.freed || freed
	if s.round != nil && s.round.index >= 0 && s.w.cfg.Patience > 0 {
		if at := s.nextRound(int64(s.w.cfg.Heartbeat)); at < s.round.at {
			s.w.loop.cancel(s.round)
		}
	}
}
