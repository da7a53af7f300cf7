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

// MethodInput is the method of the replicas' wire that carries inputs.
const MethodInput byte = 32

// Sequencer plans inputs while this replica leads (leader.Sequencer). Its errors
// carry a code through ErrorCode: NOT_LEADER, UNKNOWN_OUTCOME, BUSY or another.
type Sequencer interface {
	Do(ctx context.Context, req input.Request) (input.Reply, uint64, error)
}

// Peer is the wire to the other replicas (peer.Server). A call is given up when
// its context ends or over is closed. An error that Is peer.ErrNotSent means that
// the request surely never left.
type Peer interface {
	CallUntil(ctx context.Context, over <-chan struct{}, addr string, method byte, req []byte) ([]byte, error)
	Handle(method byte, h func(ctx context.Context, from string, req []byte) ([]byte, error))
}

// Tracker remembers who leads and tells those who wait when that changes.
type Tracker struct {
	mu      sync.Mutex
	now     leadership.Leadership
	changed chan struct{}
}

// NewTracker returns a tracker that knows no leader.
func NewTracker() *Tracker { return &Tracker{changed: make(chan struct{})} }

// Set tells who leads now.
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

// Leader returns who leads now and a channel that is closed when that changes.
func (t *Tracker) Leader() (leadership.Leadership, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now, t.changed
}

// Config is what a Forwarder needs. Start from DefaultConfig.
type Config struct {
	Logger    hclog.Logger
	Sequencer Sequencer
	Peer      Peer
	// Leader returns who leads now, and a channel that is closed when that
	// changes (Tracker.Leader).
	Leader func() (leadership.Leadership, <-chan struct{})
	// WaitApplied waits until this replica has applied an index.
	WaitApplied func(ctx context.Context, index uint64) error

	// Callers says whether all replicas know requests that say who asks. A replica
	// that is behind the leader cannot know; it finds out first, and an error is that it
	// could not. nil: they do not.
	Callers func(ctx context.Context) (bool, error)

	// Refuse answers ErrStandby at once when this replica does not lead.
	Refuse bool
	// Hold is how long a call waits for a leader.
	Hold time.Duration
	// HeldMax bounds the calls that wait for a leader.
	HeldMax int
	// PauseMin and PauseMax are the pauses before a call is tried again at a
	// leader that does not take it.
	PauseMin, PauseMax time.Duration
	// CallsMax bounds the forwarded calls in flight.
	CallsMax int

	Observe Observe
}

// Observe takes measurements; every func is optional and must be quick.
type Observe struct {
	// Call is one call that ended: whether it was forwarded, how often it was tried.
	Call func(kind input.Kind, forwarded bool, tries int, took time.Duration, err error)
	// Held is how many calls wait for a leader.
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

// holdMax keeps calls below their clients' own time-outs.
const holdMax = time.Minute

// Validate reports every fault of the configuration at once.
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
