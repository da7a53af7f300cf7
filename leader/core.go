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

// CoreConfig has the limits and rules of a leadership that need neither a clock nor a goroutine.
type CoreConfig struct {
	// Expiry returns the intervals from the configuration in force.
	Expiry func(*state.State) Expiry
	// BatchEvents and BatchBytes are the sizes at which a batch is full.
	BatchEvents, BatchBytes int
	// MaxInFlight is the maximum number of batches that are proposed and not applied yet: 1 or 2.
	MaxInFlight int
	// TickInterval is the interval at which Tick is called.
	TickInterval time.Duration
}

// Core is one leadership as a state machine, as RawNode is one node of etcd's Raft. It has no
// channel, goroutine, lock or clock. A driver passes inputs, time and the outcomes of batches to
// it. After each call, the driver takes the Replies to release and the batch to Propose.
//
// C is the driver's type of a caller. A Core returns the callers that it was given and does not use
// them otherwise.
//
// Replies are released in the order in which their inputs were planned.
type Core[C any] struct {
	cfg     CoreConfig
	planner Planner

	stamp    int64  // of the newest planned input, in Unix milliseconds; it never goes back
	applied  uint64 // index of the newest batch that is applied here; before the first one, that of the fork
	sequence uint64 // number of the next batch

	writer   event.Writer // the events of the open batch
	open     *batch[C]    // not proposed yet
	inflight []*batch[C]  // proposed and not applied yet, oldest first

	replies  []Reply[C] // ready and not yet taken by the driver
	released []Reply[C] // those that the driver took last; their memory is reused
	err      error      // the reason why this leadership must end, or nil

	timers timers
}

// Reply is the answer to one caller's input.
type Reply[C any] struct {
	Caller *C
	Reply  input.Reply
	Index  uint64 // this replica has applied everything that the reply depends on, up to this index
	Err    error  // instead of Reply
	// Unconfirmed marks a refusal that depends on no batch. A deposed leader would give it too. The
	// driver must confirm that this replica still leads before the caller gets it.
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
	needsCommit bool   // it has events other than counters of missed offers
	digest      uint64 // of the planning state when the batch was closed
}

// PlannerFault is an error for a panic of the planner.
type PlannerFault struct {
	Input string // type of the input, or "deadlines" for Planner.Due
	Value any    // value of the panic
	Stack []byte
}

// Error returns the type of the input and the value of the panic.
func (f *PlannerFault) Error() string { return fmt.Sprintf("planning %s: %v", f.Input, f.Value) }

// NewCore begins a leadership. The planner's state is a fork of the state committed at start.Index.
// Every node and every attempt gets a full expiry interval.
func NewCore[C any](cfg CoreConfig, planner Planner, start Start) *Core[C] {
	c := &Core[C]{cfg: cfg, planner: planner, applied: start.Index, sequence: start.Sequence, open: &batch[C]{}}
	e := cfg.Expiry(c.State())
	c.timers.arm(c.State(), e)
	c.timers.silence.arm(c.State(), e.SilentMillis)
	return c
}

// State returns the planning state: the committed state and everything that is planned on it. The
// caller may only read it. Step changes it.
func (c *Core[C]) State() *state.State { return c.planner.State() }

// Stamp returns the time of the newest input, by this leader or another. No later input has an
// earlier time.
func (c *Core[C]) Stamp() int64 { return max(c.stamp, c.State().Meta.NowMillis) }

// Applied returns the index up to which everything planned by this leadership is known to be
// applied.
func (c *Core[C]) Applied() uint64 { return c.applied }

// Err returns the reason why this leadership must end: the first batch that was not applied as
// planned, or a PlannerFault. Nothing is planned or proposed after it.
func (c *Core[C]) Err() error { return c.err }

// Full reports whether the open batch is full. The driver must not call Step until Propose has
// closed the batch.
func (c *Core[C]) Full() bool {
	return c.writer.Count() >= c.cfg.BatchEvents || c.writer.Size() >= c.cfg.BatchBytes
}

// Idle reports whether everything planned is applied.
func (c *Core[C]) Idle() bool { return c.writer.Count() == 0 && len(c.inflight) == 0 }

