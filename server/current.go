package server

import (
	"context"
	"fmt"
	"time"

	"rmd/internal/sleep"
)

// currentPause is the time between two requests for the commit index while there is no leader.
const currentPause = 20 * time.Millisecond

// current returns when this replica has applied everything that was committed at the time of the
// call. Without a leader it waits for one, up to Config.StandbyHold but at least one second.
func (r *Replica) current(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(r.opt.Config.StandbyHold, time.Second))
	defer cancel()
	for {
		index, err := r.cluster.ReadIndex(ctx)
		if err == nil {
			return r.machine.WaitApplied(ctx, index)
		}
		if !sleep.For(ctx, currentPause) {
			return fmt.Errorf("%w: %w", errNoLeaderKnown, err)
		}
	}
}

// noLeaderError is the error of a read that found no leader in time.
type noLeaderError struct{}

func (noLeaderError) Error() string     { return "no leader is known at the moment" }
func (noLeaderError) ErrorCode() string { return "STANDBY" }

var errNoLeaderKnown error = noLeaderError{}
