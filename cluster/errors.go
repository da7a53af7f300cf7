package cluster

import (
	"errors"

	"rmd/cluster/identity"
	"rmd/cluster/raftstore"
	"rmd/cluster/refusal"
	"rmd/internal/outcome"
)

var (
	// ErrNotLeader means that the entry was not appended, because another replica or none leads.
	ErrNotLeader = outcome.ErrNotLeader
	// ErrUnknownOutcome means that this replica lost leadership, or raft stopped, while the entry
	// was being committed. The entry may be committed later or never.
	ErrUnknownOutcome = outcome.ErrUnknown
	// ErrNoLeader means that no leader is known.
	ErrNoLeader = errors.New("no leader")
	// ErrClosed is returned after Close and after a fatal error.
	ErrClosed = errors.New("replica is stopping")
	// ErrTooLarge means that an entry is larger than Config.EntryMax. It was not appended.
	ErrTooLarge = outcome.ErrTooLarge
	// ErrDiskFull means that the free space is below Config.DiskStop. The entry was not appended.
	ErrDiskFull = errors.New("disk full, writes are refused")
	// ErrRemoved means that this replica was removed from the cluster.
	ErrRemoved = errors.New("this replica was removed from the cluster")
	// ErrDigest means that this replica's state differs from the majority's.
	ErrDigest = errors.New("state digest differs from the majority's")
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
