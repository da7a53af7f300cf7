package launcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/frontend"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/token"
)

// Reader is the committed state of this replica.
type Reader interface {
	frontend.Reader
	// Watch follows the state from now on.
	Watch() (Watch, error)
}

// Watch says when AM containers may have changed.
type Watch interface {
	// Next returns when an entry was applied since the last call that allocated an
	// AM container, fulfilled a reservation, ended or launched an attempt, or
	// registered a node. It may return more often. After an error the watch is
	// made again.
	Next(ctx context.Context) error
}

// Client makes one call to a NodeManager; *ipc.Client is one. What the node
// refuses comes back as an *ipc.RemoteError; with any other error it was not
// reached, or did not answer.
type Client interface {
	Call(ctx context.Context, to ipc.Target, method string, request, reply gproto.Message) error
}

// Config says how AMs are started.
type Config struct {
	// Logger, Submitter, Reader, Client and Services are required.
	Logger    hclog.Logger
	Submitter frontend.Submitter
	Reader    Reader
	Client    Client
	Services  *token.Services
	// Observe sees how each launch ended; nil: nobody looks. It must not wait.
	Observe func(o Outcome, took time.Duration)

	// ParallelMax bounds the calls at one time
	// (yarn.resourcemanager.amlauncher.thread-count).
	ParallelMax int
	// MaxWait is how long a node is tried
	// (yarn.client.nodemanager-connect.max-wait-ms); below 0: without end.
	MaxWait time.Duration
	// RetryInterval is the time between two tries
	// (yarn.client.nodemanager-connect.retry-interval-ms).
	RetryInterval time.Duration
	// CallTimeout bounds one call, with its connection.
	CallTimeout time.Duration
	// TokenLife is how long a container's token is good; the node's clock may be
	// off by that much (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
	TokenLife time.Duration
	// Pause is the time before the watch, or a report, is tried again.
	Pause time.Duration
}

// Outcome is how a launch ended.
type Outcome string

// Outcomes.
const (
	Launched    Outcome = "launched"
	Refused     Outcome = "refused"     // by the node, or because there is nothing to start
	Unreachable Outcome = "unreachable" // the node did not answer
	Dropped     Outcome = "dropped"     // the attempt ended, or the leadership
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

// Validate reports every fault of the configuration at once.
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
	}{{"retry interval", c.RetryInterval}, {"call time-out", c.CallTimeout}, {"life of a token", c.TokenLife}, {"pause", c.Pause}} {
		if d.v <= 0 {
			errs = append(errs, fmt.Errorf("%s must be positive, is %s", d.name, d.v))
		}
	}
	return errors.Join(errs...)
}
