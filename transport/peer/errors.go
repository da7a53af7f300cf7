package peer

import (
	"errors"
	"fmt"
)

var (
	// ErrNotSent means that the request surely never left this replica: it may be repeated.
	ErrNotSent = errors.New("not sent")
	// ErrOutcomeUnknown means that the connection ended after the request was handed to the kernel.
	ErrOutcomeUnknown = errors.New("connection closed, outcome unknown")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("peer server closed")
	// ErrRemoved means that the other side says this replica was removed from the cluster.
	ErrRemoved = errors.New("this replica was removed from the cluster")
	// ErrFrame is returned for bytes that are not a frame or a hello.
	ErrFrame = errors.New("malformed frame")
	// ErrTooLarge is returned for a frame above the limit.
	ErrTooLarge = errors.New("frame too large")
)

// HelloError is a refusal of a connection, by the other side or by this one.
type HelloError struct {
	Code HelloCode
	Text string
	By   string // ID.INCARNATION of the replica that refuses; its certificate names the id
}

// Error says who refused and why.
func (e *HelloError) Error() string { return fmt.Sprintf("refused by peer: %s: %s", e.Code, e.Text) }

// ErrorCode is the stable name of the refusal.
func (e *HelloError) ErrorCode() string { return e.Code.String() }

// RefusedBy is ID.INCARNATION of the replica that refuses.
func (e *HelloError) RefusedBy() string { return e.By }

// Is makes a refusal for removal match ErrRemoved.
func (e *HelloError) Is(target error) bool {
	return target == ErrRemoved && e.Code == HelloRemoved
}

// RemoteError is an error that the other side's handler returned.
type RemoteError struct {
	Code string // stable, may be empty
	Text string
}

// Error is the text of the handler's error.
func (e *RemoteError) Error() string {
	if e.Code == "" {
		return e.Text
	}
	return e.Code + ": " + e.Text
}

// ErrorCode is the stable code of the handler's error.
func (e *RemoteError) ErrorCode() string { return e.Code }

// coder is implemented by errors that carry a stable code over the wire.
type coder interface{ ErrorCode() string }

// notSent wraps err so that it matches both ErrNotSent and its cause.
func notSent(err error) error { return fmt.Errorf("%w: %w", ErrNotSent, err) }
