package local

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
	"rmd/cluster/timers"
	"rmd/internal/job"
)

// Config configures the Raft part of a replica. Start from DefaultConfig.
type Config struct {
	// ID names the replica in commands and certificates; Raft knows it as ID.INCARNATION.
	ID string
	// ClusterName must be equal on all replicas.
	ClusterName string
	// DataDir is the directory for everything on disk. It may be empty only if Options has all
	// stores.
	DataDir string
	// Advertise is the address that the other replicas dial. Empty means Peer's address.
	Advertise string
	// Peer has the connections to the other replicas. It may be nil only if Options has a
	// transport.
	Peer Peer
	// FSM applies committed entries.
	FSM raft.FSM
	// Logger is required.
	Logger hclog.Logger

	// BootstrapExpect is the number of empty replicas that must agree before the one with the
	// lowest id initializes the cluster. 0 turns this off. A replica with state ignores it.
	BootstrapExpect int
	// AllowEven permits an even BootstrapExpect.
	AllowEven bool
	// Join lists the addresses of all replicas. BootstrapExpect and the check of Init use it.
	Join []string

	timers.Timers
	// Raft takes a snapshot after SnapshotThreshold entries or SnapshotBytes bytes of log. It
	// checks the number of entries every SnapshotInterval.
	SnapshotThreshold uint64
	SnapshotBytes     int64
	SnapshotInterval  time.Duration
	// Trailing is the number of entries that stay in the log after a snapshot.
	Trailing uint64
	// EntryMax is the maximum size of one entry in bytes.
	EntryMax int

	// Below DiskReserve bytes of free space a leader gives leadership up. Below DiskStop bytes the
	// replica refuses writes.
	DiskReserve, DiskStop uint64
	// When one write has taken HungGiveUp, a leader gives leadership up. When it has taken
	// HungExit, the replica stops. A leader also gives leadership up if something else has waited
	// for HungGiveUp, and for at least 8 election timeouts, while nothing got done (Progress).
	HungGiveUp, HungExit time.Duration

	// Autopilot configures which replicas count as healthy and which are promoted.
	Autopilot AutopilotConfig
	// AutopilotNow returns settings that replace Autopilot's, except Interval. It returns false if
	// there are none. It is called each time the settings are used. Nil means none.
	AutopilotNow func() (AutopilotConfig, bool)
	// DigestInterval is the time between two comparisons of digests by the leader. 0 turns them
	// off.
	DigestInterval time.Duration

	// Version is the version of this program, for display only.
	Version string
	// Level is the highest feature level that this replica can apply. FeatureLevel returns the
	// cluster's level.
	Level        uint64
	FeatureLevel func() uint64

	// OnFatal is called once, immediately, when this replica must stop. It should not return.
	OnFatal func(code int, err error)
	// VerifySnapshot reads a whole snapshot and checks it. It is called before the snapshot is
	// restored. It returns ErrNewer for a snapshot that a newer program wrote.
	VerifySnapshot func(io.Reader) error
	// VerifyEntry checks that the FSM can apply an entry. It is called before an entry is proposed
	// or stored. Nil means that the FSM can apply every entry.
	VerifyEntry func(data []byte) error
	// Revoked reports whether the certificate with a serial number, in hexadecimal, is revoked. Nil
	// means that none is.
	Revoked func(serial string) bool
	// CheckToken consumes a join token for the replica with the server id by. It returns the
	// token's role, RoleVoter or RoleNonvoter. With dry it only checks the token. It runs on the
	// leader. Its error may be a *refusal.Refusal. Nil means that every token is valid and makes a voter.
	CheckToken func(token, by string, dry bool) (role string, err error)
	// Digest returns the FSM's digest at an applied index, or at the latest one if index is 0. Nil
	// means that digests are not compared.
	Digest func(index uint64) (at uint64, digest []byte, ok bool)
	// Problem returns another problem of this replica, or "" if there is none. Members shows it.
	// Nil means that there is none.
	Problem func() string
	// Warning returns what will become a problem of this replica if nobody acts, or "". Members shows
	// it. Nil means that there is nothing.
	Warning func() string
	// Jobs has the records of the background jobs. Nil means that nothing is recorded.
	Jobs *job.Registry
	// OnStepDown is called after this leader gave up leadership because it made no progress. It must
	// return quickly. Nil drops the call.
	OnStepDown func(StepDown)
	// Observe receives measurements. It must return quickly. Nil drops them.
	Observe func(what Measure, d time.Duration)

	// Options replaces parts for simulations and tests.
	Options Options
}

