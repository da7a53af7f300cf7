package fsm

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/event"
)

// Errors of a Machine.
var (
	// ErrStopped means that the replica has stopped applying after a fatal error. All methods
	// return it from then on.
	ErrStopped = errors.New("replica has stopped applying")
	// ErrStale is the result of Apply for a batch that was planned in another term, or not right
	// after its predecessor. Every replica skips such a batch.
	ErrStale = errors.New("batch was not planned on the entries before it and was skipped")
	// ErrTooOld means that a watch cannot start at the given index. The caller must read the state
	// and watch from its index.
	ErrTooOld = errors.New("batches this old are not kept")
)

// TooOldError is an ErrTooOld with the oldest index from which a watch may start.
type TooOldError struct{ Oldest uint64 }

// Error implements error.
func (e *TooOldError) Error() string {
	return fmt.Sprintf("%s; a watch may start from index %d", ErrTooOld, e.Oldest)
}

// Is reports whether target is ErrTooOld.
func (e *TooOldError) Is(target error) bool { return target == ErrTooOld }

// Config is the configuration of a Machine. Start from DefaultConfig.
type Config struct {
	// Logger logs rare messages; nil: none.
	Logger hclog.Logger
	// OnFatal is called once, with an exit code, when this replica must stop. If it is nil, only
	// Failure reports the error.
	OnFatal func(code int, err error)
	// AppliedIndex returns the index up to which the effect of every entry is in this Machine
	// (cluster.AppliedIndex). It includes no-ops and barriers, which never reach Apply.
	// raft.AppliedIndex is not suitable, because it counts entries that still wait for Apply. If
	// AppliedIndex is nil, WaitApplied learns only of commands, configurations and snapshots.
	AppliedIndex func() uint64
	// Level is the highest feature level that this replica applies; 0: the highest that this build
	// knows.
	Level uint32
	// PollInterval is the shortest interval at which WaitApplied calls AppliedIndex.
	PollInterval time.Duration
	// Digests is the number of commands whose digests are kept.
	Digests int
	// WatchBatches and WatchBytes bound the number and size of the batches kept for watches.
	WatchBatches int
	WatchBytes   int
	// WatchChanges bounds the number of changes kept for followers.
	WatchChanges int
	// Observe receives measurements. Each function is optional and must return quickly.
	Observe Observe
}

// Observe has functions that the Machine calls with measurements.
type Observe struct {
	Apply   func(events, bytes int, took time.Duration)
	Fork    func(took time.Duration)
	Persist func(bytes int64, took time.Duration, err error)
	Restore func(took time.Duration, err error)
}

// DefaultConfig returns a Config with the default values.
func DefaultConfig() Config {
	return Config{
		PollInterval: 2 * time.Millisecond,
		Digests:      4096,
		WatchBatches: 8192,
		WatchBytes:   64 << 20,
		WatchChanges: 1 << 18,
	}
}

// Validate returns all errors of the configuration, joined.
func (c Config) Validate() error {
	var errs []error
	if c.PollInterval <= 0 {
		errs = append(errs, fmt.Errorf("poll interval %s must be positive", c.PollInterval))
	}
	if c.Digests < 1 || c.WatchBatches < 1 || c.WatchBytes < 1 || c.WatchChanges < 1 {
		errs = append(errs, errors.New("rings of digests, batches and changes must have room (start from DefaultConfig)"))
	}
	return errors.Join(errs...)
}

// orDefaults replaces zero values by the defaults.
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
	if c.WatchChanges < 1 {
		c.WatchChanges = d.WatchChanges
	}
	return c
}
