package nemesis

import (
	"context"
	"strings"

	"rmd/jepsen-lite/harness"
)

// Processes returns the faults of processes.
func Processes() []Fault {
	return []Fault{
		{Name: "kill", Kind: harness.Crash, Text: "SIGKILL to one replica", Lone: true, Hold: seconds(0, 3), Inject: kill},
		{Name: "kill-leader", Kind: harness.Crash, Text: "SIGKILL to the leader", Lone: true, Hold: seconds(1, 3),
			Inject: killLeader},
		{Name: "kill-all", Kind: harness.Crash, Text: "SIGKILL to all replicas at once", Hold: seconds(0, 2),
			Inject: killAll},
		{Name: "terminate", Kind: harness.Crash, Text: "SIGTERM to one replica, which ends in order", Hold: seconds(0, 2),
			Inject: terminate},
		{Name: "pause", Kind: harness.PauseIt, Text: "SIGSTOP to one replica for 0.1 to 10 s", Hold: seconds(0.1, 10),
			Inject: pause},
		{Name: "pause-long", Kind: harness.PauseIt, Text: "SIGSTOP to one replica for 20 to 60 s", Hold: seconds(20, 60),
			Inject: pause},
		{Name: "flicker", Kind: harness.PauseIt, Text: "the leader stops and goes on, again and again", Inject: flicker},
	}
}

func kill(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	return func(ctx context.Context) error { return e.restart(ctx, r) }, r.Kill()
}

func killLeader(ctx context.Context, e *Env) (Heal, error) {
	r, voters := e.members(ctx)
	if r == nil || len(voters) < 3 {
		return nil, ErrNotNow
	}
	e.moment.OnLeader = true
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	return func(ctx context.Context) error { return e.restart(ctx, r) }, r.Kill()
}

func killAll(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	if leader == nil {
		return nil, ErrNotNow
	}
	e.recordVictims("%s", voters, names(voters))
	for _, r := range voters {
		if err := r.Kill(); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		for _, r := range voters {
			if err := r.Start(); err != nil {
				return err
			}
		}
		for _, r := range voters {
			if err := e.awaitBack(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func terminate(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	err = e.endInOrder(r)
	return func(ctx context.Context) error { return e.restart(ctx, r) }, err
}

// endInOrder stops a replica with SIGTERM. It must end with 0.
func (e *Env) endInOrder(r *harness.Replica) error {
	err := r.Terminate(terminateWithin)
	if err == nil {
		if all := r.Exits(); all[len(all)-1].Code != 0 {
			e.violated("exit", "%s was asked to end and ended with %d: %s", r.ID, all[len(all)-1].Code,
				lastLines(all[len(all)-1].Said, 3))
		}
	}
	return err
}

func pause(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	return func(ctx context.Context) error {
		if err := r.Resume(); err != nil {
			return err
		}
		return e.awaitBack(ctx, r)
	}, r.Pause()
}

// flicker stops the leader for about an election timeout, several times. Each time, the old leader
// may continue without knowing that it is deposed.
func flicker(ctx context.Context, e *Env) (Heal, error) {
	rounds := 3 + e.Rand.IntN(6)
	var hit []*harness.Replica
	for range rounds {
		r, voters := e.members(ctx)
		if r == nil || len(voters) < 3 {
			break
		}
		e.moment.OnLeader = true
		hit = append(hit, r)
		if err := r.Pause(); err != nil {
			return nil, err
		}
		sleep(ctx, seconds(0.1, 0.8)(e.Rand))
		if err := r.Resume(); err != nil {
			return nil, err
		}
	}
	if len(hit) == 0 {
		return nil, ErrNotNow
	}
	e.recordVictims("%s", hit, names(hit))
	return func(ctx context.Context) error {
		for _, r := range hit {
			if err := e.awaitBack(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func names(of []*harness.Replica) string {
	var out []string
	for _, r := range of {
		out = append(out, r.ID)
	}
	return strings.Join(out, ", ")
}
