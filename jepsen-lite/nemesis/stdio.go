package nemesis

import (
	"context"
	"errors"

	"rmd/jepsen-lite/harness"
)

// Stdio returns the faults of the pipe into which a replica prints its log.
func Stdio() []Fault {
	return []Fault{
		{Name: "log-full", Kind: harness.Stdio,
			Text: "nobody reads the log of the leader, and its pipe is full; a follower is killed meanwhile",
			Hold: seconds(1, 5), Inject: breakLog((*harness.Replica).FillStdio)},
		{Name: "log-closed", Kind: harness.Stdio,
			Text: "the reader of the leader's log has ended; a follower is killed meanwhile", Hold: seconds(1, 5),
			Inject: breakLog((*harness.Replica).CloseStdio)},
		{Name: "log-slow", Kind: harness.Stdio,
			Text: "the log of the leader is read slowly from a full pipe; a follower is killed meanwhile", Hold: seconds(1, 5),
			Inject: breakLog((*harness.Replica).SlowStdio)},
	}
}

// breakLog breaks the leader's log. The leader must take back a follower that was killed, which it
// logs, and must end in order while its log is still broken.
func breakLog(how func(*harness.Replica) error) func(context.Context, *Env) (Heal, error) {
	return func(ctx context.Context, e *Env) (Heal, error) {
		leader, follower, err := e.follower(ctx)
		if err != nil {
			return nil, err
		}
		e.moment.OnLeader = true
		e.recordVictims("%s, while %s is killed", []*harness.Replica{leader, follower}, leader.ID, follower.ID)
		heal := func(ctx context.Context) error { return errors.Join(e.endInOrder(leader), e.restart(ctx, leader)) }
		if err := errors.Join(how(leader), follower.Kill()); err != nil {
			return heal, err
		}
		e.backBesideBrokenLog(ctx, follower, leader)
		return heal, nil
	}
}

// backBesideBrokenLog starts a replica, which must take part while the log of another one is broken.
func (e *Env) backBesideBrokenLog(ctx context.Context, r, broken *harness.Replica) {
	ctx, cancel := context.WithTimeout(ctx, healWithin)
	defer cancel()
	if err := e.restart(ctx, r); err != nil {
		e.violated("stdio", "%s does not take part beside %s, whose log is broken: %v", r.ID, broken.ID, err)
	}
	if !broken.Running() {
		e.violated("stdio", "%s ended because of its log", broken.ID)
	}
}
