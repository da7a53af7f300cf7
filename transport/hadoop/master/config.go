package master

import (
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/state"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// Config is the configuration of a Service.
type Config struct {
	Logger    hclog.Logger
	Submitter frontend.Submitter
	Reader    frontend.Reader
	// Maximum returns the largest container that the configuration allows in the queue in a slot,
	// and in the cluster.
	Maximum func(st *state.State, queue state.QueueSlot) (here, cluster yarn.Resource)
	// Services returns the addresses in tokens. If it is nil, tokens contain host names.
	Services *token.Services
	// ContainerExpiry is the minimum life of a container's token:
	// yarn.resourcemanager.rm.container-allocation.expiry-interval-ms.
	ContainerExpiry time.Duration
	// ForgetAfter is how long an attempt may be silent before the service forgets what it remembers
	// of it.
	ForgetAfter time.Duration
	// MaxAttempts limits the remembered attempts, and MaxNodeChanges the remembered changes of
	// nodes.
	MaxAttempts    int
	MaxNodeChanges int
	// Now is the clock.
	Now func() time.Time
	// Entropy returns 32 random bytes for the key of an AM's clients. It is nil where Kerberos does
	// not authenticate callers; AMs then get no such key.
	Entropy func() []byte
}

// DefaultConfig returns YARN's default of the expiry and defaults of the other limits. The caller
// must set Logger, Submitter and Reader.
func DefaultConfig() Config {
	return Config{
		ContainerExpiry: 10 * time.Minute,
		ForgetAfter:     20 * time.Minute,
		MaxAttempts:     100_000,
		MaxNodeChanges:  50_000,
		Now:             time.Now,
	}
}

// Validate returns all errors of the configuration, joined.
func (c Config) Validate() error {
	var errs []error
	if c.Logger == nil || c.Submitter == nil || c.Reader == nil || c.Maximum == nil || c.Now == nil {
		errs = append(errs, errors.New("logger, submitter, reader, maximum and clock are required"))
	}
	if c.ContainerExpiry < time.Second {
		errs = append(errs, errors.New("a container's token must last a second at least"))
	}
	if c.ForgetAfter < time.Second {
		errs = append(errs, errors.New("an attempt must be remembered for a second at least"))
	}
	if c.MaxAttempts < 1 || c.MaxNodeChanges < 1 {
		errs = append(errs, errors.New("the bounds of attempts and node changes must be above zero"))
	}
	return errors.Join(errs...)
}
