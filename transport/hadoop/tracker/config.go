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

// Values of Config.MinimumVersion beside a version.
const (
	AnyVersion = "NONE"
	EqualToRM  = "EqualToRM"
)

// Config is what the Service needs.
type Config struct {
	Logger    hclog.Logger
	Submitter frontend.Submitter
	Reader    frontend.Reader
	// Racks tells where hosts stand.
	Racks Racks
	// Lookup resolves a host's name, for CheckHost.
	Lookup func(ctx context.Context, host string) ([]string, error)

	// Version is what nodes are told that this ResourceManager is.
	Version string
	// MinimumVersion is the oldest NodeManager that may register, AnyVersion or
	// EqualToRM: yarn.resourcemanager.nodemanager.minimum.version.
	MinimumVersion string
	// CheckHost refuses nodes whose host cannot be resolved:
	// yarn.resourcemanager.resource-tracker.nm.ip-hostname-check.
	CheckHost bool
	// HeartbeatInterval is what nodes are told:
	// yarn.resourcemanager.nodemanagers.heartbeat-interval-ms.
	HeartbeatInterval time.Duration
	// Expiry is after what silence a node is lost:
	// yarn.nm.liveness-monitor.expiry-interval-ms. Sessions are kept for twice that.
	Expiry time.Duration

	// BatchInterval is how long the heartbeats of nodes with nothing to say are
	// gathered, BatchNodesMax how many go in one input.
	BatchInterval time.Duration
	BatchNodesMax int
	// CutAfter is how long heartbeats may fail to reach a leader before heartbeats are
	// not answered by this replica alone any more.
	CutAfter time.Duration
	// ViewFor is how old the state may be by which a heartbeat is found to have
	// nothing to be told; 0 is not at all.
	ViewFor time.Duration

	// ContainersMax and ApplicationsMax bound the lists of one call,
	// DiagnosticsMax the bytes of one text.
	ContainersMax   int
	ApplicationsMax int
	DiagnosticsMax  int
}

// DefaultConfig has YARN's defaults; logger, submitter, reader and racks are the
// caller's.
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

// ConfigOf is DefaultConfig with what the files of a replica say.
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
	c.CheckHost = strings.EqualFold(conf.Value("yarn.resourcemanager.resource-tracker.nm.ip-hostname-check", "false"), "true")
	return c, errors.Join(errs...)
}

// Validate reports every fault of the configuration at once.
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
		errs = append(errs, fmt.Errorf("heartbeats every %v with expiry after %v: use a millisecond or more, and an expiry that is longer", c.HeartbeatInterval, c.Expiry))
	}
	if c.BatchInterval <= 0 || c.BatchNodesMax < 1 || c.ViewFor < 0 || c.CutAfter <= 0 {
		errs = append(errs, errors.New("batches need an interval and a size, and failures a time, above 0 (start from DefaultConfig)"))
	}
	if c.ContainersMax < 1 || c.ApplicationsMax < 1 || c.DiagnosticsMax < 64 {
		errs = append(errs, errors.New("the bounds of lists and texts must be positive (start from DefaultConfig)"))
	}
	return errors.Join(errs...)
}
