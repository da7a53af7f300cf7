package fsm

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/event"
)

// Errors that callers meet.
var (
	// ErrStopped is returned by everything after a fatal error.
	ErrStopped = errors.New("replica has stopped applying")
	// ErrStale is the answer of Apply to a batch that was planned in another
	// term or not right after the batch before it: it had no effect anywhere.
	ErrStale = errors.New("batch was not planned on the entries before it and was skipped")
	// ErrTooOld says that a watch cannot be resumed: read the state, watch again.
	ErrTooOld = errors.New("batches this old are not kept")
)

// TooOldError is ErrTooOld with the oldest index that a watch may start from.
type TooOldError struct{ Oldest uint64 }

// Error names the index.
func (e *TooOldError) Error() string {
	return fmt.Sprintf("%s; a watch may start from index %d", ErrTooOld, e.Oldest)
}

// Is makes it an ErrTooOld.
func (e *TooOldError) Is(target error) bool { return target == ErrTooOld }

// Config is what a Machine needs. Start from DefaultConfig.
type Config struct {
	// Logger gets rare messages; nil: none.
	Logger hclog.Logger
	// OnFatal is called once when this replica must not go on. Nil: only
	// Failure tells.
	OnFatal func(code int, err error)
	// AppliedIndex is for indexes that no command has: no-ops and barriers.
	// It returns an index such that the effect of every entry up to it is in
	// this Machine (cluster.AppliedIndex). raft.AppliedIndex will not do: it
	// counts entries that still wait for Apply. Nil: only commands,
	// configurations and snapshots move the index.
	AppliedIndex func() uint64
	// Level is the highest feature level that this replica applies; 0: all that
	// this build knows.
	Level uint32
	// PollInterval is how often AppliedIndex is asked while somebody waits.
	PollInterval time.Duration
	// Digests is how many applied indexes keep their digest.
	Digests int
	// WatchBatches and WatchBytes bound the batches kept for watches.
	WatchBatches int
	WatchBytes   int
	// Observe takes measurements; every func is optional and must be quick.
	Observe Observe
}

// Observe is told of what the Machine does.
type Observe struct {
	Apply   func(events, bytes int, took time.Duration)
	Fork    func(took time.Duration)
	Persist func(bytes int64, took time.Duration, err error)
	Restore func(took time.Duration, err error)
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		PollInterval: 2 * time.Millisecond,
		Digests:      4096,
		WatchBatches: 8192,
		WatchBytes:   64 << 20,
	}
}

// Validate reports every fault of the configuration at once.
func (c Config) Validate() error {
	var errs []error
	if c.PollInterval <= 0 {
		errs = append(errs, fmt.Errorf("poll interval %s must be positive", c.PollInterval))
	}
	if c.Digests < 1 || c.WatchBatches < 1 || c.WatchBytes < 1 {
		errs = append(errs, errors.New("rings of digests and batches must have room (start from DefaultConfig)"))
	}
	return errors.Join(errs...)
}

// orDefaults fills what was left zero.
func (c Config) orDefaults() Config {
	d := DefaultConfig()
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.PollInterval <= 0 {
		c.PollInterval = d.PollInterval
	}
	if c.Level == 0 {
		c.Level = event.Level
	}
	if c.Digests < 1 {
		c.Digests = d.Digests
	}
	if c.WatchBatches < 1 {
		c.WatchBatches = d.WatchBatches
	}
	if c.WatchBytes < 1 {
		c.WatchBytes = d.WatchBytes
	}
	return c
}
