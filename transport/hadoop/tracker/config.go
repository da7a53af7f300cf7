package tracker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/hadoopconf"
	"rmd/transport/frontend"
)

// Values of Config.MinimumVersion that are not a version.
const (
	AnyVersion = "NONE"
	EqualToRM  = "EqualToRM"
)

// Config is the configuration of a Service.
type Config struct {
	Logger    hclog.Logger
	Submitter frontend.Submitter
	Reader    frontend.Reader
	// Racks returns the racks of hosts.
	Racks Racks
	// Lookup resolves a host name. It is needed for CheckHost.
	Lookup func(ctx context.Context, host string) ([]string, error)

	// Version is the version of this ResourceManager in answers to nodes.
	Version string
	// MinimumVersion is the oldest NodeManager version that may register, AnyVersion or EqualToRM:
	// yarn.resourcemanager.nodemanager.minimum.version.
	MinimumVersion string
	// CheckHost refuses nodes whose host name cannot be resolved:
	// yarn.resourcemanager.resource-tracker.nm.ip-hostname-check.
	CheckHost bool
	// HeartbeatInterval is the interval that nodes are told:
	// yarn.resourcemanager.nodemanagers.heartbeat-interval-ms.
	HeartbeatInterval time.Duration
	// Expiry is the time of silence after which a node is lost:
	// yarn.nm.liveness-monitor.expiry-interval-ms. Sessions are kept for twice that time.
	Expiry time.Duration

	// BatchInterval is how long idle heartbeats are collected. BatchNodesMax limits the nodes in
	// one input.
	BatchInterval time.Duration
	BatchNodesMax int
	// CutAfter limits how long this replica answers idle heartbeats by itself while it does not
	// reach a leader.
	CutAfter time.Duration
	// ViewFor is the maximum age of the state by which a heartbeat is found to be idle. 0 means
	// that every heartbeat uses the newest state.
	ViewFor time.Duration

	// ContainersMax and ApplicationsMax limit the lists in one call. DiagnosticsMax limits one
	// text, in bytes.
	ContainersMax   int
	ApplicationsMax int
	DiagnosticsMax  int
}

// DefaultConfig returns YARN's defaults. The caller must set Logger, Submitter, Reader and Racks.
func DefaultConfig() Config {
	return Config{
		Lookup:            lookup,
		Version:           "3.4.2",
		MinimumVersion:    AnyVersion,
		HeartbeatInterval: time.Second,
		Expiry:            10 * time.Minute,
		BatchInterval:     20 * time.Millisecond,
		BatchNodesMax:     2000,
		CutAfter:          10 * time.Second,
		ViewFor:           10 * time.Millisecond,
		ContainersMax:     20_000,
		ApplicationsMax:   20_000,
		DiagnosticsMax:    16 << 10,
	}
}

// ConfigOf returns DefaultConfig with the values in Hadoop's files. The error names every key with
// an invalid value.
func ConfigOf(conf *hadoopconf.Config) (Config, error) {
	c := DefaultConfig()
	c.MinimumVersion = conf.Value("yarn.resourcemanager.nodemanager.minimum.version", c.MinimumVersion)
	var errs []error
	for _, d := range []struct {
		key string
		to  *time.Duration
	}{
		{"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", &c.HeartbeatInterval},
		{"yarn.nm.liveness-monitor.expiry-interval-ms", &c.Expiry},
	} {
		n, err := strconv.ParseInt(conf.Value(d.key, strconv.FormatInt(d.to.Milliseconds(), 10)), 10, 48)
		if err != nil || n < 1 {
			errs = append(errs, fmt.Errorf("%s: %q is not a number of milliseconds above 0", d.key, conf.Value(d.key, "")))
			continue
		}
		*d.to = time.Duration(n) * time.Millisecond
	}
	c.CheckHost = strings.EqualFold(conf.Value("yarn.resourcemanager.resource-tracker.nm.ip-hostname-check", "false"),
		"true")
	return c, errors.Join(errs...)
}

// Validate returns all errors of the configuration, joined.
func (c Config) Validate() error {
	var errs []error
	if c.Logger == nil || c.Submitter == nil || c.Reader == nil || c.Racks == nil {
		errs = append(errs, errors.New("logger, submitter, reader and racks are required"))
	}
	if c.CheckHost && c.Lookup == nil {
		errs = append(errs, errors.New("checking hosts needs the Lookup function"))
	}
	if c.Version == "" || c.MinimumVersion == "" {
		errs = append(errs, errors.New("the version and the minimum version are required (NONE for none)"))
	}
	if c.HeartbeatInterval < time.Millisecond || c.Expiry < c.HeartbeatInterval {
		errs = append(errs,
			fmt.Errorf("heartbeats every %v with expiry after %v: use a millisecond or more, and an expiry that is longer",
				c.HeartbeatInterval, c.Expiry))
	}
	if c.BatchInterval <= 0 || c.BatchNodesMax < 1 || c.ViewFor < 0 || c.CutAfter <= 0 {
		errs = append(errs,
			errors.New("batches need an interval and a size, and failures a time, above 0 (start from DefaultConfig)"))
	}
	if c.ContainersMax < 1 || c.ApplicationsMax < 1 || c.DiagnosticsMax < 64 {
		errs = append(errs, errors.New("the bounds of lists and texts must be positive (start from DefaultConfig)"))
	}
	return errors.Join(errs...)
}
