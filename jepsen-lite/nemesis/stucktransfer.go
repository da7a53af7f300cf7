package nemesis

import (
	"context"
	"errors"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// During a transfer, the leader sends its successor a request to start an election. stuckDelay
// makes this so slow that the link can be cut in between.
const (
	stuckDelay = 80 * time.Millisecond
	stuckTries = 8
	// stuckLook limits one wait for a leader that restarts its Raft instance.
	stuckLook = time.Second
)

// stuckTransfer cuts the link to the successor while the leader sends it the request to start an
// election, and causes no other fault. hashicorp/raft then refuses every proposal because of the
// unfinished transfer (hashicorp/raft #696). The replica ends this by restarting its Raft instance
// in the process.
func stuckTransfer(ctx context.Context, e *Env, leader *harness.Replica, _ []*harness.Replica) error {
	var err error
	for range stuckTries {
		now, to, ferr := e.follower(ctx)
		if ferr != nil || now != leader {
			return errors.Join(err, ferr) // the transfer ended before the cut, so no replica reaches the failpoint
		}
		err = errors.Join(err, e.stickOnce(ctx, leader, to))
		if await(ctx, "raft restarts", stuckLook, func() bool { return leader.Reached(e.set) }) == nil {
			return err
		}
		err = errors.Join(err, e.Cluster.Network().Heal())
	}
	return err
}

// stickOnce begins a transfer and cuts the link between both replicas.
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
		// it is expected to fail
		_ = e.cli(ctx, history.Transfer, history.Value{Replica: to.ID}, "cluster", "transfer", to.ID)
	}()
	err := await(ctx, "the transfer begins", reachWithin, func() bool { return from.Count(begun) > before })
	if err != nil {
		if now, _, ferr := e.follower(ctx); ferr == nil && now != from {
			err = nil // on a busy machine another replica became the leader, so there is nothing to transfer
		}
	} else {
		// Messages in transit arrive and are answered within one delay and a write. The request to
		// start an election is then in transit for another delay.
		sleep(ctx, seconds(0.07, 0.15)(e.Rand))
		err = errors.Join(n.Cut(from.ID, to.ID, harness.Drop), from.SetFailpoint(e.set))
	}
	<-done
	return err
}
