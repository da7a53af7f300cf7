package forward

import (
	"fmt"

	"rmd/internal/outcome"
)

// Errors of Do.
var (
	// ErrStandby means that nothing happened: there is no leader within the hold
	// time, or this replica is told to refuse. Hadoop's wire says
	// StandbyException.
	ErrStandby = outcome.New("STANDBY", "no leader takes the call")
	// ErrUnknownOutcome means that a try may have taken effect and no later one
	// told.
	ErrUnknownOutcome = outcome.ErrUnknown
	// ErrBusy means that too many calls wait, here or at the leader.
	ErrBusy = outcome.ErrBusy
	// ErrVersion means that the leader speaks another version of this protocol.
	ErrVersion = outcome.New("VERSION", "the leader speaks another version of the input protocol")
)

// The codes that decide what is done about an error of a sequencer.
var (
	codeNotLeader = outcome.Code(outcome.ErrNotLeader)
	codeUnknown   = outcome.Code(outcome.ErrUnknown)
	codeBusy      = outcome.Code(outcome.ErrBusy)
)

const codeNoMethod = "NO_METHOD" // of the wire: a replica that takes no inputs

// RefusedError is an error of the leader's sequencer that repeating does not
// mend.
type RefusedError struct{ Code, Text string }

// Error is what the leader said.
func (e *RefusedError) Error() string { return fmt.Sprintf("leader refused: %s", e.Text) }

// ErrorCode is the stable code.
func (e *RefusedError) ErrorCode() string { return e.Code }
