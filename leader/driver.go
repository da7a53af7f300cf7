package leader

import (
	"context"
	"fmt"
	"time"

	"rmd/fsm/event"
	"rmd/internal/point"
)

// office is one leadership's worth of state; its goroutine owns all of it but
// the channels.
type office struct {
	s     *Sequencer
	term  uint64
	queue chan *call

	planner  Planner
	stamp    int64  // milliseconds; never runs backwards
	applied  uint64 // index to which everything planned here is known to be applied
	sequence uint64 // of the next batch

	writer   event.Writer
	open     *batch
	inflight []*batch // oldest first
	handed   chan *batch
	settled  chan *batch
	failure  error // of the first batch that did not end as planned

	timers timers
}

// Lead takes office and holds it until ctx ends or a batch does not end as
// planned; it returns why. term is the one in which this replica was elected.
func (s *Sequencer) Lead(ctx context.Context, term uint64) error {
	s.lead.Lock()
	defer s.lead.Unlock()
	start := time.Now()
	o, err := s.take(ctx, term)
	if err != nil {
		s.observeOffice(false, start, err)
		return fmt.Errorf("take office in term %d: %w", term, err)
	}
	s.observeOffice(true, start, nil)
	s.cfg.Logger.Info("office taken", "term", term, "index", o.applied, "took", time.Since(start))
	err = o.run(ctx)
	o.leave(err)
	s.observeOffice(false, start, err)
	s.cfg.Logger.Info("office left", "term", term, "index", o.applied, "error", err)
	return err
}

// take is: barrier, fork, planner, timers, workers, intake. leave mirrors it.
func (s *Sequencer) take(ctx context.Context, term uint64) (*office, error) {
	// 1. Everything that earlier leaders committed is in the committed state.
	if err := s.cfg.Barrier(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	point.Hit(point.OfficeBarrier)
	// 2. The planning state is a fork of it.
	from := s.cfg.Fork(term)
	planner, err := s.cfg.NewPlanner(from.State)
	if err != nil {
		return nil, fmt.Errorf("planner: %w", err)
	}
	o := &office{
		s: s, term: term, planner: planner, stamp: planner.State().Meta.NowMillis,
		applied: from.Index, sequence: from.Sequence,
		queue:   make(chan *call, s.cfg.QueueMax),
		handed:  make(chan *batch, s.cfg.MaxInFlight),
		settled: make(chan *batch, s.cfg.MaxInFlight),
	}
	o.open = newBatch()
	// 3. Everybody gets a full interval.
	o.timers.arm(planner.State(), s.cfg.Expiry(planner.State()))
	// 4. Workers, then intake.
	go o.commit()
	s.mu.Lock()
	s.queue = o.queue
	s.mu.Unlock()
	s.term.Store(term)
	point.Hit(point.OfficeTaken)
	return o, nil
}

// leave is: intake, workers, the waiting, timers, planning state.
func (o *office) leave(err error) {
	// 4. No more input comes in; then the workers end. What the Log has in hand
	// is waited for: it ends soon once leadership is lost, and what was
	// committed after all is answered as such.
	o.s.term.Store(0)
	o.s.mu.Lock()
	o.s.queue = nil
	o.s.mu.Unlock()
	point.Hit(point.OfficeLeft)
	close(o.queue)
	close(o.handed)
	for b := range o.settled {
		o.settle(b)
	}
	// 3. The open batch was never proposed, nor was what rests on it.
	o.open.fail(ErrNotLeader)
	for c := range o.queue {
		c.answer(result{err: ErrNotLeader})
	}
	// 2. Timers and planning state are dropped.
	o.timers, o.planner = timers{}, nil
}

// run plans and proposes until the office must be left.
func (o *office) run(ctx context.Context) error {
	tick := time.NewTicker(o.s.cfg.TickInterval)
	defer tick.Stop()
	last := time.Now()
	for {
		o.propose()
		// What is applied comes before what is new, so that the Log never waits
		// for planning.
		select {
		case b := <-o.settled:
			o.settle(b)
		default:
		}
		if o.failure != nil {
			return o.failure
		}
		o.propose()
		if o.planDue() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		intake := o.queue
		if o.full() {
			intake = nil // until the Log has room
		}
		select {
		case c := <-intake:
			o.plan(c)
		case b := <-o.settled:
			o.settle(b)
		case now := <-tick.C:
			o.timers.advance(now.Sub(last), o.s.cfg.TickInterval)
			last = now
			o.lookAtTimers()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Sequencer) observeOffice(taken bool, start time.Time, err error) {
	if s.cfg.Observe.Office != nil {
		s.cfg.Observe.Office(taken, time.Since(start), err)
	}
}
