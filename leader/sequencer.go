package leader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"rmd/internal/leadership"
	"rmd/scheduler/input"
)

// Bounds of the retry hint of a BusyError.
const (
	retryMin = 10 * time.Millisecond
	retryMax = 2 * time.Second
)

// Sequencer takes inputs while this replica leads.
type Sequencer struct {
	cfg   Config
	clock *Clock // stamps inputs; it goes on between two leaderships

	mu    sync.RWMutex  // held for writing only to open and close the queue
	queue chan *call    // nil while this replica does not lead
	lead  sync.Mutex    // one leadership at a time
	pace  atomic.Int64  // nanoseconds that one input took lately
	term  atomic.Uint64 // of the leadership; 0 while there is none
}

// call is one input on its way.
type call struct {
	ctx    context.Context
	req    input.Request
	since  time.Time
	result chan result // room for one
}

type result struct {
	reply input.Reply
	index uint64
	err   error
	// unconfirmed is the term of a leader that refuses by what it knows and may have been deposed;
	// 0: the reply needs no confirmation.
	unconfirmed uint64
}

// New returns a sequencer that does not lead yet.
func New(cfg Config) (*Sequencer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Sequencer{cfg: cfg, clock: NewClock(cfg.Now, cfg.Elapsed, cfg.Logger)}, nil
}

// Do plans one input and returns its reply once everything that it rests on is
// applied here, with the index to which that is so. When ctx ends first the
// outcome is unknown to the caller. Every port's inputs and those of other replicas
// come this way, so what is out of bounds is refused here.
func (s *Sequencer) Do(ctx context.Context, req input.Request) (input.Reply, uint64, error) {
	if fault := input.Check(req); fault != nil {
		return input.Refuse(req.Input, fault), 0, nil
	}
	c := &call{ctx: ctx, req: req, since: time.Now(), result: make(chan result, 1)}
	if err := s.enqueue(c); err != nil {
		return nil, 0, err
	}
	select {
	case r := <-c.result:
		if r.unconfirmed != 0 && s.cfg.Confirm != nil {
			if err := s.cfg.Confirm(ctx, r.unconfirmed); err != nil {
				return nil, 0, fmt.Errorf("%w: %w", ErrNotLeader, err) // nothing has happened
			}
		}
		return r.reply, r.index, r.err
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// enqueue puts a call in the queue, or says why not.
func (s *Sequencer) enqueue(c *call) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.queue == nil {
		return ErrNotLeader
	}
	select {
	case s.queue <- c:
		return nil
	default:
		return &BusyError{RetryAfter: s.retryAfter()}
	}
}

// retryAfter guesses when half of the queue will be done.
func (s *Sequencer) retryAfter() time.Duration {
	d := time.Duration(s.pace.Load()) * time.Duration(s.cfg.QueueMax/2+1)
	return min(max(d, retryMin), retryMax)
}

// Leading reports whether inputs are taken here, and in which term.
func (s *Sequencer) Leading() (term uint64, ok bool) {
	term = s.term.Load()
	return term, term != 0
}

// Waiting is how many inputs wait to be planned.
func (s *Sequencer) Waiting() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.queue)
}

// Leadership is who leads, as the consensus part reports it.
type Leadership = leadership.Leadership

// Run leads in every term in which this replica does, until ctx ends or changes
// is closed. A leadership that ended while the term goes on begins again.
func (s *Sequencer) Run(ctx context.Context, changes <-chan Leadership) error {
	var now Leadership
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case l, ok := <-changes:
			if !ok {
				return nil
			}
			if l == now {
				continue
			}
			stop()
			now, stop = l, func() {}
			if l.IsLeader {
				stop = s.start(ctx, l.Term)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// start leads in a term until the func returned is called, which waits for the
// leadership to end.
func (s *Sequencer) start(ctx context.Context, term uint64) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.serve(ctx, term)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// serve leads as long as a term lasts.
func (s *Sequencer) serve(ctx context.Context, term uint64) {
	for ctx.Err() == nil {
		err := s.Lead(ctx, term)
		if ctx.Err() != nil || errors.Is(err, errDiverged) {
			return
		}
		s.cfg.Logger.Debug("leadership will begin again", "term", term, "error", err)
		select {
		case <-time.After(s.cfg.RetryInterval):
		case <-ctx.Done():
		}
	}
}
