// Package refusal has the error of a request that a cluster refuses, and its codes.
package refusal

import "fmt"

// Code is the stable code of a Refusal.
type Code string

// The codes of refusals. People and programs see them: append only.
const (
	AlreadyInitialized Code = "ALREADY_INITIALIZED"
	ClusterIDDiffers   Code = "CLUSTER_ID_DIFFERS"
	ClusterNameDiffers Code = "CLUSTER_NAME_DIFFERS"
	IDInUse            Code = "ID_IN_USE"
	AddressInUse       Code = "ADDRESS_IN_USE"
	TokenInvalid       Code = "TOKEN_INVALID"
	TokenUsed          Code = "TOKEN_USED"
	TokenExpired       Code = "TOKEN_EXPIRED"
	VersionTooOld      Code = "VERSION_TOO_OLD"
	Removed            Code = "REMOVED"
	NotCaughtUp        Code = "NOT_CAUGHT_UP"
	WouldLeaveNoVoter  Code = "WOULD_LEAVE_NO_VOTER"
	WouldLoseQuorum    Code = "WOULD_LOSE_QUORUM"
	NotAVoter          Code = "NOT_A_VOTER"
	AlreadyVoter       Code = "ALREADY_VOTER"
	NotHealthy         Code = "NOT_HEALTHY"
	NoSuchReplica      Code = "NO_SUCH_REPLICA"
	NoLeader           Code = "NO_LEADER"
	TooMany            Code = "TOO_MANY_REPLICAS"
	OutOfRange         Code = "OUT_OF_RANGE"
	Timeout            Code = "TIMEOUT"
	PeerUnreachable    Code = "PEER_UNREACHABLE"
	SnapshotDamaged    Code = "SNAPSHOT_DAMAGED"
	LivePeer           Code = "LIVE_PEER"
	InUse              Code = "IN_USE"
	NoSuchData         Code = "NO_SUCH_DATA"
	VotersLeft         Code = "VOTERS_LEFT"
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

// New returns a Refusal.
func New(code Code, do, format string, a ...any) *Refusal {
	return &Refusal{Code: code, What: fmt.Sprintf(format, a...), Do: do}
}
