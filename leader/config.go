package leader

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// Log is where batches go. Propose may block while the log is busy; entries
// of one goroutine keep their order.
type Log interface {
	Propose(entry []byte) Future
}

// Future is the outcome of one proposal. Wait returns once the entry is applied
// on this replica, or with an error: one that Is ErrNotLeader, ErrTooLarge or ErrPlanner when
// the entry has no effect for sure, anything else when that is not known.
type Future interface {
	Wait() (index uint64, err error)
}

// Planner decides what follows from an input (package scheduler). The events
// returned are applied to State already and good until the next Plan.
type Planner interface {
	Plan(nowMillis int64, req input.Request) (input.Reply, []event.Event)
	State() *state.State
}

// Start is what a leadership begins with.
type Start struct {
	// State is a private fork of the committed state at Index.
	State *state.State
	Index uint64
	// Sequence is the number of the first batch planned on it.
	Sequence uint64
}

// Outcome is what applying the entry at an index led to on this replica.
type Outcome struct {
	Digest  uint64
	Skipped bool // it had no effect on any replica
}

// Expiry holds the silence after which nodes and attempts are given up, and the
// time within which a container that was granted must be started; 0: for ever.
type Expiry struct {
	NodeMillis, AttemptMillis, ContainerMillis int64
	// UntrackedMillis is until the planner is asked to forget an inactive node; 0: never.
	UntrackedMillis int64
	// PreemptionMillis is between two rounds of preemption; 0: there are none.
	PreemptionMillis int64
	// QueueMillis is until a dynamic queue that nobody uses is removed; 0: never.
	QueueMillis int64
	// ManageMillis is between two decisions which leaves of managed parents are active; 0: there are none.
	ManageMillis int64
}

// Config is what a Sequencer needs. Start from DefaultConfig; Log, Barrier,
// Fork, NewPlanner and Expiry are the caller's.
type Config struct {
	CoreConfig
	Logger hclog.Logger
	Log    Log
	// Barrier returns when everything in the log before it is applied here; it
	// fails when this replica does not lead.
	Barrier func(ctx context.Context) error
	// Confirm returns when it is sure that nobody had been elected in a later term when it was called,
	// and fails otherwise. A refusal that rests on no entry waits for it: a deposed leader does not
	// know what its successor has let in. Nil: refusals are released at once.
	Confirm func(ctx context.Context, term uint64) error
	// Fork is called after Barrier (fsm.Machine.Planning).
	Fork func(term uint64) Start
	// Outcome is what the entry at an index led to (fsm.Machine.Entry); false: it is not known.
	// Nil: digests are not compared.
	Outcome func(index uint64) (Outcome, bool)
	// NewPlanner takes the fork over as its planning state.
	NewPlanner func(*state.State) (Planner, error)
	// Now is the wall clock, Elapsed the time since some moment that no setting of a clock changes. A
	// Clock makes the stamps of inputs of both.
	Now     func() time.Time
	Elapsed func() time.Duration
	// Entropy draws 32 random bytes, of which new keys are made.
	Entropy func() []byte
	// OnFatal is called when this replica must not go on.
	OnFatal func(code int, err error)

	// QueueMax bounds the inputs that wait to be planned.
	QueueMax int
	// RetryInterval is the pause before a leadership begins again that ended within its term.
	RetryInterval time.Duration

	Observe Observe
}

// Observe takes measurements. Every func is optional and must be quick: the goroutine that plans
// calls it.
type Observe struct {
	// Plan is one input: its kind and how long planning it took.
	Plan func(kind input.Kind, took time.Duration)
	// Batch is one batch handed to the Log.
	Batch func(events int)
	// Commit is one batch applied, since it was handed to the Log.
	Commit func(took time.Duration)
	// Wait is one reply released, since Do.
	Wait func(took time.Duration)
}

// DefaultConfig returns the defaults. At full load an entry is as large as it may be. Smaller ones cost
// more syncs and more copies of pages for each event, larger ones let every reply wait longer; see
// docs/performance.md.
func DefaultConfig() Config {
	return Config{
		CoreConfig:    CoreConfig{BatchEvents: 4000, BatchBytes: 256 << 10, MaxInFlight: 1, TickInterval: time.Second},
		QueueMax:      8192,
		RetryInterval: 50 * time.Millisecond,
		Entropy:       entropy,
		Now:           time.Now,
		Elapsed:       elapsed(),
	}
}

// elapsed returns the time since it was called, by the monotonic clock.
func elapsed() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

func entropy() []byte {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return b
}

// Validate reports every fault of the configuration at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if c.Log == nil || c.Barrier == nil || c.Fork == nil || c.NewPlanner == nil || c.Expiry == nil || c.Logger == nil {
		bad("logger, log, barrier, fork, planner and expiry are required")
	}
	if c.Entropy == nil || c.Now == nil || c.Elapsed == nil {
		bad("clocks and a source of entropy are required (start from DefaultConfig)")
	}
	if c.QueueMax < 1 || c.BatchEvents < 1 || c.BatchBytes < 1 {
		bad("bounds of queue and batch must be positive (start from DefaultConfig)")
	}
	if c.MaxInFlight < 1 || c.MaxInFlight > 2 {
		bad("batches in flight %d: 1 or 2, more only add latency", c.MaxInFlight)
	}
	if c.TickInterval <= 0 || c.RetryInterval <= 0 {
		bad("intervals must be positive")
	}
	return errors.Join(errs...)
}
