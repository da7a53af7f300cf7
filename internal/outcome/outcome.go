// Package outcome declares the possible outcomes of a request that must be replicated. The log, the
// leader, the forwarder and the ports share them.
package outcome

import (
	"errors"
	"time"
)

// The outcomes beside success.
var (
	// ErrNotLeader means that the request surely had no effect: this replica does not lead, or what
	// follows from the request was never proposed.
	ErrNotLeader = New("NOT_LEADER", "this replica is not the leader")
	// ErrUnknown means that the request has taken effect, will do so, or never will. The caller
	// repeats the same request.
	ErrUnknown = New("UNKNOWN_OUTCOME", "the outcome is unknown")
	// ErrBusy means that too many requests wait: nothing happened.
	ErrBusy = New("BUSY", "too many requests wait")
	// ErrTooLarge means that what follows from the request is larger than a log entry may be: it had
	// no effect, and would have none when repeated.
	ErrTooLarge = New("TOO_LARGE", "what follows from the request is larger than a log entry may be")
)

// coded is an error with a stable code.
type coded struct{ code, text string }

// New returns an error with a stable code, for wires that carry one.
func New(code, text string) error { return &coded{code, text} }

// Error is the text.
func (e *coded) Error() string { return e.text }

// ErrorCode is the stable code.
func (e *coded) ErrorCode() string { return e.code }

// Code is the stable code of an error; empty when it has none.
func Code(err error) string {
	var c interface{ ErrorCode() string }
	if errors.As(err, &c) {
		return c.ErrorCode()
	}
	return ""
}

// RetryAfter is when to repeat a request that an error ended; 0 when it does not say.
func RetryAfter(err error) time.Duration {
	var r interface{ RetryAfterMillis() int64 }
	if errors.As(err, &r) {
		return time.Duration(r.RetryAfterMillis()) * time.Millisecond
	}
	return 0
}
