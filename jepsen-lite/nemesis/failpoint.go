package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rmd/jepsen-lite/harness"
)

// Failpoints returns the faults at failpoints of the program's own code: before and after a write
// is durable, between planning and proposing, between winning an election and acting on it.
func Failpoints() []Fault {
	return []Fault{
		{Name: "crash-writing", Kind: harness.Failpoints,
			Text: "one replica crashes at a named place while it writes or applies", Inject: failpoint(writing, false)},
		{Name: "crash-leading", Kind: harness.Failpoints, Text: "the leader crashes at a named place of its work",
			Inject: failpoint(leading, false)},
		{Name: "crash-electing", Kind: harness.Failpoints,
			Text: "the leader is killed, and who follows crashes within the election", Inject: failpoint(electing, false)},
		{Name: "crash-snapshot", Kind: harness.Failpoints, Text: "one replica crashes at a named place of making a snapshot",
			Inject: failpoint(making, false)},
		{Name: "crash-starting", Kind: harness.Failpoints, Text: "one replica crashes again while it starts",
			Inject: failpoint(starting, false)},
		{Name: "crash-members", Kind: harness.Failpoints,
			Text: "somebody crashes at a named place of letting a replica in or out", Inject: failpoint(changing, false)},
		{Name: "crash-restarting", Kind: harness.Delay,
			Text:   "a leader crashes while it restarts its raft in place, for a transfer that got stuck",
			Inject: failpoint(restarting, false)},
		{Name: "hold-writing", Kind: harness.Failpoints,
			Text: "one replica stands still for a moment where it writes or applies", Inject: failpoint(writing, true)},
		{Name: "hold-leading", Kind: harness.Failpoints,
			Text: "the leader stands still for a moment at a named place of its work", Inject: failpoint(leading, true)},
		{Name: "hold-electing", Kind: harness.Failpoints,
			Text: "who follows a killed leader stands still within the election", Inject: failpoint(electing, true)},
		{Name: "hold-members", Kind: harness.Failpoints,
			Text: "somebody stands still for a moment where a replica is let in or out", Inject: failpoint(changing, true)},
		{Name: "hold-restarting", Kind: harness.Delay,
			Text: "a leader stands still for a moment while it restarts its raft in place", Inject: failpoint(restarting, true)},
	}
}

// reachWithin is how long a replica may take to reach a failpoint.
const reachWithin = 4 * time.Second

// failpoint draws a site and lets a replica crash or wait there.
func failpoint(at []site, hold bool) func(context.Context, *Env) (Heal, error) {
	return func(ctx context.Context, e *Env) (Heal, error) {
		leader, voters := e.members(ctx)
		if leader == nil || len(voters) < 3 {
			return nil, ErrNotNow
		}
		s := e.leastTried(at)
		set := harness.FailpointAction{Point: s.point, After: 1 + e.Rand.IntN(s.times)}
		what := "crash"
		if hold {
			set.Hold = seconds(0.05, 2)(e.Rand).Round(time.Millisecond)
			what = "hold for " + set.Hold.String()
		}
		of := s.who(e, leader, voters)
		if len(of) == 0 || s.spare && e.spare() == nil {
			return nil, ErrNotNow
		}
		e.moment.OnLeader = slices.Contains(of, leader)
		e.recordVictims("%s at %s: %s", of, names(of), s.point, what)
		heal := e.afterFailpoint(set, voters, s.spare)
		for _, r := range of {
			if s.first {
				r.SetFailpointAtStart(set)
			} else if err := r.SetFailpoint(set); err != nil {
				return heal, err
			}
		}
		e.set = set
		err := s.bring(ctx, e, leader, of)
		if errors.Is(err, ErrNotNow) {
			err = nil // no replica reaches the failpoint; heal removes the settings
		}
		reached := await(ctx, "somebody comes to "+s.point, reachWithin, func() bool {
			return slices.ContainsFunc(of, func(r *harness.Replica) bool { return r.Reached(set) })
		}) == nil
		if reached {
			e.Reach(s.point)
		} else {
			e.moment.Text += " (nobody came there)"
		}
		return heal, errors.Join(err, e.awaitCrashes(ctx, set, of))
	}
}

// leastTried draws one of the sites whose failpoints were tried least often, so that a run tries
// all of them.
func (e *Env) leastTried(at []site) site {
	least := slices.MinFunc(at, func(a, b site) int { return e.tried[a.point] - e.tried[b.point] })
	var few []site
	for _, s := range at {
		if e.tried[s.point] == e.tried[least.point] {
			few = append(few, s)
		}
	}
	s := few[e.Rand.IntN(len(few))]
	if e.tried == nil {
		e.tried = map[string]int{}
	}
	e.tried[s.point]++
	return s
}

// awaitCrashes waits until the replicas that reached a crash point have ended. They write a line
// just before.
func (e *Env) awaitCrashes(ctx context.Context, set harness.FailpointAction, of []*harness.Replica) error {
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

// afterFailpoint removes the failpoints, starts the replicas that have ended, and waits until all
// vote again. If spare is true, it removes the spare replicas.
func (e *Env) afterFailpoint(set harness.FailpointAction, voters []*harness.Replica, spare bool) Heal {
	return func(ctx context.Context) error {
		if err := e.Cluster.Network().Heal(); err != nil {
			return err
		}
		for _, r := range voters {
			r.SetFailpointAtStart(harness.FailpointAction{})
			_ = r.SetFailpoint(harness.FailpointAction{}) // the process may have ended
		}
		for _, r := range voters {
			if err := r.Start(); err != nil {
				return fmt.Errorf("after %s: %w", set.Point, err)
			}
		}
		for _, r := range voters {
			err := e.awaitBack(ctx, r)
			// it reached the failpoint before that was removed
			if err != nil && set.Hold == 0 && !r.Running() && r.Reached(set) {
				err = e.restart(ctx, r)
			}
			if err != nil {
				return err
			}
		}
		if err := e.allVote(ctx, voters); err != nil || !spare {
			return err
		}
		return e.sparesOut(ctx)
	}
}

// sparesOut removes every spare replica that was started.
func (e *Env) sparesOut(ctx context.Context) error {
	for _, r := range e.Cluster.Replicas {
		if r.Voter || r.Runs() == 0 {
			continue
		}
		r.SetFailpointAtStart(harness.FailpointAction{})
		if err := e.takeOut(r)(ctx); err != nil {
			return err
		}
	}
	return nil
}

// allVote promotes the replicas that have lost their vote.
func (e *Env) allVote(ctx context.Context, of []*harness.Replica) error {
	for _, r := range of {
		var voters []*harness.Replica
		err := await(ctx, "somebody leads", healWithin, func() bool {
			var leader *harness.Replica
			leader, voters = e.members(ctx)
			return leader != nil
		})
		if err != nil {
			return err
		}
		if slices.Contains(voters, r) {
			continue
		}
		if err := e.votes(r)(ctx); err != nil {
			return err
		}
	}
	return nil
}
