package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/internal/job"
	"rmd/transport/http/auth"
	"rmd/transport/http/metrics"
	"rmd/transport/http/route"
	"rmd/transport/http/sampler"
	v1 "rmd/transport/http/v1"
	"rmd/transport/http/view"
	"rmd/transport/http/webapp"
	yarnweb "rmd/transport/http/yarn"
	"rmd/yarn"
)

// OwnSetting is one key of this replica's own configuration with the value in force.
type OwnSetting struct{ Name, Value, About, Origin string }

// Config configures a Server. Submitter, Reader, Consensus and Logger are required. If another part
// is missing, its endpoints answer NOT_AVAILABLE.
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
	// Past returns the state as it was after an index, for reading. It returns a
	// *problem.TooOldError if the replica no longer has the log that far back.
	Past func(ctx context.Context, index uint64) (*state.State, error)
	// Prefetch gets the current state every PrefetchPause, for reading. The explainer uses it to
	// follow the state while nobody asks for an explanation.
	Prefetch func(st *state.State)
	// Own lists this replica's own settings, for the page about the replica.
	Own     []OwnSetting
	Logger  hclog.Logger
	Metrics *metrics.Metrics // nil: New makes one
	Samples *sampler.Sampler // nil: New makes one
	Jobs    *job.Registry    // has the records of the background jobs; nil records nothing
	// RefusalOf turns an error of another package into an answer. It returns nil for an error that
	// it does not know.
	RefusalOf func(error) *api.Error

	// Auth says how callers are identified and limited. Admit, Who and Hosts are described at
	// auth.Parts.
	Auth  auth.Config
	Admit func(r *http.Request, class auth.Class) error
	Who   func(r *http.Request) string
	Hosts []string
	// Kerberos is described at auth.Parts.
	Kerberos *auth.Kerberos
	// Now is the clock for deadlines, tokens and samples; nil is time.Now.
	Now func() time.Time

	// Pages serves the operator's pages under /ui/ and /cluster. If it is nil, package ui serves
	// them, or, with NoPages, there are none and / answers with text.
	Pages   http.Handler
	NoPages bool
	// Hadoop has what Hadoop's clients see besides the state.
	Hadoop Hadoop
	// Profiles opens /debug/pprof to administrators on this machine.
	Profiles bool

	HeaderTimeout time.Duration // to receive a request's header
	IdleTimeout   time.Duration // of a connection between requests
	BodyTimeout   time.Duration // to receive a body other than a snapshot
	ReadTimeout   time.Duration // to answer a read
	WriteTimeout  time.Duration // to answer a write
	Heartbeat     time.Duration // longest silence of an event stream
	PrefetchPause time.Duration // between two calls of Prefetch; the sampler takes a sample each time
	CloseTimeout  time.Duration // to finish the requests in progress when the server closes

	MaxHeaderBytes    int
	MaxBodyBytes      int64
	MaxBodiesBytes    int64 // of all bodies whose calls are in progress, together
	MaxInputsBytes    int64 // of one body of POST /v1/inputs
	MaxInputs         int   // frames in one body of POST /v1/inputs
	InputsInFlight    int   // inputs of all bodies together
	MaxConnections    int   // open connections of one listener
	MaxPerAddress     int   // of one remote address
	MaxStreams        int   // open event streams
	MaxLogEntries     int   // of one answer of /v1/log
	LongestJoinToken  time.Duration
	DefaultJoinTokens time.Duration
}

// Hadoop has what Hadoop's clients see besides the state. The functions may be nil; yarnweb.Config
// describes them.
type Hadoop struct {
	// Service answers /proxy/ and everything under /ws/v1/cluster that is not a read. If it is nil,
	// the server has neither.
	Service  http.Handler
	Reason   func(st *state.State, id yarn.ApplicationID) string
	Admin    func(user string) bool
	Groups   func(user string) []string
	Settings func() []yarnweb.Setting
	// WebApps are served to callers that may read. Their pages may use the session of the caller.
	WebApps []*webapp.App
	// ShortName is described at v1.Config.
	ShortName func(principal string) (short string, rule int, text string, err error)
	// Proof is described at auth.Parts.
	Proof bool
}

// DefaultConfig returns the defaults of all settings. It leaves the parts of the replica empty.
func DefaultConfig() Config {
	return Config{
		Auth:          auth.DefaultConfig(),
		HeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, BodyTimeout: 30 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, Heartbeat: api.StreamHeartbeat,
		CloseTimeout: 300 * time.Millisecond, PrefetchPause: 5 * time.Second,
		MaxHeaderBytes: 64 << 10, MaxBodyBytes: 4 << 20, MaxBodiesBytes: 16 << 20, MaxInputsBytes: 16 << 20,
		MaxInputs: 65_536, InputsInFlight: 16_384,
		MaxConnections: 1024, MaxPerAddress: 64, MaxStreams: 256, MaxLogEntries: 1000,
		LongestJoinToken: 24 * time.Hour, DefaultJoinTokens: time.Hour,
	}
}

// Validate returns all errors of the configuration.
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
	for name, d := range map[string]time.Duration{"HeaderTimeout": c.HeaderTimeout, "IdleTimeout": c.IdleTimeout,
		"BodyTimeout": c.BodyTimeout,
		"ReadTimeout": c.ReadTimeout, "WriteTimeout": c.WriteTimeout, "Heartbeat": c.Heartbeat,
		"PrefetchPause": c.PrefetchPause, "CloseTimeout": c.CloseTimeout,
		"LongestJoinToken": c.LongestJoinToken, "DefaultJoinTokens": c.DefaultJoinTokens} {
		need(d > 0, name+" must be above 0")
	}
	for name, n := range map[string]int64{"MaxHeaderBytes": int64(c.MaxHeaderBytes), "MaxBodyBytes": c.MaxBodyBytes,
		"MaxBodiesBytes": c.MaxBodiesBytes, "MaxInputsBytes": c.MaxInputsBytes,
		"MaxInputs": int64(c.MaxInputs), "InputsInFlight": int64(c.InputsInFlight), "MaxConnections": int64(c.MaxConnections),
		"MaxPerAddress": int64(c.MaxPerAddress), "MaxStreams": int64(c.MaxStreams), "MaxLogEntries": int64(c.MaxLogEntries)} {
		need(n > 0, name+" must be above 0")
	}
	errs = append(errs, c.Auth.Validate())
	need(c.DefaultJoinTokens <= c.LongestJoinToken, "DefaultJoinTokens must not exceed LongestJoinToken")
	return errors.Join(errs...)
}
