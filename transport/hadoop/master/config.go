package master

import (
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/frontend"
	"rmd/transport/hadoop/token"
)

// Config is what the Service needs.
type Config struct {
	Logger    hclog.Logger
	Submitter frontend.Submitter
	Reader    frontend.Reader
	// Services writes the addresses in tokens; nil knows no host's address.
	Services *token.Services
	// ContainerExpiry is for how long a container's token lets it be started at
	// least: yarn.resourcemanager.rm.container-allocation.expiry-interval-ms.
	ContainerExpiry time.Duration
	// ForgetAfter is how long an attempt may be silent before what the service
	// remembers of it is dropped.
	ForgetAfter time.Duration
	// MaxAttempts bounds the attempts that are remembered, MaxNodeChanges the
	// changes of nodes.
	MaxAttempts    int
	MaxNodeChanges int
	// Now is the clock.
	Now func() time.Time
}

// DefaultConfig has YARN's default of the expiry; logger, submitter and reader are
// the caller's.
func DefaultConfig() Config {
	return Config{
		ContainerExpiry: 10 * time.Minute,
		ForgetAfter:     20 * time.Minute,
		MaxAttempts:     100_000,
		MaxNodeChanges:  50_000,
		Now:             time.Now,
	}
}

// Validate reports every fault of the configuration at once.
func (c Config) Validate() error {
	var errs []error
	if c.Logger == nil || c.Submitter == nil || c.Reader == nil || c.Now == nil {
		errs = append(errs, errors.New("logger, submitter, reader and clock are required"))
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
