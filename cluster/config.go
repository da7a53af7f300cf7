package cluster

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/raftstore"
)

// Config is what a replica's consensus part needs. Start from DefaultConfig.
type Config struct {
	// ID names the replica in commands and certificates; Raft knows it as ID.INCARNATION.
	ID string
	// ClusterName must be equal on all replicas.
	ClusterName string
	// DataDir holds everything on disk. It may be empty only when all stores are injected.
	DataDir string
	// Advertise is the address others dial; empty: Peer's.
	Advertise string
	// Peer is the connections to the other replicas. Nil only with an injected transport.
	Peer Peer
	// FSM applies committed entries.
	FSM raft.FSM
	// Logger is required.
	Logger hclog.Logger

	// BootstrapExpect is the number of empty replicas that must agree before the lowest id
	// initializes; 0 turns it off. Ignored once state exists.
	BootstrapExpect int
	// AllowEven permits an even BootstrapExpect.
	AllowEven bool
	// Join lists the addresses of all replicas, for BootstrapExpect and for Init's check.
	Join []string

	// Heartbeat, Election and Lease are Raft's timeouts: lease <= heartbeat <= election.
	Heartbeat, Election, Lease time.Duration
	// SnapshotThreshold is the number of entries, SnapshotBytes the bytes after which a snapshot is
	// taken; SnapshotInterval is how often that is looked at.
	SnapshotThreshold uint64
	SnapshotBytes     int64
	SnapshotInterval  time.Duration
	// Trailing is how many entries stay in the log after a snapshot.
	Trailing uint64
	// EntryMax bounds one entry in bytes.
	EntryMax int

	// DiskReserve is the free space below which leadership is given up, DiskStop the one below
	// which writes are refused.
	DiskReserve, DiskStop uint64
	// HungGiveUp is the age of one write at which leadership is given up, HungExit the fatal one.
	HungGiveUp, HungExit time.Duration

	// Autopilot judges and promotes replicas.
	Autopilot AutopilotConfig
	// AutopilotNow returns settings that stand in for Autopilot's, all but Interval, or false as
	// long as there are none. It is asked at every look. Nil: there are none.
	AutopilotNow func() (AutopilotConfig, bool)
	// DigestInterval is how often the leader compares digests; 0 turns it off.
	DigestInterval time.Duration

	// Version is this program's version, shown to people.
	Version string
	// Level is the highest feature level this replica can apply, FeatureLevel the cluster's.
	Level        uint64
	FeatureLevel func() uint64

	// OnFatal is called once, at once, when this replica must not go on. It should not return.
	OnFatal func(code int, err error)
	// VerifySnapshot reads a whole snapshot and checks it. It is called before anything is
	// restored. ErrNewer is what it returns for one that this program is too old for.
	VerifySnapshot func(io.Reader) error
	// VerifyEntry says whether the FSM can apply an entry. It is called before an entry is proposed
	// or stored. Nil: it can apply all.
	VerifyEntry func(data []byte) error
	// Revoked says whether the certificate with a serial number, in hexadecimal, is revoked. Nil:
	// none is.
	Revoked func(serial string) bool
	// CheckToken uses up a join token for the replica with the server id by, and returns its role,
	// RoleVoter or RoleNonvoter; dry only looks at it. It runs on the leader. Its error may be a
	// *Refusal. Nil: every token is good.
	CheckToken func(token, by string, dry bool) (role string, err error)
	// Digest returns the FSM's digest at an applied index, or at the latest for 0. Nil: no
	// comparison.
	Digest func(index uint64) (at uint64, digest []byte, ok bool)
	// Problem says what else is wrong with this replica, "" for nothing; it is shown with its
	// members. Nil: nothing is.
	Problem func() string
	// Observe takes measurements; it must be quick. Nil: none.
	Observe func(what Measure, d time.Duration)

	// Options replace parts for simulations and tests.
	Options Options
}

// Options replace what production makes itself.
type Options struct {
	LogStore      raft.LogStore
	StableStore   raft.StableStore
	SnapshotStore raft.SnapshotStore
	Transport     raft.Transport
	// Incarnation and ClusterID are the identity when there is no DataDir.
	Incarnation, ClusterID string
	// Identity is what such a replica kept, instead of those two; KeepIdentity keeps each change of
	// it.
	Identity     *identity.Identity
	KeepIdentity func(identity.Identity) error
	// FreeSpace returns the free bytes of the file system under dir. Nil: the kernel's.
	FreeSpace func(dir string) (uint64, error)
	// LowTrailing permits Trailing below 1,024 and thresholds of a few entries.
	LowTrailing bool
	// HeartbeatFastPath keeps raft's heartbeat handler, which brings back hashicorp/raft #695, so
	// that a simulation can show that the guard is needed.
	HeartbeatFastPath bool
	// CommitTimeout is when a follower learns of a commit that it has not learned of otherwise. 0:
	// 100 ms.
	CommitTimeout time.Duration
	// FastTimers permits timeouts below the lowest advised, for measurements.
	FastTimers bool
}

// stores are the stores that replace those on disk.
func (o Options) stores() raftstore.Options {
	return raftstore.Options{Log: o.LogStore, Stable: o.StableStore, Snapshots: o.SnapshotStore}
}

// AutopilotConfig holds the settings of "rmd autopilot".
type AutopilotConfig struct {
	CleanupDeadServers             bool          `json:"cleanup_dead_servers"`
	DeadServerLastContactThreshold time.Duration `json:"dead_server_last_contact_threshold"`
	MinQuorum                      uint          `json:"min_quorum"`
	LastContactThreshold           time.Duration `json:"last_contact_threshold"`
	MaxTrailingLogs                uint64        `json:"max_trailing_logs"`
	ServerStabilizationTime        time.Duration `json:"server_stabilization_time"`
	// Interval is how often health is looked at and changes are made.
	Interval time.Duration `json:"interval"`
}

