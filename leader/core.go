package leader

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// CoreConfig holds the bounds and rules of a leadership that need no clock and no goroutine.
type CoreConfig struct {
	// Expiry reads the intervals from the configuration in force.
	Expiry func(*state.State) Expiry
	// Due reports whether an input.Tick is due for a reason that this package does not know.
	// Nil: there is none.
	Due func(st *state.State, nowMillis int64) bool
	// BatchEvents and BatchBytes close a batch.
	BatchEvents, BatchBytes int
	// MaxInFlight is how many batches may be proposed and not applied yet: 1 or 2.
	MaxInFlight int
	// TickInterval is how often Tick is called.
	TickInterval time.Duration
}

// Core is one leadership as a step machine, as RawNode is one node of etcd's Raft. It has no
// channel, goroutine, lock or clock. A driver passes in inputs, time and what became of batches;
// after each call it takes what the call led to: Replies to release and a batch to Propose.
//
// C is the driver's type of a caller. A Core returns the callers that it was given and does not
// look at them.
//
// Replies leave in the order in which their inputs were planned.
type Core[C any] struct {
	cfg     CoreConfig
	planner Planner

	stamp    int64  // of the newest input planned, Unix milliseconds; never runs backwards
	applied  uint64 // index of the newest batch applied here; the fork's before the first
	sequence uint64 // number of the next batch

	writer   event.Writer // the events of the open batch
	open     *batch[C]    // not proposed yet
	inflight []*batch[C]  // proposed and not applied yet, oldest first

	replies  []Reply[C] // may leave and were not taken by the driver yet
	released []Reply[C] // those that the driver took last
	err      error      // why this leadership must end; nil while it goes on

	timers timers
}

// Reply is the answer to one caller's input.
type Reply[C any] struct {
	Caller *C
	Reply  input.Reply
	Index  uint64 // up to which this replica has applied all that the reply rests on
	Err    error  // instead of Reply
	// Unconfirmed marks a refusal that rests on no batch. A deposed leader would give it too, so
	// the driver confirms that this replica still leads before it gives it to the caller.
	Unconfirmed bool
}

// Proposal is a batch for the log.
type Proposal struct {
	Entry  []byte
	Events int
}

// batch is the events of one entry with the replies that wait for it.
type batch[C any] struct {
	waiters     []Reply[C]
	needsCommit bool   // it holds more than counters of missed offers
	digest      uint64 // of the planning state when the batch was closed
}

// PlannerFault is a panic of the planner.
type PlannerFault struct {
	Input string // type of the input that led to it
	Value any    // that it panicked with
	Stack []byte
}

// Error names the input and the panic's value.
func (f *PlannerFault) Error() string { return fmt.Sprintf("planning %s: %v", f.Input, f.Value) }

// NewCore begins a leadership. The planner's state is a fork of the state committed at start.Index;
// every node and attempt gets a full interval.
func NewCore[C any](cfg CoreConfig, planner Planner, start Start) *Core[C] {
	c := &Core[C]{cfg: cfg, planner: planner, applied: start.Index, sequence: start.Sequence, open: &batch[C]{}}
	c.timers.arm(c.State(), cfg.Expiry(c.State()))
	return c
}

// State is the planning state: the committed state and all that is planned on it. It is for
// reading, and changes with Step.
func (c *Core[C]) State() *state.State { return c.planner.State() }

// Stamp is the time of the newest input, by this leader or another. No later one has an earlier
// time.
func (c *Core[C]) Stamp() int64 { return max(c.stamp, c.State().Meta.NowMillis) }

// Applied is the index up to which all that this leadership planned is known to be applied.
func (c *Core[C]) Applied() uint64 { return c.applied }

// Err is why this leadership must end: the first batch that was not applied as planned, or a
// PlannerFault. Nothing is planned or proposed after it.
func (c *Core[C]) Err() error { return c.err }

// Full reports whether the open batch takes no more events. The driver keeps inputs back until
// Propose has taken it.
func (c *Core[C]) Full() bool {
	return c.writer.Count() >= c.cfg.BatchEvents || c.writer.Size() >= c.cfg.BatchBytes
}

