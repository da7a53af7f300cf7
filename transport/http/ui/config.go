package ui

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rmd/fsm/state"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"

	"github.com/hashicorp/go-hclog"
)

// Config is what the pages need. Log and Past may be missing: what needs them says so.
type Config struct {
	Logger   hclog.Logger
	Guard    *auth.Guard
	Views    *view.Source
	Problems *problem.Translator
	API      API
	Caller   Caller
	// Status says how this replica stands. It is asked for twice a second by every open
	// page.
	Status func() Status
	// About says what this replica runs, and with which settings.
	About func() About
	Log   view.LogReader
	// Past is the state as it was after an index, for reading; a *problem.TooOldError
	// when what is kept does not reach back so far.
	Past        func(ctx context.Context, index uint64) (*state.State, error)
	ReadTimeout time.Duration // for Past to answer
	// Now is the clock for the sharing of pages; nil is time.Now.
	Now func() time.Time
	// Done ends the live streams; nil never does.
	Done <-chan struct{}

	Tick         time.Duration // the least time between two live messages, and how long a page is shared
	Heartbeat    time.Duration // of a live stream with nothing to tell
	MaxStreams   int           // open live streams
	MaxBodyBytes int64         // of a form
	PageRows     int           // of a table
	SharedPages  int           // how many rendered pages are kept
	ReasonShare  int           // one part in so many of the time may go into explaining rows of lists
	RenderShare  int           // one part in so many of the time may go into renewing pages that are open
}

// DefaultConfig returns the values for all but the parts of the replica.
func DefaultConfig() Config {
	return Config{Tick: 500 * time.Millisecond, Heartbeat: 10 * time.Second, MaxStreams: 256, MaxBodyBytes: 4 << 20,
		PageRows: 50, ReadTimeout: 10 * time.Second, SharedPages: 128, ReasonShare: 100, RenderShare: 50}
}

// Validate says everything that is wrong with the configuration.
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
	need(c.ReasonShare > 0, "ReasonShare must be above 0")
	need(c.RenderShare > 0, "RenderShare must be above 0")
	return errors.Join(errs...)
}