// Measure names a measurement of Config.Observe.
type Measure string

// The measurements.
const (
	MeasureSync     Measure = "sync"     // one write to the store, with its syncs
	MeasureCommit   Measure = "commit"   // Propose to applied
	MeasureElection Measure = "election" // leadership taken here
	MeasureSnapshot Measure = "snapshot" // one snapshot written
	MeasureInstall  Measure = "install"  // a snapshot received from the leader
	MeasureRestart  Measure = "restart"  // raft restarted in place
	MeasureCrash    Measure = "crash"    // proof of the leader's end to the next known leader
)

// DefaultConfig returns the defaults that docs/operations/settings.md lists.
func DefaultConfig() Config {
	return Config{
		Heartbeat: 500 * time.Millisecond, Election: 500 * time.Millisecond, Lease: 400 * time.Millisecond,
		SnapshotThreshold: 8192, SnapshotBytes: 256 << 20, SnapshotInterval: 30 * time.Second, Trailing: 2048,
		EntryMax:    1 << 20,
		DiskReserve: 256 << 20, DiskStop: 64 << 20,
		HungGiveUp: 5 * time.Second, HungExit: 20 * time.Second,
		DigestInterval: 10 * time.Second,
		Autopilot:      DefaultAutopilot(),
	}
}

// DefaultAutopilot returns the defaults of "rmd autopilot".
func DefaultAutopilot() AutopilotConfig {
	return AutopilotConfig{
		DeadServerLastContactThreshold: 24 * time.Hour, LastContactThreshold: 10 * time.Second,
		MaxTrailingLogs: 1000, ServerStabilizationTime: 10 * time.Second, Interval: 2 * time.Second,
	}
}

// Limits on configured values.
const (
	heartbeatMin = 100 * time.Millisecond
	trailingMin  = 1024
)

// ReplicasMax is the greatest number of voters.
const ReplicasMax = 7

// serverPattern is an id, or ID.INCARNATION.
var serverPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// Validate reports every fault of the configuration at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if !idPattern.MatchString(c.ID) {
		bad("invalid id %q: use 1 to 64 letters, digits, '_', '-', '.'", c.ID)
	}
	if !idPattern.MatchString(c.ClusterName) {
		bad("invalid cluster name %q: use 1 to 64 letters, digits, '_', '-', '.'", c.ClusterName)
	}
	if c.FSM == nil || c.Logger == nil {
		bad("fsm and logger are required")
	}
	o := c.Options
	if c.DataDir == "" && (o.LogStore == nil || o.StableStore == nil || o.SnapshotStore == nil) {
		bad("data directory is missing")
	}
	if c.Peer == nil && o.Transport == nil {
		bad("peer is missing")
	}
	if c.Heartbeat < heartbeatMin && !o.FastTimers {
		bad("raft.heartbeat is %s, but must be at least %s; do not set heartbeat/election/lease below 150ms/150ms/100ms", c.Heartbeat, heartbeatMin)
	}
	if c.Lease <= 0 || c.Lease > c.Heartbeat || c.Heartbeat > c.Election {
		bad("raft timeouts: lease %s, heartbeat %s and election %s must not decrease in this order", c.Lease, c.Heartbeat, c.Election)
	}
	if c.Trailing < trailingMin && !o.LowTrailing {
		bad("raft.trailing is %d, but must be at least %d: with fewer entries a follower may need one snapshot after the other", c.Trailing, trailingMin)
	}
	if c.SnapshotThreshold == 0 || c.SnapshotInterval < 5*time.Millisecond || c.EntryMax <= 0 {
		bad("raft.snapshot_threshold, raft.snapshot_interval and the entry size must be positive")
	}
	if c.DiskStop > c.DiskReserve {
		bad("disk stop level %d is above the reserve %d", c.DiskStop, c.DiskReserve)
	}
	if c.HungGiveUp <= 0 || c.HungExit <= c.HungGiveUp {
		bad("disk watchdog: give up %s must be positive and less than exit %s", c.HungGiveUp, c.HungExit)
	}
	errs = append(errs, c.validateExpect(), c.Autopilot.Validate())
	return errors.Join(errs...)
}

// validateExpect checks bootstrap_expect.
func (c Config) validateExpect() error {
	n := c.BootstrapExpect
	switch {
	case n == 0:
		return nil
	case n < 0 || n > ReplicasMax:
		return fmt.Errorf("raft.bootstrap_expect is %d, but must be between 0 and %d", n, ReplicasMax)
	case n%2 == 0 && !c.AllowEven:
		return fmt.Errorf("raft.bootstrap_expect %d is even: the last voter adds no fault tolerance; use an odd number, or set raft.allow_even", n)
	case len(c.Join) != n:
		return fmt.Errorf("raft.bootstrap_expect is %d, but raft.join lists %d addresses: list every replica, including this one", n, len(c.Join))
	}
	return nil
}

// Validate reports values out of range.
func (a AutopilotConfig) Validate() error {
	var errs []error
	if a.CleanupDeadServers && a.MinQuorum < 3 {
		errs = append(errs, errors.New("autopilot: cleanup_dead_servers requires min_quorum of at least 3"))
	}
	if a.DeadServerLastContactThreshold < time.Minute {
		errs = append(errs, errors.New("autopilot: dead_server_last_contact_threshold must be at least 1m"))
	}
	if a.LastContactThreshold <= 0 || a.ServerStabilizationTime < 0 || a.Interval < 10*time.Millisecond {
		errs = append(errs, errors.New("autopilot: thresholds must be positive"))
	}
	return errors.Join(errs...)
}
