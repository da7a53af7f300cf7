package admin

import (
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/scheduler/input"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/ipc"
)

// Files are Hadoop's configuration files, as they are on this replica now.
type Files interface {
	// Queues is the content of capacity-scheduler.xml with what the planner reads
	// of yarn-site.xml.
	Queues() ([]input.Property, error)
	// Illegal is what YARN says of queues that cannot be used; empty if rmd has its own words for them.
	Illegal(queues []input.Property) string
	// Hosts are the lists that yarn.resourcemanager.nodes.include-path and
	// exclude-path name, with the times of the latter.
	Hosts() (*input.SetHosts, error)
	// Reload reads the files again for this replica's own use.
	Reload() error
}

// Config is what the Service needs.
type Config struct {
	Logger hclog.Logger
	// ID is this replica's.
	ID        string
	Submitter frontend.Submitter
	Reader    frontend.Reader
	Files     Files
	// Admit refuses callers that yarn.admin.acl does not name; nil admits all.
	Admit func(c *ipc.Caller, operation string) error
	// Groups are a user's, as this machine knows them.
	Groups func(user string) []string
	// Leader says whether this replica leads, and whether any does.
	Leader func() (here, known bool)
	// Unhealthy says why this replica should not be used; nil while it should.
	Unhealthy func() error
	// Standby, when it returns an error, makes all but HAServiceProtocol refuse
	// as a YARN standby does. Nil never refuses.
	Standby func() error
	// Authorization is hadoop.security.authorization.
	Authorization bool
	// GracefulTime is how long nodes may take to leave when a graceful
	// refreshNodes does not say; 0 is without end:
	// yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs.
	GracefulTime time.Duration
}

// DefaultConfig has YARN's default times; the rest is the caller's.
func DefaultConfig() Config { return Config{GracefulTime: time.Hour} }

// Validate reports every fault of the configuration at once.
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
