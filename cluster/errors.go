package cluster

import (
	"errors"
	"fmt"

	"rmd/cluster/identity"
	"rmd/cluster/raftstore"
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

// Roles with which a replica may join.
const (
	RoleVoter    = identity.RoleVoter
	RoleNonvoter = identity.RoleNonvoter
)

// Code is the stable code of a Refusal.
type Code string

// The codes of refusals. People and programs see them: append only.
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
	CodeVotersLeft         Code = "VOTERS_LEFT"
)

// Refusal is the error of a request that was refused and changed nothing.
type Refusal struct {
	Code Code   `json:"code"`
	What string `json:"what"` // one sentence: why the request was refused
	Do   string `json:"do"`   // one sentence: what the user can do
}

// Error returns "CODE: what; what to do".
func (r *Refusal) Error() string {
	if r.Do == "" {
		return fmt.Sprintf("%s: %s", r.Code, r.What)
	}
	return fmt.Sprintf("%s: %s; %s", r.Code, r.What, r.Do)
}

// ErrorCode returns the code, for protocols that transmit one.
func (r *Refusal) ErrorCode() string { return string(r.Code) }

// Is makes errors.Is(err, &Refusal{Code: c}) compare the code only.
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t.Code == r.Code && t.What == "" && t.Do == ""
}

// refuse returns a Refusal.
func refuse(code Code, do, format string, a ...any) *Refusal {
	return &Refusal{Code: code, What: fmt.Sprintf(format, a...), Do: do}
}
