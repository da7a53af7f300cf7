package cluster

import (
	"rmd/cluster/access"
	"rmd/cluster/identity"
	"rmd/cluster/leading"
	"rmd/cluster/local"
	"rmd/cluster/progress"
	"rmd/cluster/raftstore"
	"rmd/cluster/refusal"
)

// The names of other packages that callers of this package use.
type (
	// Config configures the Raft part of a replica.
	Config = local.Config
	// Options replaces parts that a production replica creates itself.
	Options = local.Options
	// AutopilotConfig holds the settings of "rmd autopilot".
	AutopilotConfig = local.AutopilotConfig
	// Peer has the connections to the other replicas.
	Peer = local.Peer
	// Measure names a measurement that Config.Observe receives.
	Measure = local.Measure
	// Leadership says which replica leads, as far as this replica knows.
	Leadership = leading.Leadership
	// Progress says whether this replica makes progress with its log, and what hinders it.
	Progress = progress.Progress
	// EntryRefusal says that a follower answers and does not store the leader's entries.
	EntryRefusal = progress.EntryRefusal
	// Work says what the work above Raft does.
	Work = progress.Work
	// StepDown says why a leader gave up leadership.
	StepDown = local.StepDown
)

// The measurements; package local says what each one covers.
const (
	MeasureSync     = local.MeasureSync
	MeasureCommit   = local.MeasureCommit
	MeasureElection = local.MeasureElection
	MeasureSnapshot = local.MeasureSnapshot
	MeasureNoShot   = local.MeasureNoShot
	MeasureInstall  = local.MeasureInstall
	MeasureRestart  = local.MeasureRestart
	MeasureCrash    = local.MeasureCrash
)

// Bounds of settings; package local says what each one bounds.
const (
	ReplicasMax = local.ReplicasMax
	TrailingMin = local.TrailingMin
)

// ValidID reports whether a text can be the id of a replica or of a cluster.
func ValidID(id string) bool { return local.ValidID(id) }

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return local.DefaultConfig() }

// Errors of proposals, reads and the start.
var (
	ErrNotLeader      = local.ErrNotLeader
	ErrUnknownOutcome = local.ErrUnknownOutcome
	ErrNoLeader       = local.ErrNoLeader
	ErrClosed         = local.ErrClosed
	ErrTooLarge       = local.ErrTooLarge
	ErrDiskFull       = local.ErrDiskFull
	ErrRemoved        = local.ErrRemoved
	ErrBadEntry       = access.ErrBadEntry
)

// Errors of the data directory and the stores.
var (
	ErrNewer   = raftstore.ErrNewer
	ErrInUse   = raftstore.ErrInUse
	ErrDamaged = raftstore.ErrDamaged
	ErrForeign = raftstore.ErrForeign
	ErrModes   = raftstore.ErrModes
)

// IsNoSpace reports whether err means that the file system or the quota is full.
func IsNoSpace(err error) bool { return raftstore.IsNoSpace(err) }

// Identity is the identity that a replica stores.
type Identity = identity.Identity

// Trust contains what a replica needs to prove its identity and to recognize other replicas.
type Trust = identity.Trust

// Refusal is the error of a request that was refused and changed nothing.
type Refusal = refusal.Refusal

// Roles with which a replica may join.
const (
	RoleVoter    = identity.RoleVoter
	RoleNonvoter = identity.RoleNonvoter
)
