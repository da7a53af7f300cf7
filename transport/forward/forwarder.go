package forward

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"rmd/internal/leadership"
	"rmd/internal/outcome"
	"rmd/scheduler/input"
	"rmd/transport/caller"
	"rmd/transport/peer"
)

// Forwarder passes inputs to the leader.
type Forwarder struct {
	cfg   Config
	held  atomic.Int64
	calls atomic.Int64
}

// New returns a forwarder. It also registers the handler for inputs that other replicas forward.
func New(cfg Config) (*Forwarder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	d := &Forwarder{cfg: cfg}
	cfg.Peer.Handle(MethodInput, d.serve)
	return d, nil
}

// Do lets the current leader plan an input. It returns the reply, and an index that this replica
// has applied. An operator's change is recorded in the name of caller.Of(ctx). An idempotency key
// belongs to this caller, so two callers may use the same key. ErrStandby means that nothing
// happened. After ErrUnknownOutcome the caller may repeat the same call. A leader that cannot be
// reached counts as none.
func (d *Forwarder) Do(ctx context.Context, req input.Request) (input.Reply, uint64, error) {
	t := &try{d: d, req: named(ctx, req), started: time.Now()}
	reply, index, err := t.run(ctx)
	if f := d.cfg.Observe.Call; f != nil {
		f(req.Input.Kind(), t.forwarded, t.tries, time.Since(t.started), err)
	}
	return reply, index, err
}

// named adds the caller of ctx to a request that is recorded, and to an idempotency key.
func named(ctx context.Context, req input.Request) input.Request {
	who := caller.Of(ctx)
	if who == (input.Caller{}) {
		return req
	}
	if req.Caller == (input.Caller{}) && input.Operation(req.Input) != "" {
		req.Caller = who
	}
	if req.Key != "" {
		req.Key = input.OwnedKey(req.Key, who.Who)
	}
	return req
}

// Held returns how many calls wait for a leader.
func (d *Forwarder) Held() int { return int(d.held.Load()) }

// serve handles an input that another replica has forwarded.
func (d *Forwarder) serve(ctx context.Context, _ string, b []byte) ([]byte, error) {
	req, err := decodeRequest(b)
	if err != nil {
		a := answer{status: statusVersion}
		if !errors.Is(err, ErrVersion) && !errors.Is(err, input.ErrVersion) && !errors.Is(err, input.ErrKind) {
			a = answer{status: statusRefused, code: string(input.InvalidRequest), text: err.Error()}
		}
		return a.encode(), nil
	}
	reply, index, err := d.cfg.Sequencer.Do(ctx, req)
	a := answerTo(reply, index, err)
	return a.encode(), nil
}

// try is one call of Do, with all its tries.
type try struct {
	d         *Forwarder
	req       input.Request
	started   time.Time
	bytes     []byte // the encoded request; nil before the first forwarding
	tries     int
	forwarded bool
	unknown   bool      // some try may have been executed
	busy      bool      // the last try met a full queue
	trouble   time.Time // since when tries fail; zero before the first failure
	pause     time.Duration
	last      error
}

// run tries until there is an answer or the hold time is over.
func (t *try) run(ctx context.Context) (input.Reply, uint64, error) {
	for {
		leader, changed := t.d.cfg.Leader()
		if t.d.cfg.Refuse && !leader.IsLeader {
			return nil, 0, t.noLeaderError()
		}
		if leader.IsLeader || leader.Address != "" {
			t.tries++
			o := t.tryLeader(ctx, leader, changed)
			if o.kind == verdictDone {
				return t.finish(ctx, o)
			}
			t.note(o)
		} else {
			t.pause = 0 // try the next leader without a pause
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, t.contextError(err)
		}
		if err := t.awaitLeader(ctx, leader, changed); err != nil {
			return nil, 0, err
		}
	}
}

