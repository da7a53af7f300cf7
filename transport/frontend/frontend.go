// Package frontend declares what every port of a replica needs: a way to the leader, the state that
// this replica has applied, and the queue configuration in force there.
package frontend

import (
	"context"

	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// Submitter takes inputs to the leader, whichever replica leads, and returns when this replica has
// applied what they led to (forward.Forwarder).
type Submitter interface {
	Do(ctx context.Context, req input.Request) (input.Reply, uint64, error)
}

// Reader reads this replica's committed state.
type Reader interface {
	// Fork is shared and must not be changed.
	Fork() *state.State
	// Current returns once this replica has applied what the leader had committed at the time of the
	// call.
	Current(ctx context.Context) error
}
