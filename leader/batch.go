package leader

import (
	"errors"
	"fmt"
	"time"

	"rmd/internal/point"
)

// batch is the events of one entry and the replies that wait for it.
type batch struct {
	parked  []parked
	events  int
	decides bool // it holds more than counters of missed offers
	entry   []byte
	digest  uint64 // of the planning state at its close
	since   time.Time
	index   uint64
	err     error
}

// parked is a call whose reply waits.
type parked struct {
	call *call
	res  result
}

func newBatch() *batch { return &batch{} }

// park keeps a reply until the batch is applied.
func (b *batch) park(c *call, r result) {
	if c != nil {
		b.parked = append(b.parked, parked{c, r})
	}
}

// fail answers everybody who waits for the batch with an error.
func (b *batch) fail(err error) {
	for _, p := range b.parked {
		p.call.answer(result{err: err})
	}
	b.parked = nil
}

// answer gives a call its result; the caller may have gone away.
func (c *call) answer(r result) { c.result <- r }

// full says that the open batch takes no more events.
func (o *office) full() bool {
	return o.writer.Count() >= o.s.cfg.BatchEvents || o.writer.Size() >= o.s.cfg.BatchBytes
}

// propose closes the open batch and hands it to the Log, when there is
// something in it and the Log has room.
func (o *office) propose() {
	if o.writer.Count() == 0 || len(o.inflight) >= o.s.cfg.MaxInFlight || o.failure != nil {
		return
	}
	b := o.open
	st := o.planner.State()
	b.events = o.writer.Count()
	b.entry = o.writer.Finish(st.Meta.Level, o.sequence)
	b.digest, b.since = st.Digest(), time.Now()
	o.sequence++
	o.inflight = append(o.inflight, b)
	o.open = newBatch()
	point.Hit(point.BatchClosed)
	o.handed <- b // room for MaxInFlight
	if f := o.s.cfg.Observe.Batch; f != nil {
		f(b.events, len(b.entry), len(b.parked))
	}
	if f := o.s.cfg.Observe.Queue; f != nil {
		f(len(o.queue))
	}
}

// commit hands batches to the Log in order; a second goroutine waits for them
// in the same order. After the first error nothing more is proposed. Both end
// when handed is closed.
func (o *office) commit() {
	type proposed struct {
		b *batch
		f Future
	}
	waiting := make(chan proposed, o.s.cfg.MaxInFlight)
	failed := make(chan struct{})
	go func() {
		defer close(o.settled)
		broken := false
		for p := range waiting {
			if p.f == nil {
				p.b.err = ErrNotLeader
			} else {
				p.b.index, p.b.err = p.f.Wait()
			}
			if p.b.err != nil && !broken {
				broken = true
				close(failed)
			}
			o.settled <- p.b // room for MaxInFlight
		}
	}()
	defer close(waiting)
	for b := range o.handed {
		select {
		case <-failed:
			waiting <- proposed{b: b}
		default:
			f := o.s.cfg.Log.Propose(b.entry)
			point.Hit(point.BatchProposed)
			waiting <- proposed{b, f}
		}
	}
}

// settle deals with a batch that the Log is done with: the oldest in flight.
func (o *office) settle(b *batch) {
	if b == nil {
		return
	}
	o.inflight = o.inflight[1:]
	if b.err == nil {
		b.err = o.verify(b)
	}
	if b.err == nil && o.failure != nil {
		// If the batch before it had no effect the fence has skipped this one, and
		// verify said so. Without Outcome nobody is told a success on a guess.
		b.err = fmt.Errorf("%w: batch at index %d after one that failed", ErrUnknownOutcome, b.index)
	}
	if b.err != nil {
		o.lose(b)
		return
	}
	point.Hit(point.BatchSettled)
	o.applied = b.index
	if f := o.s.cfg.Observe.Commit; f != nil {
		f(time.Since(b.since))
	}
	for _, p := range b.parked {
		p.res.index = b.index
		o.release(p.call, p.res)
	}
	b.parked = nil
}

// verify compares what was planned with what the log led to.
func (o *office) verify(b *batch) error {
	if o.s.cfg.Outcome == nil {
		return nil
	}
	got, ok := o.s.cfg.Outcome(b.index)
	switch {
	case !ok:
		return nil // a snapshot was restored meanwhile
	case got.Skipped:
		return fmt.Errorf("batch at index %d was skipped: %w", b.index, ErrNotLeader)
	case got.Digest == b.digest:
		return nil
	}
	err := fmt.Errorf("%w after index %d: digest %016x, planned %016x", errDiverged, b.index, got.Digest, b.digest)
	o.s.cfg.Logger.Error("planning state and committed state differ", "index", b.index, "error", err)
	if o.s.cfg.OnFatal != nil {
		o.s.cfg.OnFatal(exitDiverged, err)
	}
	return err
}

// lose tells those who wait for a batch that did not end as planned what they
// may think of it.
func (o *office) lose(b *batch) {
	if o.failure == nil {
		o.failure = b.err
	}
	switch {
	case errors.Is(b.err, ErrNotLeader):
		b.fail(ErrNotLeader)
	case errors.Is(b.err, ErrTooLarge):
		b.fail(ErrTooLarge)
	case errors.Is(b.err, ErrPlanner):
		b.fail(ErrPlanner)
	default:
		b.fail(fmt.Errorf("%w: %w", ErrUnknownOutcome, b.err))
	}
}

// release answers a call whose reply may leave.
func (o *office) release(c *call, r result) {
	if c == nil {
		return
	}
	if f := o.s.cfg.Observe.Wait; f != nil {
		f(time.Since(c.since))
	}
	c.answer(r)
}
