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
	"rmd/fsm/state/change"
	"rmd/scheduler/input"
)

// Log stores batches. Propose may block while the log is busy. The entries of one goroutine keep
// their order.
type Log interface {
	Propose(entry []byte) Future
}

// Future is the outcome of one proposal. Wait returns when the entry is applied on this replica, or
// with an error. If the error Is ErrNotLeader, ErrTooLarge or ErrPlanner, the entry certainly has
// no effect. After any other error the outcome is unknown.
type Future interface {
	Wait() (index uint64, err error)
}

// Planner plans inputs (package scheduler/planner). Plan has applied the returned events to State.
// They, and their changes, are valid until the next Plan.
type Planner interface {
	Plan(nowMillis int64, req input.Request) (input.Reply, []event.Event)
	// Changes returns what the events of the last Plan did.
	Changes() []change.Change
	State() *state.State
	// Due returns the inputs that deadlines in the state have made due, each kind once. It changes
	// nothing.
	Due(nowMillis int64) []input.Input
}

// Start is the state at the begin of a leadership.
type Start struct {
	// State is a private fork of the committed state at Index.
	State *state.State
	Index uint64
	// Sequence is the number of the first batch planned on it.
	Sequence uint64
}

// Outcome is the result of an entry on this replica.
type Outcome struct {
	Digest  uint64
	Skipped bool // it had no effect on any replica
}

// Expiry has the intervals of a leadership's timers, in milliseconds. NodeMillis and AttemptMillis
// are the times of silence after which a node or an attempt expires. ContainerMillis is the time
// within which a granted container must start. 0 means never.
type Expiry struct {
	NodeMillis, AttemptMillis, ContainerMillis int64
	// SilentMillis is the time without a heartbeat after which a node gets no more containers. 0
	// means that it gets them until it expires.
	SilentMillis int64
	// UntrackedMillis is the time after which the planner is asked to forget an inactive node. 0
	// means never.
	UntrackedMillis int64
	// PreemptionMillis is the interval between two rounds of preemption. 0 means that there are
	// none.
	PreemptionMillis int64
	// ManageMillis is the interval between two decisions about the active leaves of managed
	// parents. 0 means that there are none.
	ManageMillis int64
}

// Config is the configuration of a Sequencer. Start from DefaultConfig. The caller must set Logger,
// Log, Barrier, Fork, NewPlanner and Expiry.
type Config struct {
	CoreConfig
	Logger hclog.Logger
	Log    Log
	// Barrier returns when this replica has applied everything in the log before the call. It fails
	// if this replica does not lead.
	Barrier func(ctx context.Context) error
	// Confirm returns nil if no replica had been elected in a later term when Confirm was called,
	// and an error otherwise. A refusal without an entry waits for it, because a deposed leader
	// does not know what its successor has accepted. If Confirm is nil, refusals are released at
	// once.
	Confirm func(ctx context.Context, term uint64) error
	// Fork returns a fork of the committed state. It is called after Barrier
	// (fsm.Machine.Planning).
	Fork func(term uint64) Start
	// Outcome returns the result of the entry at an index (fsm.Machine.Entry), or false if it is
	// unknown. If Outcome is nil, digests are not compared.
	Outcome func(index uint64) (Outcome, bool)
	// NewPlanner returns a planner that uses the fork as its planning state.
	NewPlanner func(*state.State) (Planner, error)
	// Now returns the wall clock. Elapsed returns the time since a fixed moment; setting the
	// machine's clock must not change it. A Clock computes the stamps of inputs from both.
	Now     func() time.Time
	Elapsed func() time.Duration
	// Sure reports whether Now is right, since other machines' clocks agree. Nil means never.
	Sure func() bool
	// Entropy returns 32 random bytes for new keys.
	Entropy func() []byte
	// OnFatal is called with an exit code when this replica must stop.
	OnFatal func(code int, err error)

	// QueueMax limits the number of inputs that wait to be planned.
	QueueMax int
	// RetryInterval is the pause before a leadership begins again in the same term.
	RetryInterval time.Duration

	Observe Observe
}

// Observe measures a leadership. Every function is optional. It must be fast, because the goroutine
// that plans calls it.
type Observe struct {
	// Plan is called after each input with its kind and the time of planning.
	Plan func(kind input.Kind, took time.Duration)
	// Batch is called with the number of events of each batch passed to the Log.
	Batch func(events int)
	// Commit is called with the time from passing a batch to the Log until it is applied.
	Commit func(took time.Duration)
	// Clock is called with the difference between this machine's clock and the cluster's time, or
	// with 0 if it is small.
	Clock func(ahead time.Duration)
	// Wait is called with the time from Do until the reply is released.
	Wait func(took time.Duration)
}

// DefaultConfig returns the defaults. At full load, entries have the largest allowed size. Smaller
// entries cost more syncs and more copies of pages for each event. Larger ones delay every reply.
// See docs/performance.md.
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

// Validate returns all errors of the configuration, joined.
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
