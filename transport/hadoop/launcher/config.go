package launcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/internal/job"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/token"
)

// Reader reads the committed state of this replica.
type Reader interface {
	frontend.Reader
	// Watch returns a watch on the state from now on.
	Watch() (Watch, error)
}

// Watch signals that AM containers may have changed.
type Watch interface {
	// Next returns when an entry was applied since the last call that started an AM container, ended
	// an attempt, launched an AM, or registered a node. It may return more often. After an error the
	// launcher creates a new watch.
	Next(ctx context.Context) error
	Close()
}

// Client makes one call to a NodeManager. *ipc.Client implements it. If the node refuses, the error
// is an *ipc.RemoteError. After any other error the node was not reached or did not answer.
type Client interface {
	Call(ctx context.Context, to ipc.Target, method string, request, reply gproto.Message) error
}

// Config is the configuration of a Launcher.
type Config struct {
	// Logger, Submitter, Reader, Client and Services are required.
	Logger    hclog.Logger
	Submitter frontend.Submitter
	Reader    Reader
	Client    Client
	Services  *token.Services
	// Job records whether the AM containers can be followed.
	Job *job.Job
	// Observe is called with the outcome of each launch. It may be nil. It must not block.
	Observe func(o Outcome, took time.Duration)

	// ParallelMax limits the number of calls at a time
	// (yarn.resourcemanager.amlauncher.thread-count).
	ParallelMax int
	// MaxWait is how long the launcher tries to reach a node
	// (yarn.client.nodemanager-connect.max-wait-ms). A negative value means no limit.
	MaxWait time.Duration
	// RetryInterval is the time between two tries
	// (yarn.client.nodemanager-connect.retry-interval-ms).
	RetryInterval time.Duration
	// CallTimeout limits one call, including the connection.
	CallTimeout time.Duration
	// TokenLife is how long the token of a container is valid
	// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms). The node's clock may
	// differ by that much.
	TokenLife time.Duration
	// Pause is the time before a failed watch or report is tried again.
	Pause time.Duration
}

// Outcome is the result of a launch.
type Outcome string

// The values of Outcome.
const (
	Launched    Outcome = "launched"
	Refused     Outcome = "refused"     // by the node, or there is nothing to start
	Unreachable Outcome = "unreachable" // the node did not answer
	Dropped     Outcome = "dropped"     // the attempt or the leadership has ended
)

// DefaultConfig returns YARN's defaults.
func DefaultConfig() Config {
	return Config{
		ParallelMax:   50,
		MaxWait:       3 * time.Minute,
		RetryInterval: 10 * time.Second,
		CallTimeout:   30 * time.Second,
		TokenLife:     10 * time.Minute,
		Pause:         200 * time.Millisecond,
	}
}

// Validate returns all errors of the configuration, joined.
func (c Config) Validate() error {
	var errs []error
	if c.Logger == nil || c.Submitter == nil || c.Reader == nil || c.Client == nil || c.Services == nil {
		errs = append(errs, errors.New("logger, submitter, reader, client and services are required"))
	}
	if c.ParallelMax < 1 || c.ParallelMax > 10000 {
		errs = append(errs, fmt.Errorf("parallel launches must be 1 to 10000, is %d", c.ParallelMax))
	}
	if c.MaxWait == 0 {
		errs = append(errs, errors.New("time to try a node must not be zero (below zero: without end)"))
	}
	for _, d := range []struct {
		name string
		v    time.Duration
	}{{"retry interval", c.RetryInterval}, {"call time-out", c.CallTimeout}, {"life of a token", c.TokenLife},
		{"pause", c.Pause}} {
		if d.v <= 0 {
			errs = append(errs, fmt.Errorf("%s must be positive, is %s", d.name, d.v))
		}
	}
	return errors.Join(errs...)
}
