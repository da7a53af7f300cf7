package forward

import (
	"errors"
	"fmt"
	"time"
)

// coded is an error with a stable code.
type coded struct{ code, text string }

// Error is the text.
func (e *coded) Error() string { return e.text }

// ErrorCode is the stable code.
func (e *coded) ErrorCode() string { return e.code }

// Errors of Do.
var (
	// ErrStandby means that nothing happened: there is no leader within the hold
	// time, or this replica is told to refuse. Hadoop's wire says
	// StandbyException.
	ErrStandby error = &coded{"STANDBY", "no leader takes the call"}
	// ErrUnknownOutcome means that a try may have taken effect and no later one
	// told. The caller repeats the same call.
	ErrUnknownOutcome error = &coded{"UNKNOWN_OUTCOME", "the outcome of the call is unknown"}
	// ErrBusy means that too many calls wait, here or at the leader.
	ErrBusy error = &coded{"BUSY", "too many calls wait"}
	// ErrVersion means that the leader speaks another version of this protocol.
	ErrVersion error = &coded{"VERSION", "the leader speaks another version of the input protocol"}
)

// The codes that decide what is done about an error of a sequencer.
const (
	codeNotLeader = "NOT_LEADER"
	codeUnknown   = "UNKNOWN_OUTCOME"
	codeBusy      = "BUSY"
	codeNoMethod  = "NO_METHOD" // of the wire: a replica that takes no inputs
)

// RefusedError is an error of the leader's sequencer that repeating does not
// mend.
type RefusedError struct{ Code, Text string }

// Error is what the leader said.
func (e *RefusedError) Error() string { return fmt.Sprintf("leader refused: %s", e.Text) }

// ErrorCode is the stable code.
func (e *RefusedError) ErrorCode() string { return e.Code }

// codeOf is the stable code of an error; empty when it has none.
func codeOf(err error) string {
	var c interface{ ErrorCode() string }
	if errors.As(err, &c) {
		return c.ErrorCode()
	}
	return ""
}

// retryAfter is the hint of a busy error.
func retryAfter(err error) time.Duration {
	var r interface{ RetryAfterMillis() int64 }
	if errors.As(err, &r) {
		return time.Duration(r.RetryAfterMillis()) * time.Millisecond
	}
	return 0
}
