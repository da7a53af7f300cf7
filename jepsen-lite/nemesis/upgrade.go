package nemesis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rmd/jepsen-lite/harness"
)

// Upgrades returns the faults that change the program, one replica after the other.
func Upgrades() []Fault {
	return []Fault{
		{Name: "upgrade", Kind: harness.Upgrade, Text: "one replica after the other runs the new program, the leader last",
			Inject: roll(true)},
		{Name: "downgrade", Kind: harness.Upgrade, Text: "the same, back to the old one", Inject: roll(false)},
		{Name: "finalize", Kind: harness.Upgrade,
			Text: "the upgrade is finalized; the old program must not take part any more", Inject: finalize},
	}
}

// roll restarts one replica after the other with another program, the leader last.
func roll(up bool) func(context.Context, *Env) (Heal, error) {
	return func(ctx context.Context, e *Env) (Heal, error) {
		leader, voters := e.members(ctx)
		if leader == nil || len(voters) < 3 {
			return nil, ErrNotNow
		}
		program := e.New
		if !up {
			program = e.Old
		}
		e.recordVictims("%s", voters, names(voters))
		order := append([]*harness.Replica(nil), voters...)
		for i, r := range order { // move the leader to the end
			if r == leader {
				order = append(append(order[:i:i], order[i+1:]...), r)
				break
			}
		}
		for _, r := range order {
			if err := r.Terminate(terminateWithin); err != nil {
				return nil, err
			}
			r.Run(program)
			if err := e.restart(ctx, r); err != nil {
				e.violated("upgrade", "%s does not take part with the other program: %v", r.ID, err)
				return nil, err
			}
			sleep(ctx, time.Second)
		}
		return nil, nil
	}
}

// finalize upgrades, raises the feature level, and starts the old program on a replica whose log
// contains an entry of the new level. The program must refuse it.
func finalize(ctx context.Context, e *Env) (Heal, error) {
	if _, err := roll(true)(ctx, e); err != nil {
		return nil, err
	}
	leader, r, err := e.follower(ctx)
	if err != nil {
		return nil, err
	}
	was, err := e.Cluster.Facts(ctx, leader)
	if err != nil {
		return nil, err
	}
	if _, err := e.Cluster.CLI(ctx, "upgrade", "finalize", "--yes"); err != nil {
		e.violated("upgrade", "all replicas run the new program, and the upgrade cannot be finalized: %v", err)
		return nil, err
	}
	is, err := e.Cluster.Facts(ctx, leader)
	if err != nil {
		return nil, err
	}
	e.recordVictims("level %d to %d, then the old program on %s", []*harness.Replica{r}, was.Level, is.Level, r.ID)
	if is.Level == was.Level {
		e.moment.Text += " (there is no level to raise)"
		return nil, nil
	}
	heal := func(ctx context.Context) error {
		if err := r.Kill(); err != nil {
			return err
		}
		r.Run(e.New)
		return e.restart(ctx, r)
	}
	if err := r.Terminate(terminateWithin); err != nil {
		return heal, err
	}
	r.Run(e.Old)
	if err := r.Start(); err != nil {
		return heal, err
	}
	r.Expect()
	return heal, e.refusesLevel(ctx, r, is.Level)
}

// exitNotKnown is the exit code of a program that meets an entry of an unknown feature level.
const exitNotKnown = 75

// refusesLevel waits until a replica has reached the unknown entry. If it has stored the entry, it
// ends. Otherwise it refuses the entry and stays.
func (e *Env) refusesLevel(ctx context.Context, r *harness.Replica, level uint32) error {
	ctx, cancel := context.WithTimeout(ctx, startsWithin)
	defer cancel()
	x, err := r.AwaitExit(ctx)
	switch {
	case err != nil && strings.Contains(r.Said(1<<16), "refusing entries of the leader"):
		e.moment.Text += ": refuses the entries"
	case err != nil:
		e.violated("upgrade", "%s goes on with the old program at feature level %d: %v", r.ID, level, err)
	case x.Code != exitNotKnown:
		e.violated("upgrade", "%s met feature level %d with the old program and ended with %d%s: %s", r.ID, level, x.Code,
			x.Signal, lastLines(x.Said, 3))
	default:
		e.moment.Text += fmt.Sprintf(": ended with %d", x.Code)
	}
	return nil
}
