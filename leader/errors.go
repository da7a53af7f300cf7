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
	// ErrBusy means that the queue is full; a BusyError says for how long.
	ErrBusy = outcome.ErrBusy
	// ErrPlanner means that planning the input met a fault of this program. The
	// input had no effect; the log of the leader has the details.
	ErrPlanner = outcome.New("INTERNAL", "planning this request failed by a fault of rmd, it had no effect")
)

// errDiverged is why a replica stops whose planning state was not what the log
// led to.
var errDiverged = errors.New("committed state differs from the planning state")

// BusyError is ErrBusy with a hint when to ask again.
type BusyError struct{ RetryAfter time.Duration }

// Error says when to ask again.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%s; ask again in %s", ErrBusy, e.RetryAfter)
}

// Is makes it an ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// ErrorCode is the stable code.
func (e *BusyError) ErrorCode() string { return outcome.Code(ErrBusy) }

// RetryAfterMillis is the hint for wires.
func (e *BusyError) RetryAfterMillis() int64 { return e.RetryAfter.Milliseconds() }
