package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// Points are faults at named places of the program's own code: before and after a
// write is durable, between planning and proposing, between winning an election
// and acting on it.
func Points() []Fault {
	return []Fault{
		{Name: "crash-writing", Kind: harness.Points, Text: "one replica crashes at a named place while it writes or applies", Inject: stand(writing, false)},
		{Name: "crash-leading", Kind: harness.Points, Text: "the leader crashes at a named place of its work", Inject: stand(leading, false)},
		{Name: "crash-electing", Kind: harness.Points, Text: "the leader is killed, and who follows crashes within the election", Inject: stand(electing, false)},
		{Name: "crash-snapshot", Kind: harness.Points, Text: "one replica crashes at a named place of making a snapshot", Inject: stand(making, false)},
		{Name: "crash-starting", Kind: harness.Points, Text: "one replica crashes again while it starts", Inject: stand(starting, false)},
		{Name: "hold-writing", Kind: harness.Points, Text: "one replica stands still for a moment where it writes or applies", Inject: stand(writing, true)},
		{Name: "hold-leading", Kind: harness.Points, Text: "the leader stands still for a moment at a named place of its work", Inject: stand(leading, true)},
		{Name: "hold-electing", Kind: harness.Points, Text: "who follows a killed leader stands still within the election", Inject: stand(electing, true)},
	}
}

// spot is a named place, who can come there, and what brings him there.
type spot struct {
	point string
	times int // that it may be passed before
	who   func(e *Env, leader *harness.Replica, voters []*harness.Replica) []*harness.Replica
	bring func(ctx context.Context, e *Env, leader *harness.Replica, of []*harness.Replica) error
	first bool // the next run of the replica comes there, not the present one
}

// The places that the faults here lead to; the others are those of a raft that is
// restarted in place and of a removed replica, which need more than a stand.
var (
	writing = []spot{
		{"store.entries", 40, anyVoter, nothing, false}, {"entries.stored", 40, anyVoter, nothing, false}, {"entry.applied", 40, anyVoter, nothing, false},
	}
	leading = []spot{
		{"batch.closed", 40, theLeader, nothing, false}, {"batch.proposed", 40, theLeader, nothing, false}, {"batch.settled", 40, theLeader, nothing, false},
		{"read.indexed", 10, theLeader, nothing, false}, {"transfer.begun", 1, theLeader, handOver, false}, {"office.left", 1, theLeader, handOver, false},
		{"member.changed", 1, theLeader, demoteOne, false},
	}
	electing = []spot{
		{"store.value", 2, theOthers, killIt, false}, {"value.stored", 2, theOthers, killIt, false}, {"crash.stand", 1, theOthers, killIt, false},
		{"office.barrier", 1, theOthers, killIt, false}, {"office.taken", 1, theOthers, killIt, false},
	}
	making = []spot{
		{"state.forked", 1, anyVoter, snapshotNow, false}, {"snapshot.verified", 1, anyVoter, snapshotNow, false}, {"snapshot.finished", 1, anyVoter, snapshotNow, false},
		{"entries.deleted", 1, anyVoter, snapshotNow, false},
	}
	starting = []spot{
		{"state.read", 1, anyVoter, restart, true}, {"snapshot.applied", 1, anyVoter, restart, true}, {"store.value", 1, anyVoter, restart, true},
		{"store.entries", 1, anyVoter, restart, true}, {"entry.applied", 5, anyVoter, restart, true},
	}
)

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

func nothing(context.Context, *Env, *harness.Replica, []*harness.Replica) error { return nil }

func handOver(ctx context.Context, e *Env, leader *harness.Replica, _ []*harness.Replica) error {
	_, to, err := e.follower(ctx)
	if err == nil {
		// It may be refused, or end with the leader.
		_ = e.cli(ctx, history.Transfer, history.Value{Replica: to.ID}, "cluster", "transfer", to.ID)
	}
	return err
}

func demoteOne(ctx context.Context, e *Env, leader *harness.Replica, _ []*harness.Replica) error {
	_, r, err := e.follower(ctx)
	if err == nil {
		_ = e.cli(ctx, history.Promote, history.Value{Replica: r.ID}, "cluster", "demote", r.ID) // it ends with the leader
	}
	return err
}

func killIt(_ context.Context, _ *Env, leader *harness.Replica, _ []*harness.Replica) error {
	return leader.Kill()
}

func snapshotNow(ctx context.Context, e *Env, _ *harness.Replica, of []*harness.Replica) error {
	_, _ = e.Cluster.TakeSnapshot(ctx, of[0]) // it ends with the replica
	return nil
}

func restart(_ context.Context, _ *Env, _ *harness.Replica, of []*harness.Replica) error {
	return errors.Join(of[0].Kill(), of[0].Start())
}

// reachWithin bounds how long it may take until somebody comes to a place.
const reachWithin = 4 * time.Second

// stand draws a place and has somebody crash or wait there.
func stand(at []spot, hold bool) func(context.Context, *Env) (Heal, error) {
	return func(ctx context.Context, e *Env) (Heal, error) {
		leader, voters := e.members(ctx)
		if leader == nil || len(voters) < 3 {
			return nil, ErrNotNow
		}
		s := at[e.Rand.IntN(len(at))]
		set := harness.Stand{Point: s.point, After: 1 + e.Rand.IntN(s.times)}
		what := "crash"
		if hold {
			set.Hold = seconds(0.05, 2)(e.Rand).Round(time.Millisecond)
			what = "hold for " + set.Hold.String()
		}
		of := s.who(e, leader, voters)
		e.moment.OnLeader = slices.Contains(of, leader)
		e.on("%s at %s: %s", of, names(of), s.point, what)
		heal := e.afterStand(set, voters)
		for _, r := range of {
			if s.first {
				r.StandFirst(set)
			} else if err := r.Stand(set); err != nil {
				return heal, err
			}
		}
		err := s.bring(ctx, e, leader, of)
		reached := await(ctx, "somebody comes to "+s.point, reachWithin, func() bool {
			return slices.ContainsFunc(of, func(r *harness.Replica) bool { return r.Reached(set) })
		}) == nil
		if reached {
			e.Reach(s.point)
		} else {
			e.moment.Text += " (nobody came there)"
		}
		return heal, errors.Join(err, e.gone(ctx, set, of))
	}
}

// gone waits until those who came to a place at which they were to crash have
// ended: they say so just before.
func (e *Env) gone(ctx context.Context, set harness.Stand, of []*harness.Replica) error {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	for _, r := range of {
		if set.Hold != 0 || !r.Reached(set) {
			continue
		}
		if _, err := r.AwaitExit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// afterStand takes stands back, starts who is gone and waits until all take part.
func (e *Env) afterStand(set harness.Stand, voters []*harness.Replica) Heal {
	return func(ctx context.Context) error {
		for _, r := range voters {
			r.StandFirst(harness.Stand{})
			_ = r.Stand(harness.Stand{}) // it may be gone, as it was to be
		}
		for _, r := range voters {
			if err := r.Start(); err != nil {
				return fmt.Errorf("after %s: %w", set.Point, err)
			}
		}
		for _, r := range voters {
			if err := e.awaitBack(ctx, r); err != nil {
				return err
			}
		}
		return e.allVote(ctx, voters)
	}
}

// allVote makes voters of those that lost their vote on the way.
func (e *Env) allVote(ctx context.Context, of []*harness.Replica) error {
	for _, r := range of {
		leader, voters := e.members(ctx)
		if leader == nil || slices.Contains(voters, r) {
			continue
		}
		if err := e.votes(r)(ctx); err != nil {
			return err
		}
	}
	return nil
}
