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

// Limits of BusyError.RetryAfter.
const (
	retryMin = 10 * time.Millisecond
	retryMax = 2 * time.Second
)

// Sequencer takes inputs while this replica leads.
type Sequencer struct {
	cfg   Config
	clock *Clock // stamps inputs; it continues between two leaderships

	mu    sync.RWMutex  // locked for writing only to set queue
	queue chan *call    // nil while this replica does not lead
	lead  sync.Mutex    // one leadership at a time
	pace  atomic.Int64  // moving average of the time to plan one input, in nanoseconds
	term  atomic.Uint64 // of the leadership; 0 while there is none

	progress progress
}

// call is one call of Do.
type call struct {
	ctx    context.Context
	req    input.Request
	since  time.Time
	result chan result // capacity 1
}

type result struct {
	reply input.Reply
	index uint64
	err   error
	// unconfirmed is the term of a leader that refuses an input and may have been deposed. 0 means
	// that the reply needs no confirmation.
	unconfirmed uint64
}

// New returns a sequencer that does not lead yet.
func New(cfg Config) (*Sequencer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	clock := NewClock(cfg.Now, cfg.Elapsed, cfg.Logger)
	clock.observe, clock.sure = cfg.Observe.Clock, cfg.Sure
	return &Sequencer{cfg: cfg, clock: clock}, nil
}

// Do plans one input. It returns the reply, and the index up to which this replica has applied
// everything that the reply depends on. If ctx ends first, the outcome is unknown to the caller.
// The inputs of all ports and of other replicas pass through Do, so Do refuses inputs that exceed
// the limits.
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

// enqueue adds a call to the queue. It returns ErrNotLeader or a *BusyError if it cannot.
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

// retryAfter estimates when half of a full queue will be planned.
func (s *Sequencer) retryAfter() time.Duration {
	d := time.Duration(s.pace.Load()) * time.Duration(s.cfg.QueueMax/2+1)
	return min(max(d, retryMin), retryMax)
}

// Leading reports whether this replica accepts inputs, and in which term.
func (s *Sequencer) Leading() (term uint64, ok bool) {
	term = s.term.Load()
	return term, term != 0
}

// Waiting returns the number of inputs that wait to be planned.
func (s *Sequencer) Waiting() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.queue)
}

// Leadership is the leader and the term, as package cluster reports them.
type Leadership = leadership.Leadership

// Run leads in every term in which this replica is the leader, until ctx ends or changes is closed.
// If a leadership ends and the term does not, a new leadership begins in the same term.
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

// start leads in a term in a new goroutine. The returned function ends the leadership and waits for
// its end.
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

// serve begins a leadership again until the term ends.
func (s *Sequencer) serve(ctx context.Context, term uint64) {
	defer s.progress.stage.Store(stageNone)
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
