package nemesis

import (
	"context"
	"errors"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// A leader that hands over tells its successor to stand, and that takes so long that
// the link can be cut meanwhile.
const (
	stuckDelay = 80 * time.Millisecond
	stuckTries = 8
	// stuckLook bounds one look for a leader that restarts its raft.
	stuckLook = time.Second
)

// stuckTransfer cuts the link to a successor while it is being told to stand, and lets
// nothing else go wrong: the library then refuses everything for the sake of the
// transfer (hashicorp/raft #696), which the replica ends by restarting raft in place.
func stuckTransfer(ctx context.Context, e *Env, leader *harness.Replica, _ []*harness.Replica) error {
	var err error
	for range stuckTries {
		now, to, ferr := e.follower(ctx)
		if ferr != nil || now != leader {
			return errors.Join(err, ferr) // the transfer was done before the cut: nobody comes to the place
		}
		err = errors.Join(err, e.stickOnce(ctx, leader, to))
		if await(ctx, "raft restarts", stuckLook, func() bool { return leader.Reached(e.set) }) == nil {
			return err
		}
		err = errors.Join(err, e.Cluster.Network().Heal())
	}
	return err
}

// stickOnce hands over from one to the other, and cuts the link between.
func (e *Env) stickOnce(ctx context.Context, from, to *harness.Replica) error {
	n := e.Cluster.Network()
	if err := n.Shape(from.ID, to.ID, harness.Shape{Delay: stuckDelay}); err != nil {
		return err
	}
	begun := harness.FailpointAction{Point: "transfer.begun", After: 1, Hold: time.Nanosecond}
	if err := from.SetFailpoint(begun); err != nil {
		return err
	}
	before := from.Count(begun)
	done := make(chan struct{})
	go func() { // it ends with the command
		defer close(done)
		_ = e.cli(ctx, history.Transfer, history.Value{Replica: to.ID}, "cluster", "transfer", to.ID) // it fails, as it is to
	}()
	err := await(ctx, "the transfer begins", reachWithin, func() bool { return from.Count(begun) > before })
	if err != nil {
		if now, _, ferr := e.follower(ctx); ferr == nil && now != from {
			err = nil // a busy machine has made another one leader: there is nothing to hand over
		}
	} else {
		// What is under way arrives, and is answered, within one delay and a write; the word to
		// stand is on its way for another one.
		sleep(ctx, seconds(0.07, 0.15)(e.Rand))
		err = errors.Join(n.Cut(from.ID, to.ID, harness.Drop), from.SetFailpoint(e.set))
	}
	<-done
	return err
}
