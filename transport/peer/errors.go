package peer

import (
	"errors"
	"fmt"
)

var (
	// ErrNotSent means that the request certainly did not leave this replica. It may be repeated.
	ErrNotSent = errors.New("not sent")
	// ErrOutcomeUnknown means that the call ended without a reply after the request was passed to
	// the writer. The other side may have executed it.
	ErrOutcomeUnknown = errors.New("connection closed, outcome unknown")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("peer server closed")
	// ErrRemoved means that the other replica says that this one was removed from the cluster.
	ErrRemoved = errors.New("this replica was removed from the cluster")
	// ErrFrame means that the received bytes are not a frame or a hello.
	ErrFrame = errors.New("malformed frame")
	// ErrTooLarge means that a frame or a hello is larger than its limit.
	ErrTooLarge = errors.New("frame too large")
)

// HelloError is a refusal of a connection, by the other side or by this replica.
type HelloError struct {
	Code HelloCode
	Text string
	By   string // ID.INCARNATION of the replica that refuses; its certificate names the id
}

// Error returns the code and the reason.
func (e *HelloError) Error() string { return fmt.Sprintf("refused by peer: %s: %s", e.Code, e.Text) }

// ErrorCode returns the stable name of the code.
func (e *HelloError) ErrorCode() string { return e.Code.String() }

// RefusedBy returns ID.INCARNATION of the replica that refuses.
func (e *HelloError) RefusedBy() string { return e.By }

// Is reports whether target is ErrRemoved and the reason is a removal.
func (e *HelloError) Is(target error) bool {
	return target == ErrRemoved && e.Code == HelloRemoved
}

// RemoteError is an error that the other side's handler returned.
type RemoteError struct {
	Code string // stable, may be empty
	Text string
}

// Error returns the code and the text of the handler's error.
func (e *RemoteError) Error() string {
	if e.Code == "" {
		return e.Text
	}
	return e.Code + ": " + e.Text
}

// ErrorCode returns the stable code of the handler's error, or "".
func (e *RemoteError) ErrorCode() string { return e.Code }

// coder is implemented by errors with a stable code.
type coder interface{ ErrorCode() string }

// notSent wraps err so that it matches both ErrNotSent and its cause.
func notSent(err error) error { return fmt.Errorf("%w: %w", ErrNotSent, err) }
