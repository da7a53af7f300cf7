package ui

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Config is what the pages need. Backend and Logger are required.
type Config struct {
	Backend Backend
	Logger  hclog.Logger
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
		PageRows: 50, SharedPages: 128, ReasonShare: 100, RenderShare: 50}
}

// Validate says everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("ui: %s", what))
		}
	}
	need(c.Backend != nil, "no Backend")
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
