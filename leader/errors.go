package leader

import (
	"errors"
	"fmt"
	"time"

	"rmd/internal/outcome"
)

// Errors of Do, and of Log implementations.
var (
	ErrNotLeader      = outcome.ErrNotLeader
	ErrUnknownOutcome = outcome.ErrUnknown
	ErrTooLarge       = outcome.ErrTooLarge
	// ErrBusy means that the queue is full. The error is a *BusyError with the time to wait.
	ErrBusy = outcome.ErrBusy
	// ErrPlanner means that the planner panicked on the input. The input had no effect. The
	// leader's log has the details.
	ErrPlanner = outcome.New("INTERNAL", "planning this request failed by a fault of rmd, it had no effect")
)

// errDiverged stops a replica whose committed state differs from its planning state.
var errDiverged = errors.New("committed state differs from the planning state")

// BusyError is ErrBusy with a hint when to repeat the call.
type BusyError struct{ RetryAfter time.Duration }

// Error returns the text with the time to wait.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%s; ask again in %s", ErrBusy, e.RetryAfter)
}

// Is reports whether target is ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// ErrorCode returns the stable code of ErrBusy.
func (e *BusyError) ErrorCode() string { return outcome.Code(ErrBusy) }

// RetryAfterMillis returns the hint in milliseconds.
func (e *BusyError) RetryAfterMillis() int64 { return e.RetryAfter.Milliseconds() }