// Idle reports whether everything planned is applied.
func (c *Core[C]) Idle() bool { return c.writer.Count() == 0 && len(c.inflight) == 0 }

// Step plans one input and adds its events to the open batch. The reply is released at once when
// it rests on nothing that must be committed first. caller is nil when nobody waits for a reply.
func (c *Core[C]) Step(nowMillis int64, caller *C, req input.Request) {
	if c.err != nil {
		c.release(Reply[C]{Caller: caller, Err: ErrNotLeader})
		return
	}
	c.stamp = max(nowMillis, c.Stamp())
	reply, events, err := c.plan(req)
	if err != nil {
		c.err = err
		c.release(Reply[C]{Caller: caller, Err: ErrPlanner})
		return
	}
	for _, e := range events {
		c.writer.Append(e)
		c.timers.follow(c.State(), e)
	}
	if r, ok := reply.(*input.NodeHeartbeatReply); !ok || !r.Late { // a late copy does not show that the node lives
		c.Touch(req.Input)
	}
	c.open.needsCommit = c.open.needsCommit || needsCommit(req.Input, reply, events)
	if caller == nil {
		return
	}
	if b := c.restsOn(); b != nil {
		b.waiters = append(b.waiters, Reply[C]{Caller: caller, Reply: reply})
		return
	}
	c.release(Reply[C]{Caller: caller, Reply: reply, Index: c.applied, Unconfirmed: reply.Refused() != nil})
}

// Touch notes that the sender of an input lives. Step does so; the driver does for an input that
// is not planned because its caller has gone.
func (c *Core[C]) Touch(in input.Input) { c.timers.touch(c.State(), in) }

// Tick lets time pass and collects what it made due.
func (c *Core[C]) Tick(nowMillis int64, elapsed time.Duration) {
	c.timers.tick(c.State(), c.cfg, max(nowMillis, c.Stamp()), elapsed)
}

// Due returns the next input that time has made due, for the driver to Step; nil when there is
// none or the open batch is full. The driver adds the entropy of an input.Tick.
func (c *Core[C]) Due() input.Input {
	if c.err != nil || c.Full() {
		return nil
	}
	return c.timers.next(c.State())
}

// Propose closes the open batch. It returns false when the batch is empty, when MaxInFlight
// batches are under way, or after a failure. The driver proposes batches in this order, and calls
// Committed or Aborted for each in this order.
func (c *Core[C]) Propose() (Proposal, bool) {
	if c.writer.Count() == 0 || len(c.inflight) >= c.cfg.MaxInFlight || c.err != nil {
		return Proposal{}, false
	}
	st := c.State()
	p := Proposal{Events: c.writer.Count(), Entry: c.writer.Finish(st.Meta.Level, c.sequence)}
	c.open.digest = st.Digest()
	c.sequence++
	c.inflight = append(c.inflight, c.open)
	c.open = &batch[C]{}
	return p, true
}

// Committed tells that the oldest batch in flight is applied on this replica at index, and what
// that led to; nil when the outcome is not known. It releases the replies that wait for the batch,
// with an error when the batch was not applied as planned, and returns that error.
func (c *Core[C]) Committed(index uint64, got *Outcome) error {
	err := c.inflight[0].verify(index, got)
	if err == nil && c.err != nil {
		// If the batch before this one had no effect, the fence has skipped this one, and verify
		// reported that. Without an outcome nobody is told a success on a guess.
		err = fmt.Errorf("%w: batch at index %d after one that failed", ErrUnknownOutcome, index)
	}
	if err != nil {
		c.Aborted(err)
		return err
	}
	for _, r := range c.oldest().waiters {
		r.Index = index
		c.release(r)
	}
	c.applied = index
	return nil
}

// Aborted tells that the oldest batch in flight is not known to be applied as planned. Its waiters
// learn whether nothing happened or nobody knows.
func (c *Core[C]) Aborted(err error) {
	if c.err == nil {
		c.err = err
	}
	c.abort(c.oldest(), callerError(err))
}

