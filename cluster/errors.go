package cluster

import (
	"errors"
	"fmt"

	"rmd/cluster/identity"
	"rmd/cluster/raftstore"
	"rmd/internal/outcome"
)

var (
	// ErrNotLeader means that the entry was surely not appended: another replica leads, or none.
	ErrNotLeader = outcome.ErrNotLeader
	// ErrUnknownOutcome means that leadership was lost, or raft stopped, while the entry was being
	// committed: it may be committed later or never.
	ErrUnknownOutcome = outcome.ErrUnknown
	// ErrNoLeader means that no leader is known.
	ErrNoLeader = errors.New("no leader")
	// ErrClosed is returned after Close and after a fatal error.
	ErrClosed = errors.New("replica is stopping")
	// ErrTooLarge is returned for an entry above Config.EntryMax; it was not appended.
	ErrTooLarge = outcome.ErrTooLarge
	// ErrDiskFull means that free space is below the stop level; the entry was not appended.
	ErrDiskFull = errors.New("disk full, writes are refused")
	// ErrRemoved means that this replica was removed from the cluster.
	ErrRemoved = errors.New("this replica was removed from the cluster")
	// ErrDigest means that this replica's state differs from the majority's.
	ErrDigest = errors.New("state digest differs from the majority's")
)

// What the data directory and the stores say.
var (
	ErrNewer   = raftstore.ErrNewer
	ErrInUse   = raftstore.ErrInUse
	ErrDamaged = raftstore.ErrDamaged
	ErrForeign = raftstore.ErrForeign
	ErrModes   = raftstore.ErrModes
)

// Identity is what a replica keeps about itself.
type Identity = identity.Identity

// Trust is what a replica keeps to prove who it is, and to recognize others.
type Trust = identity.Trust

// Roles a replica may have been let in for.
const (
	RoleVoter    = identity.RoleVoter
	RoleNonvoter = identity.RoleNonvoter
)

// Code is the stable code of a refusal.
type Code string

// The refusals. Codes are shown to people and programs: append only.
const (
	CodeAlreadyInitialized Code = "ALREADY_INITIALIZED"
	CodeClusterIDDiffers   Code = "CLUSTER_ID_DIFFERS"
	CodeClusterNameDiffers Code = "CLUSTER_NAME_DIFFERS"
	CodeIDInUse            Code = "ID_IN_USE"
	CodeAddressInUse       Code = "ADDRESS_IN_USE"
	CodeTokenInvalid       Code = "TOKEN_INVALID"
	CodeTokenUsed          Code = "TOKEN_USED"
	CodeTokenExpired       Code = "TOKEN_EXPIRED"
	CodeVersionTooOld      Code = "VERSION_TOO_OLD"
	CodeRemoved            Code = "REMOVED"
	CodeNotCaughtUp        Code = "NOT_CAUGHT_UP"
	CodeWouldLeaveNoVoter  Code = "WOULD_LEAVE_NO_VOTER"
	CodeWouldLoseQuorum    Code = "WOULD_LOSE_QUORUM"
	CodeNotAVoter          Code = "NOT_A_VOTER"
	CodeAlreadyVoter       Code = "ALREADY_VOTER"
	CodeNotHealthy         Code = "NOT_HEALTHY"
	CodeNoSuchReplica      Code = "NO_SUCH_REPLICA"
	CodeNoLeader           Code = "NO_LEADER"
	CodeTooMany            Code = "TOO_MANY_REPLICAS"
	CodeOutOfRange         Code = "OUT_OF_RANGE"
	CodeTimeout            Code = "TIMEOUT"
	CodePeerUnreachable    Code = "PEER_UNREACHABLE"
	CodeSnapshotDamaged    Code = "SNAPSHOT_DAMAGED"
	CodeLivePeer           Code = "LIVE_PEER"
	CodeInUse              Code = "IN_USE"
	CodeNoSuchData         Code = "NO_SUCH_DATA"
)

// Refusal is a request that was understood and not done, and changed nothing.
type Refusal struct {
	Code Code   `json:"code"`
	What string `json:"what"` // one sentence of what
	Do   string `json:"do"`   // one of what to do
}

// Error is the line that is shown: CODE: what; what to do.
func (r *Refusal) Error() string {
	if r.Do == "" {
		return fmt.Sprintf("%s: %s", r.Code, r.What)
	}
	return fmt.Sprintf("%s: %s; %s", r.Code, r.What, r.Do)
}

// ErrorCode is the stable code, for wires that carry one.
func (r *Refusal) ErrorCode() string { return string(r.Code) }

// Is makes errors.Is(err, &Refusal{Code: c}) ask for the code only.
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t.Code == r.Code && t.What == "" && t.Do == ""
}

// refuse makes a refusal.
func refuse(code Code, do, format string, a ...any) *Refusal {
	return &Refusal{Code: code, What: fmt.Sprintf(format, a...), Do: do}
}
