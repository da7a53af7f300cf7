// Package frontend declares what every port of a replica needs: access to the leader, the state
// that this replica has applied, and the queue configuration in force.
package frontend

import (
	"context"

	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// Submitter passes inputs to the leader, no matter which replica leads. It returns after this
// replica has applied the result. *forward.Forwarder implements it.
type Submitter interface {
	Do(ctx context.Context, req input.Request) (input.Reply, uint64, error)
}

// Reader reads this replica's committed state.
type Reader interface {
	// Fork returns the current state. It is shared and must not be changed.
	Fork() *state.State
	// Current returns after this replica has applied everything that was committed at the time of
	// the call.
	Current(ctx context.Context) error
}