// Stop ends the leadership. The open batch was never proposed, so its inputs had no effect; what
// becomes of batches that are still in flight is not known.
func (c *Core[C]) Stop() {
	for len(c.inflight) > 0 {
		c.abort(c.oldest(), ErrUnknownOutcome)
	}
	c.abort(c.open, ErrNotLeader)
	if c.err == nil {
		c.err = ErrNotLeader
	}
}

// Replies returns the replies that may leave, in order, each once. The slice is good until the next
// call of Replies.
func (c *Core[C]) Replies() []Reply[C] {
	if len(c.replies) == 0 {
		return nil
	}
	clear(c.released) // their callers are answered and may be freed
	c.replies, c.released = c.released[:0], c.replies
	return c.released
}

// release hands a reply to the driver.
func (c *Core[C]) release(r Reply[C]) {
	if r.Caller != nil {
		c.replies = append(c.replies, r)
	}
}

// oldest takes the oldest batch out of flight.
func (c *Core[C]) oldest() *batch[C] {
	b := c.inflight[0]
	c.inflight = slices.Delete(c.inflight, 0, 1)
	return b
}

// abort gives everybody who waits for a batch an error.
func (c *Core[C]) abort(b *batch[C], err error) {
	for _, r := range b.waiters {
		c.release(Reply[C]{Caller: r.Caller, Err: err})
	}
	b.waiters = nil
}

// restsOn is the newest batch that is not applied yet and must be committed before anybody learns
// of it; nil when there is none.
func (c *Core[C]) restsOn() *batch[C] {
	if c.open.needsCommit {
		return c.open
	}
	for i := len(c.inflight) - 1; i >= 0; i-- {
		if c.inflight[i].needsCommit {
			return c.inflight[i]
		}
	}
	return nil
}

// plan plans an input. After a panic of the planner the planning state cannot be trusted: the
// leadership ends, and the next one begins on a new fork without that input.
func (c *Core[C]) plan(req input.Request) (reply input.Reply, events []event.Event, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PlannerFault{Input: fmt.Sprintf("%T", req.Input), Value: v, Stack: debug.Stack()}
		}
	}()
	reply, events = c.planner.Plan(c.stamp, req)
	return reply, events, nil
}

// verify compares what was planned with what the log led to.
func (b *batch[C]) verify(index uint64, got *Outcome) error {
	switch {
	case got == nil || !got.Skipped && got.Digest == b.digest:
		return nil
	case got.Skipped:
		return fmt.Errorf("batch at index %d was skipped: %w", index, ErrNotLeader)
	}
	return fmt.Errorf("%w after index %d: digest %016x, planned %016x", errDiverged, index, got.Digest, b.digest)
}

// callerError is what the waiters of a batch learn when it ends with err.
func callerError(err error) error {
	for _, known := range []error{ErrNotLeader, ErrTooLarge, ErrPlanner} {
		if errors.Is(err, known) {
			return known
		}
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

// needsCommit reports whether what an input led to must be committed before anybody learns of it:
// all but what only counts, and of that too what orders a node to end containers.
func needsCommit(in input.Input, reply input.Reply, events []event.Event) bool {
	return len(events) > 0 && (ordersKill(reply) || !onlyCounts(in, events))
}

// onlyCounts reports whether an input is a heartbeat of a node, or a batch of them, after which
// nothing but counters of missed offers has moved. Its reply carries no order and acknowledges no
// report, so it need not wait until the counters are durable: a reserved node would otherwise wait
// for the disk at each of its heartbeats.
func onlyCounts(in input.Input, events []event.Event) bool {
	switch in.(type) {
	case *input.NodeHeartbeat, *input.NodesHeard:
	default:
		return false
	}
	for _, e := range events {
		switch e.(type) {
		case *event.AskCountersUpdated, *event.AskMissesUpdated, *event.TimeAdvanced:
		default:
			return false
		}
	}
	return true
}

// ordersKill reports whether a reply orders a node to end containers: it waits even when only the
// clock has moved.
func ordersKill(r input.Reply) bool {
	hb, ok := r.(*input.NodeHeartbeatReply)
	return ok && len(hb.Kill) > 0
}
