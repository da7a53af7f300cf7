package ui

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"

	"github.com/hashicorp/go-hclog"
)

// Config configures a UI. If Log or Past is nil, the pages that need it say that it is not
// available.
type Config struct {
	Logger   hclog.Logger
	Guard    *auth.Guard
	Views    *view.Source
	Problems *problem.Translator
	API      API
	Caller   Caller
	// Status returns the status of this replica. Every open page calls it twice a second.
	Status func() Status
	// About describes what this replica runs, and its settings.
	About func() About
	Log   view.LogReader
	// Past returns the state as it was after an index, for reading. It returns a
	// *problem.TooOldError if the replica no longer has the log that far back.
	Past        func(ctx context.Context, index uint64) (*state.State, error)
	ReadTimeout time.Duration // for Past
	// Now is the clock for the sharing of pages; nil is time.Now.
	Now func() time.Time
	// Done ends the live streams when it is closed. If it is nil, nothing ends them.
	Done <-chan struct{}

	Tick         time.Duration // least time between two live messages; rendered pages are shared that long
	Heartbeat    time.Duration // interval of messages on a live stream without changes
	MaxStreams   int           // open live streams
	MaxBodyBytes int64         // of the body of a form
	PageRows     int           // rows on one page of a table
	SharedPages  int           // rendered pages that are kept
	RenderShare  int           // 1/RenderShare of the time may be used to render open pages again
}

// DefaultConfig returns the defaults of all settings. It leaves the parts of the replica empty.
func DefaultConfig() Config {
	return Config{Tick: 500 * time.Millisecond, Heartbeat: api.StreamHeartbeat, MaxStreams: 256, MaxBodyBytes: 4 << 20,
		PageRows: 50, ReadTimeout: 10 * time.Second, SharedPages: 128, RenderShare: 50}
}

// Validate returns all errors of the configuration.
func (c Config) Validate() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("ui: %s", what))
		}
	}
	need(c.Guard != nil && c.Views != nil && c.Problems != nil, "no Guard, Views or Problems")
	need(c.API != nil && c.Caller != nil, "no API or Caller")
	need(c.Status != nil && c.About != nil, "no Status or About")
	need(c.Logger != nil, "no Logger")
	need(c.Tick > 0, "Tick must be above 0")
	need(c.Heartbeat > 0, "Heartbeat must be above 0")
	need(c.MaxStreams > 0, "MaxStreams must be above 0")
	need(c.MaxBodyBytes > 0, "MaxBodyBytes must be above 0")
	need(c.PageRows > 0, "PageRows must be above 0")
	need(c.SharedPages > 0, "SharedPages must be above 0")
	need(c.RenderShare > 0, "RenderShare must be above 0")
	return errors.Join(errs...)
}
