package admin

import (
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/scheduler/input"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/ipc"
)

// Files are the Hadoop configuration files on this replica.
type Files interface {
	// Queues returns the content of capacity-scheduler.xml, and the keys of yarn-site.xml that the
	// planner reads.
	Queues() ([]input.Property, error)
	// Illegal returns YARN's error text for an invalid queue configuration. It returns "" if YARN
	// has none.
	Illegal(queues []input.Property) string
	// Hosts returns the lists of yarn.resourcemanager.nodes.include-path and exclude-path, and the
	// timeouts in the latter.
	Hosts() (*input.SetHosts, error)
	// Reload reads the files again for this replica's own use.
	Reload() error
}

// Config is the configuration of a Service.
type Config struct {
	Logger hclog.Logger
	// ID is the id of this replica.
	ID        string
	Submitter frontend.Submitter
	Reader    frontend.Reader
	Files     Files
	// Admit returns an error for a caller that is not in yarn.admin.acl. If it is nil, every caller
	// is admitted.
	Admit func(c *ipc.Caller, operation string) error
	// Groups returns the groups of a user on this machine.
	Groups func(user string) []string
	// Leader reports whether this replica leads, and whether any replica does.
	Leader func() (here, known bool)
	// Unhealthy returns the reason why this replica should not be used, or nil.
	Unhealthy func() error
	// Standby may return an error. All methods except those of HAServiceProtocol then refuse calls
	// as a YARN standby does. It may be nil.
	Standby func() error
	// Authorization is hadoop.security.authorization.
	Authorization bool
	// GracefulTime is the time limit of a graceful refreshNodes without a timeout
	// (yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs). 0 means no limit.
	GracefulTime time.Duration
}

// DefaultConfig returns YARN's default times. The caller must set the rest.
func DefaultConfig() Config { return Config{GracefulTime: time.Hour} }

// Validate returns all errors of the configuration, joined.
func (c Config) Validate() error {
	var errs []error
	if c.Logger == nil || c.Submitter == nil || c.Reader == nil || c.Files == nil {
		errs = append(errs, errors.New("logger, submitter, reader and files are required"))
	}
	if c.Groups == nil || c.Leader == nil || c.Unhealthy == nil {
		errs = append(errs, errors.New("groups, leader and health are required"))
	}
	if c.ID == "" {
		errs = append(errs, errors.New("the replica's id is required"))
	}
	if c.GracefulTime < 0 {
		errs = append(errs, errors.New("the graceful time must not be negative (start from DefaultConfig)"))
	}
	return errors.Join(errs...)
}