// Step plans one input and adds its events to the open batch. If the reply depends on no
// uncommitted batch, it is released at once. caller is nil if nobody waits for a reply.
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
	}
	changes := c.planner.Changes()
	for i := range changes {
		c.timers.follow(c.State(), &changes[i])
	}
	if r, ok := reply.(*input.NodeHeartbeatReply); !ok || !r.Late { // a late copy does not show that the node is alive
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

// Touch records that the sender of an input is alive. Step calls it. The driver calls it for an
// input that it does not plan because the caller has gone.
func (c *Core[C]) Touch(in input.Input) { c.timers.touch(c.State(), in) }

// Tick advances the time by elapsed and collects the timers that have run out and the deadlines that
// have passed.
func (c *Core[C]) Tick(nowMillis int64, elapsed time.Duration) {
	if c.err != nil {
		return
	}
	now := max(nowMillis, c.Stamp())
	c.timers.tick(c.State(), c.cfg, now, elapsed, !c.Full())
	c.err = guard("deadlines", func() { c.timers.deadlines = c.planner.Due(now) })
}

// Due returns the next input that time has made due, or nil if there is none or the open batch is
// full. The driver must Step it, and add the entropy of an input.Tick.
func (c *Core[C]) Due() input.Input {
	if c.err != nil || c.Full() {
		return nil
	}
	return c.timers.next(c.State())
}

// Propose closes the open batch and returns it. It returns false if the batch is empty, if
// MaxInFlight batches are in flight, or after an error. The driver must propose the batches, and
// call Committed or Aborted for each, in this order.
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

// Committed tells the Core that the oldest batch in flight is applied on this replica at index. got
// is the outcome, or nil if it is unknown. Committed releases the replies that wait for the batch.
// If the batch was not applied as planned, it returns an error and releases the replies with an
// error.
func (c *Core[C]) Committed(index uint64, got *Outcome) error {
	err := c.inflight[0].verify(index, got)
	if err == nil && c.err != nil {
		// If the batch before this one had no effect, the fence has skipped this one, and verify
		// has returned an error. Without an outcome, this is unknown, so no caller may learn of a
		// success.
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

// Aborted tells the Core that the oldest batch in flight may not be applied as planned. Its waiters
// learn that nothing happened or that the outcome is unknown.
func (c *Core[C]) Aborted(err error) {
	if c.err == nil {
		c.err = err
	}
	c.abort(c.oldest(), callerError(err))
}

// Stop ends the leadership. The open batch was never proposed, so its inputs had no effect. The
// outcome of batches in flight is unknown.
func (c *Core[C]) Stop() {
	for len(c.inflight) > 0 {
		c.abort(c.oldest(), ErrUnknownOutcome)
	}
	c.abort(c.open, ErrNotLeader)
	if c.err == nil {
		c.err = ErrNotLeader
	}
}

// Replies returns the replies that may be released, in order, each once. The slice is valid until
// the next call of Replies.
func (c *Core[C]) Replies() []Reply[C] {
	if len(c.replies) == 0 {
		return nil
	}
	clear(c.released) // their callers are answered, so the garbage collector may free them
	c.replies, c.released = c.released[:0], c.replies
	return c.released
}

// release adds a reply to those for the driver.
func (c *Core[C]) release(r Reply[C]) {
	if r.Caller != nil {
		c.replies = append(c.replies, r)
	}
}

// oldest removes the oldest batch in flight and returns it.
func (c *Core[C]) oldest() *batch[C] {
	b := c.inflight[0]
	c.inflight = slices.Delete(c.inflight, 0, 1)
	return b
}

// abort answers all waiters of a batch with an error.
func (c *Core[C]) abort(b *batch[C], err error) {
	for _, r := range b.waiters {
		c.release(Reply[C]{Caller: r.Caller, Err: err})
	}
	b.waiters = nil
}

// restsOn returns the newest batch that is not applied yet and must be committed before a caller
// learns of it, or nil.
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

// plan plans an input. After a panic of the planner, the planning state may be wrong. The
// leadership then ends, and the next one begins on a new fork without that input.
func (c *Core[C]) plan(req input.Request) (reply input.Reply, events []event.Event, err error) {
	err = guard(fmt.Sprintf("%T", req.Input), func() { reply, events = c.planner.Plan(c.stamp, req) })
	return reply, events, err
}

// guard calls the planner, and returns a PlannerFault if it panics.
func guard(what string, call func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PlannerFault{Input: what, Value: v, Stack: debug.Stack()}
		}
	}()
	call()
	return nil
}

// verify compares the planned digest with the outcome.
func (b *batch[C]) verify(index uint64, got *Outcome) error {
	switch {
	case got == nil || !got.Skipped && got.Digest == b.digest:
		return nil
	case got.Skipped:
		return fmt.Errorf("batch at index %d was skipped: %w", index, ErrNotLeader)
	}
	return fmt.Errorf("%w after index %d: digest %016x, planned %016x", errDiverged, index, got.Digest, b.digest)
}

// callerError returns the error for the waiters of a batch that ended with err.
func callerError(err error) error {
	for _, known := range []error{ErrNotLeader, ErrTooLarge, ErrPlanner} {
		if errors.Is(err, known) {
			return known
		}
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

// needsCommit reports whether the events of an input must be committed before a caller learns of
// them. Events that only count need not, unless the reply orders a node to end containers.
func needsCommit(in input.Input, reply input.Reply, events []event.Event) bool {
	return len(events) > 0 && (ordersKill(reply) || !onlyCounts(in, events))
}

// onlyCounts reports whether an input is a heartbeat of a node, or a batch of them, whose only
// events are counters of missed offers. Its reply contains no order and acknowledges no report, so
// it need not wait until the counters are durable. Otherwise each heartbeat of a reserved node
// would wait for the disk.
func onlyCounts(in input.Input, events []event.Event) bool {
	switch in.(type) {
	case *input.NodeHeartbeat, *input.NodesHeard:
	default:
		return false
	}
	for _, e := range events {
		if c := e.Kind().Class(); c != event.Clock && c != event.Counter {
			return false
		}
	}
	return true
}

// ordersKill reports whether a reply orders a node to end containers. Such a reply waits for its
// batch even if the batch only advances the time.
func ordersKill(r input.Reply) bool {
	hb, ok := r.(*input.NodeHeartbeatReply)
	return ok && len(hb.Kill) > 0
}
