package nemesis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// Membership returns the faults that change the members, with the command line alone.
func Membership() []Fault {
	return []Fault{
		{Name: "transfer", Kind: harness.Members, Text: "leadership is handed over", Inject: transfer},
		{Name: "demote-promote", Kind: harness.Members, Text: "a voter becomes a nonvoter and a voter again",
			Inject: demotePromote},
		{Name: "replace", Kind: harness.Members, Text: "a replica is removed, wiped and joins as a new one", Inject: replace},
		{Name: "remove-leader", Kind: harness.Members, Text: "the leader is removed, wiped and joins as a new one",
			Inject: removeLeader},
		{Name: "grow-shrink", Kind: harness.Members, Text: "a spare replica joins, votes and is removed", Inject: growShrink},
		{Name: "join-kill", Kind: harness.Members, Text: "the leader is killed while a replica joins", Inject: joinKill},
	}
}

// cli runs a command of the program and records it in the history.
func (e *Env) cli(ctx context.Context, f history.F, in history.Value, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	hist := e.Record.Client("cli")
	hist.Invoke(f, in)
	_, err := e.Cluster.CLI(ctx, args...)
	switch code := harness.ExitCode(err); {
	case err == nil:
		hist.OK(history.Value{})
	case code == 2 || code == 3 || code == 7 || code == 8:
		hist.Fail(fmt.Sprintf("exit %d", code))
	default:
		hist.Info(err.Error())
	}
	return err
}

func transfer(ctx context.Context, e *Env) (Heal, error) {
	leader, to, err := e.follower(ctx)
	if err != nil {
		return nil, err
	}
	e.moment.OnLeader = true
	e.recordVictims("%s to %s", []*harness.Replica{leader}, leader.ID, to.ID)
	err = e.cli(ctx, history.Transfer, history.Value{Replica: to.ID}, "cluster", "transfer", to.ID)
	if harness.ExitCode(err) == exitRefused {
		e.moment.Text += " (refused)"
		err = nil
	}
	return nil, err
}

// exitRefused is the exit code of a command that the cluster's state does not allow.
const exitRefused = 8

func demotePromote(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	if err := e.cli(ctx, history.Promote, history.Value{Replica: r.ID}, "cluster", "demote", r.ID); err != nil {
		return e.votes(r), err
	}
	sleep(ctx, seconds(0, 2)(e.Rand))
	return e.votes(r), nil
}

// votes returns a Heal that makes a member a voter, by command or by autopilot.
func (e *Env) votes(r *harness.Replica) Heal {
	return func(ctx context.Context) error {
		// autopilot may promote it first
		_ = e.cli(ctx, history.Promote, history.Value{Replica: r.ID, Voter: true}, "cluster", "promote", r.ID,
			"--max-lag", "10000")
		return e.awaitVoter(ctx, r)
	}
}

func (e *Env) awaitVoter(ctx context.Context, r *harness.Replica) error {
	return await(ctx, r.ID+" votes", 40*time.Second, func() bool {
		_, voters := e.members(ctx)
		for _, v := range voters {
			if v == r {
				return true
			}
		}
		return false
	})
}

// rejoin removes a replica, wipes it and lets it join as a new one.
func (e *Env) rejoin(ctx context.Context, r *harness.Replica) error {
	r.Expect()
	if err := e.remove(ctx, r); err != nil {
		return err
	}
	if err := r.Kill(); err != nil {
		return err
	}
	if err := r.Wipe(); err != nil {
		return err
	}
	return e.join(ctx, r)
}

func (e *Env) remove(ctx context.Context, r *harness.Replica) error {
	var err error
	for range 5 { // the command may be refused while another replica lags
		err = e.cli(ctx, history.Remove, history.Value{Replica: r.ID}, "cluster", "remove", r.ID, "--yes")
		if err == nil || harness.ExitCode(err) == 3 {
			return nil
		}
		sleep(ctx, time.Second)
	}
	return err
}

// join starts an empty replica and joins it to the cluster. It returns when the replica votes.
func (e *Env) join(ctx context.Context, r *harness.Replica) error {
	if err := e.letIn(ctx, r); err != nil {
		return err
	}
	if err := e.awaitVoter(ctx, r); err != nil {
		return err
	}
	return e.awaitBack(ctx, r)
}

func (e *Env) letIn(ctx context.Context, r *harness.Replica) error {
	if err := r.Start(); err != nil {
		return err
	}
	if err := e.Cluster.AwaitUp(ctx, r); err != nil {
		return err
	}
	var err error
	for range 5 {
		if err = e.joinOnce(ctx, r); err == nil {
			return nil
		}
		sleep(ctx, time.Second)
	}
	return err
}

func (e *Env) joinOnce(ctx context.Context, r *harness.Replica) error {
	leader := e.Cluster.Leader(ctx)
	if leader == nil {
		return fmt.Errorf("join %s: no leader", r.ID)
	}
	token, err := e.Cluster.CLI(ctx, "cluster", "token", "create", "--role", "voter")
	if err != nil {
		return err
	}
	file := e.tokenFile()
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		return err
	}
	return e.cli(ctx, history.Join, history.Value{Replica: r.ID}, "--addr", e.Cluster.URL(r, false), "cluster", "join",
		leader.Place.Peer, "--token-file", file)
}

// tokenFile is the file with the newest join token.
func (e *Env) tokenFile() string { return filepath.Join(e.Cluster.Dir(), "join-token") }

func replace(ctx context.Context, e *Env) (Heal, error) {
	_, r, err := e.follower(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	return func(ctx context.Context) error { return e.rejoin(ctx, r) }, nil
}

func removeLeader(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	if leader == nil || len(voters) < 3 {
		return nil, ErrNotNow
	}
	e.moment.OnLeader = true
	e.recordVictims("%s", []*harness.Replica{leader}, leader.ID)
	return func(ctx context.Context) error { return e.rejoin(ctx, leader) }, nil
}

// spare returns a spare replica that does not run, or nil.
func (e *Env) spare() *harness.Replica {
	for _, r := range e.Cluster.Replicas {
		if !r.Voter && !r.Running() {
			return r
		}
	}
	return nil
}

func growShrink(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	r := e.spare()
	if leader == nil || len(voters) < 3 || r == nil {
		return nil, ErrNotNow
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	if err := r.Wipe(); err != nil {
		return nil, err
	}
	err := e.join(ctx, r)
	if err == nil {
		sleep(ctx, seconds(0, 3)(e.Rand))
	}
	return e.takeOut(r), err
}

// takeOut returns a Heal that removes a spare replica and ends its process.
func (e *Env) takeOut(r *harness.Replica) Heal {
	return func(ctx context.Context) error {
		r.Expect()
		if err := e.remove(ctx, r); err != nil {
			return err
		}
		return r.Kill()
	}
}

func joinKill(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	r := e.spare()
	if leader == nil || len(voters) < 3 || r == nil {
		return nil, ErrNotNow
	}
	e.moment.OnLeader = true
	e.recordVictims("%s joins, %s is killed", []*harness.Replica{r, leader}, r.ID, leader.ID)
	if err := r.Wipe(); err != nil {
		return nil, err
	}
	if err := e.letIn(ctx, r); err != nil {
		return e.takeOut(r), err
	}
	sleep(ctx, seconds(0, 1)(e.Rand))
	err := leader.Kill()
	return func(ctx context.Context) error {
		if err := e.restart(ctx, leader); err != nil {
			return err
		}
		return e.takeOut(r)(ctx)
	}, err
}
