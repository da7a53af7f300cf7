package leader

import (
	"errors"
	"fmt"
	"time"
)

// coded is an error with a stable code, for wires that carry one.
type coded struct{ code, text string }

// Error is the text.
func (e *coded) Error() string { return e.text }

// ErrorCode is the stable code.
func (e *coded) ErrorCode() string { return e.code }

// Errors of Do, and of Log implementations.
var (
	// ErrNotLeader means that the input surely had no effect: this replica does
	// not lead, or the input was never proposed.
	ErrNotLeader error = &coded{"NOT_LEADER", "this replica is not the leader"}
	// ErrUnknownOutcome means that leadership was lost while the input's batch
	// was being committed: it has taken effect, will do so, or never will.
	ErrUnknownOutcome error = &coded{"UNKNOWN_OUTCOME", "leadership lost while committing, outcome unknown"}
	// ErrBusy means that the queue is full; a BusyError says for how long.
	ErrBusy error = &coded{"BUSY", "too many inputs wait"}
	// ErrPlanner means that planning the input met a fault of this program. The
	// input had no effect; the log of the leader has the details.
	ErrPlanner error = &coded{"INTERNAL", "planning this request failed by a fault of rmd, it had no effect"}
	// ErrTooLarge means that what follows from the inputs of a batch is larger
	// than the log takes: it had no effect, and would not when repeated.
	ErrTooLarge error = &coded{"TOO_LARGE", "what follows from the input is larger than a log entry may be"}
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
func (e *BusyError) ErrorCode() string { return "BUSY" }

// RetryAfterMillis is the hint for wires.
func (e *BusyError) RetryAfterMillis() int64 { return e.RetryAfter.Milliseconds() }
