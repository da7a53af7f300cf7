// Package outcome declares the possible outcomes of a request that must be replicated. The log, the
// leader, the forwarder and the ports share them.
package outcome

import (
	"errors"
	"time"
)

// Outcomes other than success.
var (
	// ErrNotLeader means that the request had no effect: this replica is not the leader, or it
	// never proposed the events of the request.
	ErrNotLeader = New("NOT_LEADER", "this replica is not the leader")
	// ErrUnknown means that the request may have taken effect, or may take effect later. The caller
	// should repeat the same request.
	ErrUnknown = New("UNKNOWN_OUTCOME", "the outcome is unknown")
	// ErrBusy means that too many requests wait. The request had no effect.
	ErrBusy = New("BUSY", "too many requests wait")
	// ErrTooLarge means that the events of the request do not fit into a log entry. The request had
	// no effect, and repeating it would not help.
	ErrTooLarge = New("TOO_LARGE", "what follows from the request is larger than a log entry may be")
)

// coded is an error with a stable code.
type coded struct{ code, text string }

// New returns an error with a stable code, for protocols that carry codes.
func New(code, text string) error { return &coded{code, text} }

// Error returns the text.
func (e *coded) Error() string { return e.text }

// ErrorCode returns the stable code.
func (e *coded) ErrorCode() string { return e.code }

// Code returns the stable code of an error, or "" if it has none.
func Code(err error) string {
	var c interface{ ErrorCode() string }
	if errors.As(err, &c) {
		return c.ErrorCode()
	}
	return ""
}

// RetryAfter returns the time after which to repeat the request that returned err. 0 means unknown.
func RetryAfter(err error) time.Duration {
	var r interface{ RetryAfterMillis() int64 }
	if errors.As(err, &r) {
		return time.Duration(r.RetryAfterMillis()) * time.Millisecond
	}
	return 0
}
