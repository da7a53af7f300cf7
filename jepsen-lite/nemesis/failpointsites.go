package nemesis

import (
	"context"
	"errors"
	"slices"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// site is a failpoint, the replicas that can reach it, and the action that leads them there.
type site struct {
	point string
	times int // upper limit of the visit at which it acts
	who   func(e *Env, leader *harness.Replica, voters []*harness.Replica) []*harness.Replica
	bring func(ctx context.Context, e *Env, leader *harness.Replica, of []*harness.Replica) error
	first bool // the next run of the replica reaches it, not the present one
	spare bool // a spare replica joins and is removed
}

// The sites of all failpoints.
var (
	writing = []site{
		{"store.entries", 40, anyVoter, noAction, false, false}, {"entries.stored", 40, anyVoter, noAction, false, false},
		{"entry.applied", 40, anyVoter, noAction, false, false},
		{"entries.deleted", 1, theLeader, diverge, false, false},
	}
	leading = []site{
		{"batch.closed", 40, theLeader, noAction, false, false}, {"batch.proposed", 40, theLeader, noAction, false, false},
		{"batch.applied", 40, theLeader, noAction, false, false},
		{"read.indexed", 10, theLeader, noAction, false, false}, {"transfer.begun", 1, theLeader, handOver, false, false},
		{"leadership.ended", 1, theLeader, handOver, false, false},
		{"member.changed", 1, theLeader, demoteOne, false, false},
	}
	electing = []site{
		{"store.value", 2, theOthers, killIt, false, false}, {"value.stored", 2, theOthers, killIt, false, false},
		{"crash.stand", 1, theOthers, killIt, false, false},
		{"leadership.barrier", 1, theOthers, killIt, false, false}, {"leadership.begun", 1, theOthers, killIt, false, false},
	}
	making = []site{
		{"state.forked", 1, anyVoter, snapshotNow, false, false},
		{"snapshot.verified", 1, anyVoter, snapshotNow, false, false},
		{"snapshot.finished", 1, anyVoter, snapshotNow, false, false},
	}
	starting = []site{
		{"state.read", 1, anyVoter, fromSnapshot, true, false}, {"snapshot.applied", 1, anyVoter, fromSnapshot, true, false},
		{"store.value", 1, anyVoter, restart, true, false},
		{"store.entries", 1, anyVoter, restart, true, false}, {"entry.applied", 5, anyVoter, restart, true, false},
	}
	changing = []site{
		{"member.changed", 3, theLeader, inAndOut, false, true}, {"member.left", 1, anyVoter, inAndOut, false, true},
		{"removed.here", 1, theSpare, inAndOut, true, true},
	}
	restarting = []site{
		{"restart.stopped", 1, theLeader, stuckTransfer, false, false},
		{"restart.started", 1, theLeader, stuckTransfer, false, false},
	}
)

// FailpointNames returns the names of all failpoints of the sites, sorted.
func FailpointNames() []string {
	var out []string
	for _, s := range slices.Concat(writing, leading, electing, making, starting, changing, restarting) {
		out = append(out, s.point)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func anyVoter(e *Env, leader *harness.Replica, voters []*harness.Replica) []*harness.Replica {
	if e.Rand.IntN(2) == 0 {
		return []*harness.Replica{leader}
	}
	return []*harness.Replica{voters[e.Rand.IntN(len(voters))]}
}

func theLeader(_ *Env, leader *harness.Replica, _ []*harness.Replica) []*harness.Replica {
	return []*harness.Replica{leader}
}

func theOthers(_ *Env, leader *harness.Replica, voters []*harness.Replica) []*harness.Replica {
	return slices.DeleteFunc(slices.Clone(voters), func(r *harness.Replica) bool { return r == leader })
}

// theSpare returns nobody if the scenario has no spare replica.
func theSpare(e *Env, _ *harness.Replica, _ []*harness.Replica) []*harness.Replica {
	if r := e.spare(); r != nil {
		return []*harness.Replica{r}
	}
	return nil
}

func noAction(context.Context, *Env, *harness.Replica, []*harness.Replica) error { return nil }

func handOver(ctx context.Context, e *Env, leader *harness.Replica, _ []*harness.Replica) error {
	_, to, err := e.follower(ctx)
	if err == nil {
		// The command may be refused, or fail with the leader.
		_ = e.cli(ctx, history.Transfer, history.Value{Replica: to.ID}, "cluster", "transfer", to.ID)
	}
	return err
}

func demoteOne(ctx context.Context, e *Env, leader *harness.Replica, _ []*harness.Replica) error {
	_, r, err := e.follower(ctx)
	if err == nil {
		// the command fails when the leader crashes
		_ = e.cli(ctx, history.Promote, history.Value{Replica: r.ID}, "cluster", "demote", r.ID)
	}
	return err
}

func killIt(_ context.Context, _ *Env, leader *harness.Replica, _ []*harness.Replica) error {
	return leader.Kill()
}

func snapshotNow(ctx context.Context, e *Env, _ *harness.Replica, of []*harness.Replica) error {
	_, _ = e.Cluster.TakeSnapshot(ctx, of[0]) // the call fails when the replica crashes
	return nil
}

func restart(_ context.Context, _ *Env, _ *harness.Replica, of []*harness.Replica) error {
	return errors.Join(of[0].Kill(), of[0].Start())
}

// fromSnapshot restarts a replica with a snapshot on its disk.
func fromSnapshot(ctx context.Context, e *Env, leader *harness.Replica, of []*harness.Replica) error {
	return errors.Join(snapshotNow(ctx, e, leader, of), restart(ctx, e, leader, of))
}

// diverge lets the leader write entries that no other replica gets, until another one leads. The
// old leader deletes them when it hears from the new one.
func diverge(ctx context.Context, e *Env, leader *harness.Replica, _ []*harness.Replica) error {
	_, voters := e.members(ctx)
	var err error
	for _, o := range voters {
		if o != leader {
			err = errors.Join(err, e.cutBoth(leader.ID, o.ID, harness.Drop))
		}
	}
	// on a timeout no replica reaches the failpoint, which failpoint records
	_ = await(ctx, "another one leads", reachWithin, func() bool {
		now := e.Cluster.Leader(ctx)
		return now != nil && now != leader
	})
	return errors.Join(err, e.Cluster.Network().Heal())
}

// inAndOut lets a spare replica join and removes it. Both steps may fail with the replica that
// reaches the failpoint.
func inAndOut(ctx context.Context, e *Env, _ *harness.Replica, _ []*harness.Replica) error {
	r := e.spare()
	if r == nil {
		return nil
	}
	if err := r.Wipe(); err != nil {
		return err
	}
	if err := e.join(ctx, r); err != nil {
		e.Note("  %s does not vote: %v", r.ID, err)
	}
	r.Expect()
	if err := e.remove(ctx, r); err != nil {
		e.Note("  %s is not removed yet: %v", r.ID, err)
	}
	return nil
}
