package record

import (
	"fmt"

	"rmd/fsm/event"
)

// BrokenError means that an event does not fit the state, because of a bug in the code that emitted
// it. The event has not changed the state.
type BrokenError struct {
	Event event.Event
	Why   string
}

// Error implements error.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("event %s does not follow from the state: %s", event.Describe(e.Event), e.Why)
}

// Broken returns a BrokenError.
func Broken(e event.Event, format string, args ...any) error {
	return &BrokenError{Event: e, Why: fmt.Sprintf(format, args...)}
}
