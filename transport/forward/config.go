package forward

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/leadership"
	"rmd/scheduler/input"
)

// MethodInput is the number of the peer method that carries inputs.
const MethodInput byte = 32

// Sequencer plans inputs while this replica leads. *leader.Sequencer implements it. Its errors have
// a code (ErrorCode): NOT_LEADER, UNKNOWN_OUTCOME, BUSY or another one.
type Sequencer interface {
	Do(ctx context.Context, req input.Request) (input.Reply, uint64, error)
}

// Peer has the connections to the other replicas. *peer.Server implements it. A call ends when its
// context ends or over is closed. peer.ErrNotSent means that the request was not sent.
type Peer interface {
	CallUntil(ctx context.Context, over <-chan struct{}, addr string, method byte, req []byte) ([]byte, error)
	Handle(method byte, h func(ctx context.Context, from string, req []byte) ([]byte, error))
}

// Tracker knows the current leader and signals changes.
type Tracker struct {
	mu      sync.Mutex
	now     leadership.Leadership
	changed chan struct{}
}

// NewTracker returns a Tracker without a leader.
func NewTracker() *Tracker { return &Tracker{changed: make(chan struct{})} }

// Set sets the current leadership.
func (t *Tracker) Set(l leadership.Leadership) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l == t.now {
		return
	}
	t.now = l
	close(t.changed)
	t.changed = make(chan struct{})
}

// Leader returns the current leadership, and a channel that is closed when it changes.
func (t *Tracker) Leader() (leadership.Leadership, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now, t.changed
}

// Config configures a Forwarder. Start from DefaultConfig.
type Config struct {
	Logger    hclog.Logger
	Sequencer Sequencer
	Peer      Peer
	// Leader returns the current leadership, and a channel that is closed when it changes
	// (Tracker.Leader).
	Leader func() (leadership.Leadership, <-chan struct{})
	// WaitApplied waits until this replica has applied an index.
	WaitApplied func(ctx context.Context, index uint64) error

	// Refuse makes a replica that does not lead return ErrStandby at once.
	Refuse bool
	// Hold is the longest time that a call waits for a leader.
	Hold time.Duration
	// HeldMax is the maximum number of calls that wait for a leader.
	HeldMax int
	// PauseMin and PauseMax limit the pause before a call is tried again at the same leader.
	PauseMin, PauseMax time.Duration
	// CallsMax is the maximum number of forwarded calls in flight.
	CallsMax int

	Observe Observe
}

// Observe receives measurements. Each function may be nil and must return quickly.
type Observe struct {
	// Call is called when a call has ended. tries is the number of tries.
	Call func(kind input.Kind, forwarded bool, tries int, took time.Duration, err error)
	// Held is called with the number of calls that wait for a leader.
	Held func(n int)
}

// DefaultConfig returns the defaults of all settings.
func DefaultConfig() Config {
	return Config{
		Hold:     4 * time.Second,
		HeldMax:  65536,
		PauseMin: 5 * time.Millisecond,
		PauseMax: 100 * time.Millisecond,
		CallsMax: 65536,
	}
}

// holdMax keeps the hold time below the clients' timeouts.
const holdMax = time.Minute

// Validate returns all faults of the configuration.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if c.Logger == nil || c.Sequencer == nil || c.Peer == nil || c.Leader == nil || c.WaitApplied == nil {
		bad("logger, sequencer, peer, leader and wait are required")
	}
	if c.Hold < 0 || c.Hold > holdMax {
		bad("standby_hold %s: 0 to %s", c.Hold, holdMax)
	}
	if c.HeldMax < 1 || c.CallsMax < 1 {
		bad("bounds of calls must be positive (start from DefaultConfig)")
	}
	if c.PauseMin <= 0 || c.PauseMax < c.PauseMin {
		bad("pauses: 0 < %s <= %s does not hold", c.PauseMin, c.PauseMax)
	}
	return errors.Join(errs...)
}
