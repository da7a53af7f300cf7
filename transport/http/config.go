package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/state"
	"rmd/transport/http/auth"
	"rmd/transport/http/metrics"
	"rmd/transport/http/route"
	v1 "rmd/transport/http/v1"
	"rmd/transport/http/v1/api"
	"rmd/transport/http/view"
	yarnweb "rmd/transport/http/yarn"
	"rmd/yarn"
)

// OwnSetting is one key of this replica's own configuration as it is in force.
type OwnSetting struct{ Name, Value, About, Origin string }

// Config is what a server needs. Submitter, Reader, Consensus and Logger are
// required; without the others their endpoints answer NOT_AVAILABLE.
type Config struct {
	ID      string // of this replica
	Version string // of the program

	Submitter route.Submitter
	Reader    view.Reader
	Consensus v1.Consensus
	Snapshots v1.Snapshots
	Log       view.LogReader
	Planner   v1.Planner
	Shadows   v1.Shadows
	// Past is the state as it was after an index, for reading; a *problem.TooOldError when
	// what is kept does not reach back so far.
	Past func(ctx context.Context, index uint64) (*state.State, error)
	// Prefetch is given a version of the state, to read, now and then: what explanations
	// need can follow it while nobody asks.
	Prefetch func(st *state.State)
	// Own are this replica's own settings, for the page about it.
	Own     []OwnSetting
	Logger  hclog.Logger
	Metrics *metrics.Metrics // made when nil
	// RefusalOf turns errors of other packages into answers; nil from it means
	// that it does not know the error.
	RefusalOf func(error) *api.Error

	// Auth is how callers are identified and limited; Admit, Who, and Hosts are as
	// auth.Parts has them.
	Auth  auth.Config
	Admit func(r *http.Request, class auth.Class) error
	Who   func(r *http.Request) string
	Hosts []string
	// Now is the clock for deadlines, tokens and samples; nil is time.Now.
	Now func() time.Time

	// Pages serves the operator's pages under /ui/ and /cluster; nil: those of
	// package ui, unless NoPages leaves a text page alone.
	Pages   http.Handler
	NoPages bool
	// Hadoop is what Hadoop's clients see besides the state.
	Hadoop Hadoop
	// Profiles opens /debug/pprof to administrators on this machine.
	Profiles bool

	HeaderTimeout time.Duration // to receive a request's header
	IdleTimeout   time.Duration // of a connection between requests
	BodyTimeout   time.Duration // to receive a body other than a snapshot
	ReadTimeout   time.Duration // for a read to be answered
	WriteTimeout  time.Duration // for a write to be answered
	Heartbeat     time.Duration // of an event stream
	PrefetchPause time.Duration // between two looks at the state while nobody asks, each with a sample
	CloseTimeout  time.Duration // for requests in work when the server closes

	MaxHeaderBytes    int
	MaxBodyBytes      int64
	MaxBodiesBytes    int64 // of all bodies together that are being read, or worked on
	MaxInputsBytes    int64 // of one body of POST /v1/inputs
	MaxInputs         int   // frames of one body
	InputsInFlight    int   // of all bodies together
	MaxConnections    int   // open connections of one listener
	MaxPerAddress     int   // of one remote address
	MaxStreams        int   // open event streams
	MaxLogEntries     int   // of one answer of /v1/log
	LongestJoinToken  time.Duration
	DefaultJoinTokens time.Duration
}

// Hadoop is what Hadoop's clients see besides the state. The functions may be nil; see
// yarnweb.Config.
type Hadoop struct {
	// Service answers /proxy/ and what is not a read under /ws/v1/cluster; nil:
	// neither is there.
	Service  http.Handler
	Reason   func(st *state.State, id yarn.ApplicationID) string
	Admin    func(user string) bool
	Groups   func(user string) []string
	Settings func() []yarnweb.Setting
}

// DefaultConfig returns the defaults of all settings. The parts of the replica stay empty.
func DefaultConfig() Config {
	return Config{
		Auth:          auth.DefaultConfig(),
		HeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, BodyTimeout: 30 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, Heartbeat: 10 * time.Second, CloseTimeout: 300 * time.Millisecond, PrefetchPause: 5 * time.Second,
		MaxHeaderBytes: 64 << 10, MaxBodyBytes: 4 << 20, MaxBodiesBytes: 16 << 20, MaxInputsBytes: 16 << 20, MaxInputs: 65_536, InputsInFlight: 16_384,
		MaxConnections: 1024, MaxPerAddress: 64, MaxStreams: 256, MaxLogEntries: 1000,
		LongestJoinToken: 24 * time.Hour, DefaultJoinTokens: time.Hour,
	}
}

// Validate says everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("http: %s", what))
		}
	}
	need(c.Submitter != nil, "no Submitter")
	need(c.Reader != nil, "no Reader")
	need(c.Consensus != nil, "no Consensus")
	need(c.Logger != nil, "no Logger")
	for name, d := range map[string]time.Duration{"HeaderTimeout": c.HeaderTimeout, "IdleTimeout": c.IdleTimeout, "BodyTimeout": c.BodyTimeout,
		"ReadTimeout": c.ReadTimeout, "WriteTimeout": c.WriteTimeout, "Heartbeat": c.Heartbeat, "PrefetchPause": c.PrefetchPause, "CloseTimeout": c.CloseTimeout,
		"LongestJoinToken": c.LongestJoinToken, "DefaultJoinTokens": c.DefaultJoinTokens} {
		need(d > 0, name+" must be above 0")
	}
	for name, n := range map[string]int64{"MaxHeaderBytes": int64(c.MaxHeaderBytes), "MaxBodyBytes": c.MaxBodyBytes, "MaxBodiesBytes": c.MaxBodiesBytes, "MaxInputsBytes": c.MaxInputsBytes,
		"MaxInputs": int64(c.MaxInputs), "InputsInFlight": int64(c.InputsInFlight), "MaxConnections": int64(c.MaxConnections),
		"MaxPerAddress": int64(c.MaxPerAddress), "MaxStreams": int64(c.MaxStreams), "MaxLogEntries": int64(c.MaxLogEntries)} {
		need(n > 0, name+" must be above 0")
	}
	errs = append(errs, c.Auth.Validate())
	need(c.DefaultJoinTokens <= c.LongestJoinToken, "DefaultJoinTokens must not exceed LongestJoinToken")
	return errors.Join(errs...)
}