// tryLeader makes one try at a leader.
func (t *try) tryLeader(ctx context.Context, leader leadership.Leadership, changed <-chan struct{}) result {
	if leader.IsLeader {
		reply, index, err := t.d.cfg.Sequencer.Do(ctx, t.req)
		if err == nil {
			return result{reply: reply, index: index}
		}
		switch outcome.Code(err) {
		case codeNotLeader:
			return result{kind: verdictAgain, err: err}
		case codeUnknown:
			return result{kind: verdictUnknown, err: err}
		case codeBusy:
			return result{kind: verdictBusy, pause: outcome.RetryAfter(err), err: err}
		case "":
			if ctx.Err() != nil {
				return result{kind: verdictUnknown, err: err}
			}
		}
		return result{err: err}
	}
	return t.call(ctx, leader, changed)
}

// call forwards the input. It gives up if the leader changes, since a leader that is cut off may
// never answer.
func (t *try) call(ctx context.Context, leader leadership.Leadership, changed <-chan struct{}) result {
	if n := t.d.calls.Add(1); int(n) > t.d.cfg.CallsMax {
		t.d.calls.Add(-1)
		return result{kind: verdictBusy, err: ErrBusy}
	}
	defer t.d.calls.Add(-1)
	if t.bytes == nil {
		t.bytes = encodeRequest(t.req)
	}
	t.forwarded = true
	b, err := t.d.cfg.Peer.CallUntil(ctx, changed, leader.Address, MethodInput, t.bytes)
	if err != nil {
		return failed(err)
	}
	return resultOf(t.req.Input, b)
}

// failed returns what an error of Peer means for the input.
func failed(err error) result {
	switch {
	case errors.Is(err, peer.ErrTooLarge):
		return result{err: &RefusedError{string(input.TooLarge), err.Error()}}
	case errors.Is(err, peer.ErrNotSent):
		return result{kind: verdictAgain, err: err}
	case outcome.Code(err) == codeNoMethod:
		return result{err: ErrVersion}
	}
	return result{kind: verdictUnknown, err: err}
}

// note records the result of a failed try.
func (t *try) note(o result) {
	t.busy = o.kind == verdictBusy
	t.unknown = t.unknown || o.kind == verdictUnknown
	if o.err != nil {
		t.last = o.err
	}
	t.pause = min(max(2*t.pause, t.d.cfg.PauseMin, o.pause), max(t.d.cfg.PauseMax, o.pause))
}

// awaitLeader waits for another leader, or for a pause if there is a leader. An error ends the
// call.
func (t *try) awaitLeader(ctx context.Context, leader leadership.Leadership, changed <-chan struct{}) error {
	if t.trouble.IsZero() {
		t.trouble = time.Now()
	}
	left := t.d.cfg.Hold - time.Since(t.trouble)
	if left <= 0 {
		return t.noLeaderError()
	}
	if n := t.d.held.Add(1); int(n) > t.d.cfg.HeldMax {
		t.d.held.Add(-1)
		t.busy = true
		return t.noLeaderError()
	}
	t.observeHeld()
	defer func() {
		t.d.held.Add(-1)
		t.observeHeld()
	}()
	wait := left
	if leader.IsLeader || leader.Address != "" {
		wait = min(left, t.pause)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return t.contextError(ctx.Err())
	}
	return nil
}

func (t *try) observeHeld() {
	if f := t.d.cfg.Observe.Held; f != nil {
		f(t.d.Held())
	}
}

// noLeaderError returns the error of a call that found no leader in time.
func (t *try) noLeaderError() error {
	err := ErrStandby
	switch {
	case t.unknown:
		err = ErrUnknownOutcome
	case t.busy:
		err = ErrBusy
	}
	if t.last != nil {
		return fmt.Errorf("%w: %w", err, t.last)
	}
	return err
}

// contextError returns the error of a call whose context ended.
func (t *try) contextError(err error) error {
	if t.unknown {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return err
}

// finish returns a reply after this replica has applied what the reply depends on.
func (t *try) finish(ctx context.Context, o result) (input.Reply, uint64, error) {
	if o.err != nil {
		return nil, 0, o.err
	}
	if err := t.d.cfg.WaitApplied(ctx, o.index); err != nil {
		return nil, 0, fmt.Errorf("%w: wait for index %d here: %w", ErrUnknownOutcome, o.index, err)
	}
	return o.reply, o.index, nil
}