// Options replaces parts that a production replica creates itself. The zero value replaces nothing.
type Options struct {
	LogStore      raft.LogStore
	StableStore   raft.StableStore
	SnapshotStore raft.SnapshotStore
	Transport     raft.Transport
	// Incarnation and ClusterID are used as the identity if there is no DataDir.
	Incarnation, ClusterID string
	// Identity is used instead of Incarnation and ClusterID: it is the identity that a replica
	// without a DataDir had stored. KeepIdentity stores each change of it.
	Identity     *identity.Identity
	KeepIdentity func(identity.Identity) error
	// FreeSpace returns the free bytes of the file system that contains dir. Nil asks the kernel.
	FreeSpace func(dir string) (uint64, error)
	// LowTrailing permits Trailing below 1,024 and thresholds of a few entries.
	LowTrailing bool
	// HeartbeatFastPath keeps raft's heartbeat handler and with it hashicorp/raft #695, so that a
	// simulation can show that the work-around is needed.
	HeartbeatFastPath bool
	// CommitTimeout is the time after which a follower learns of a commit if nothing told it
	// earlier. 0 means 100 ms.
	CommitTimeout time.Duration
	// FastTimers permits timeouts below the recommended minimum, for measurements.
	FastTimers bool
}

// Stores returns the stores that replace those on disk.
func (o Options) Stores() raftstore.Options {
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
	// Interval is the time between two health checks. Changes are made at the same interval.
	Interval time.Duration `json:"interval"`
}

// StepDown says why a leader gave up leadership.
type StepDown struct {
	Term  uint64
	Cause string // CauseDisk and so on
	Why   string // what waited, as in Progress
	At    time.Time
}

// Measure names a measurement that Config.Observe receives.
type Measure string

// The measurements, with what each one covers.
const (
	MeasureSync     Measure = "sync"        // one write to the store, with its syncs
	MeasureCommit   Measure = "commit"      // from Propose until the entry is applied
	MeasureElection Measure = "election"    // this replica became leader; the duration is 0
	MeasureSnapshot Measure = "snapshot"    // one snapshot written
	MeasureNoShot   Measure = "no snapshot" // a snapshot could not be written; the duration is 0
	MeasureInstall  Measure = "install"     // a snapshot was received from the leader; the duration is 0
	MeasureRestart  Measure = "restart"     // raft was restarted in place
	MeasureCrash    Measure = "crash"       // from the proof that the leader is dead until the next leader is known
)

// DefaultConfig returns the defaults. docs/operations/settings.md lists them.
func DefaultConfig() Config {
	return Config{
		Timers:            timers.Default(),
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

// TrailingMin is the lowest Trailing: with fewer entries a follower may need one snapshot after the other.
const TrailingMin = 1024

// ReplicasMax is the greatest number of voters.
const ReplicasMax = 7

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// ValidID reports whether a text can be the id of a replica or of a cluster.
func ValidID(id string) bool { return idPattern.MatchString(id) }

// Validate returns all errors of the configuration, joined.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if !ValidID(c.ID) {
		bad("invalid id %q: use 1 to 64 letters, digits, '_', '-', '.'", c.ID)
	}
	if !ValidID(c.ClusterName) {
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
	check := c.Timers.Check
	if o.FastTimers {
		check = c.Timers.CheckOrder
	}
	for _, f := range check() {
		errs = append(errs, f)
	}
	if c.Trailing < TrailingMin && !o.LowTrailing {
		bad("raft.trailing is %d, but must be at least %d: with fewer entries a follower may need one snapshot after the other", c.Trailing, TrailingMin)
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
		return fmt.Errorf(
			"raft.bootstrap_expect is %d, but raft.join lists %d addresses: list every replica, including this one",
			n, len(c.Join))
	}
	return nil
}

// Validate returns an error for values that are out of range.
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
