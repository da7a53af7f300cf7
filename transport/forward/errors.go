package forward

import (
	"fmt"

	"rmd/internal/outcome"
)

// Errors of Do.
var (
	// ErrStandby means that nothing happened: there was no leader within the hold time, or this
	// replica is configured to refuse. Hadoop's clients get a StandbyException.
	ErrStandby = outcome.New("STANDBY", "no leader takes the call")
	// ErrUnknownOutcome means that a try may have been executed, and no later try told the result.
	ErrUnknownOutcome = outcome.ErrUnknown
	// ErrBusy means that too many calls wait, here or at the leader.
	ErrBusy = outcome.ErrBusy
	// ErrVersion means that the leader uses another version of this protocol.
	ErrVersion = outcome.New("VERSION", "the leader speaks another version of the input protocol")
)

// The codes of a sequencer's errors that run handles.
var (
	codeNotLeader = outcome.Code(outcome.ErrNotLeader)
	codeUnknown   = outcome.Code(outcome.ErrUnknown)
	codeBusy      = outcome.Code(outcome.ErrBusy)
)

const codeNoMethod = "NO_METHOD" // the peer's code for a replica that does not serve inputs

// RefusedError is an error of the leader's sequencer that a repetition would not avoid.
type RefusedError struct{ Code, Text string }

// Error returns the leader's text.
func (e *RefusedError) Error() string { return fmt.Sprintf("leader refused: %s", e.Text) }

// ErrorCode returns the stable code.
func (e *RefusedError) ErrorCode() string { return e.Code }
