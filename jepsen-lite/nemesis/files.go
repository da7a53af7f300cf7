package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// Files returns the faults in the files of a stopped replica.
func Files() []Fault {
	return []Fault{
		{Name: "bit-flip", Kind: harness.Damage, Text: "one bit of one file of a stopped replica flips", Inject: flip},
		{Name: "truncate", Kind: harness.Damage, Text: "one file of a stopped replica loses its end", Inject: truncate},
		{Name: "roll-back", Kind: harness.Damage, Text: "a replica's disk is that of some time ago", Inject: rollBack},
		{Name: "lost-disk", Kind: harness.LostDisk, Text: "a replica's disk is empty", Inject: lostDisk},
		{Name: "empty-first", Kind: harness.LostDisk,
			Text: "the replica that clients name first is killed, and starts with an empty disk", Hold: seconds(0, 2),
			Inject: emptyFirst},
		{Name: "read-only", Kind: harness.ReadOnly, Text: "a replica's file system is mounted read-only", Inject: readOnly},
	}
}

// savedFiles is a copy of a stopped replica's files.
type savedFiles struct {
	r   *harness.Replica
	dir string
}

// saveFiles copies a stopped replica's files.
func saveFiles(e *Env, r *harness.Replica) (*savedFiles, error) {
	dir, err := os.MkdirTemp(e.Cluster.Dir(), "aside-*")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(r.Dir)); err != nil {
		return nil, fmt.Errorf("copy the files of %s aside: %w", r.ID, err)
	}
	return &savedFiles{r: r, dir: dir}, nil
}

// restore puts the copy back and removes it.
func (k *savedFiles) restore() error {
	defer k.drop()
	if err := k.r.Wipe(); err != nil {
		return err
	}
	if err := os.CopyFS(k.r.Dir, os.DirFS(filepath.Join(k.dir, "data"))); err != nil {
		return fmt.Errorf("put the files of %s back: %w", k.r.ID, err)
	}
	defer syscall.Sync() // a later power cut must not lose files that the replica itself did not write
	return filepath.WalkDir(k.r.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
}

// drop removes the copy.
func (k *savedFiles) drop() { _ = os.RemoveAll(k.dir) } // what remains does no harm

// dataFiles returns the files in which damage matters.
func dataFiles(r *harness.Replica) []string {
	out := []string{filepath.Join(r.Dir, "raft.db"), filepath.Join(r.Dir, "replica.json")}
	for _, name := range []string{"state.bin", "meta.json"} {
		found, _ := filepath.Glob(filepath.Join(r.Dir, "snapshots", "*", name)) // the pattern is valid
		out = append(out, found...)
	}
	return out
}

func flip(ctx context.Context, e *Env) (Heal, error) {
	return damage(ctx, e, func(file string, b []byte) []byte {
		at, bit := e.Rand.IntN(len(b)), byte(1)<<e.Rand.IntN(8)
		b[at] ^= bit
		e.moment.Text += fmt.Sprintf(", %s, bit %#x of byte %d", filepath.Base(file), bit, at)
		return b
	})
}

func truncate(ctx context.Context, e *Env) (Heal, error) {
	return damage(ctx, e, func(file string, b []byte) []byte {
		n := e.Rand.IntN(len(b))
		e.moment.Text += fmt.Sprintf(", %s, %d of %d bytes", filepath.Base(file), n, len(b))
		return b[:n]
	})
}

// startsWithin is how long a replica may take to start with damaged files.
const startsWithin = 10 * time.Second

// stopped ends a follower with SIGTERM and copies its files.
func stopped(ctx context.Context, e *Env) (r *harness.Replica, files *savedFiles, err error) {
	if _, r, err = e.follower(ctx); err != nil {
		return nil, nil, err
	}
	if err := r.Terminate(terminateWithin); err != nil {
		return nil, nil, err
	}
	files, err = saveFiles(e, r)
	return r, files, err
}

// damage changes one file of a replica that was stopped in order. The replica must refuse the file,
// or continue with a correct state. The history gets the outcome. If the replica refused, its own
// files are put back.
func damage(ctx context.Context, e *Env, change func(file string, b []byte) []byte) (Heal, error) {
	r, before, err := stopped(ctx, e)
	if err != nil {
		return nil, err
	}
	heal := func(ctx context.Context) error { return e.restart(ctx, r) }
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	files := dataFiles(r)
	file := files[e.Rand.IntN(len(files))]
	b, err := os.ReadFile(file)
	if err == nil && len(b) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		before.drop()
		return heal, fmt.Errorf("%w: %s cannot be damaged: %v", ErrNotNow, file, err)
	}
	if err := os.WriteFile(file, change(file, b), 0o600); err != nil {
		return heal, err
	}
	if err := r.Start(); err != nil {
		return heal, err
	}
	r.Expect()
	outcome, err := e.outcome(ctx, r)
	e.Record.Note(&history.Fault{Kind: e.moment.Fault, When: history.Once, On: []string{r.ID}, Text: e.moment.Text,
		Outcome: outcome})
	e.moment.Text += ": " + string(outcome)
	if outcome == history.Unread {
		before.drop()
		return heal, err
	}
	return func(ctx context.Context) error {
		if err := before.restore(); err != nil {
			return err
		}
		return heal(ctx)
	}, err
}

// outcome waits until a replica has ended or takes part, and returns which.
func (e *Env) outcome(ctx context.Context, r *harness.Replica) (history.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*startsWithin)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- e.Cluster.AwaitReady(ctx, r) }() // it ends with ctx
	gone, err := r.AwaitExit(withReady(ctx, ready))
	if err == nil {
		if gone.Code == 0 || gone.Code == 2 || gone.Signal != "" {
			e.violated("S16", "%s met damaged files (%s) and ended with %d%s: %s", r.ID, e.moment.Text, gone.Code, gone.Signal,
				lastLines(gone.Said, 5))
		}
		return history.Stopped, nil
	}
	if r.Running() && e.Cluster.AwaitReady(ctx, r) == nil {
		return history.Unread, nil
	}
	return history.Refused, nil // it runs and does not take part
}

// withReady returns a context that also ends when ready receives a value.
func withReady(ctx context.Context, ready <-chan error) context.Context {
	out, cancel := context.WithCancel(ctx)
	go func() { // it ends with ready or ctx
		defer cancel()
		select {
		case <-ready:
		case <-ctx.Done():
		}
	}()
	return out
}

// rollBack gives a replica an older copy of its disk. The replica has lost votes and entries that
// it acknowledged, and must notice this.
func rollBack(ctx context.Context, e *Env) (Heal, error) {
	r, before, err := stopped(ctx, e)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	again := func(ctx context.Context) error { return e.rejoin(ctx, r) }
	if err := e.restart(ctx, r); err != nil {
		return again, err
	}
	sleep(ctx, seconds(1, 4)(e.Rand))
	if err := r.Kill(); err != nil {
		return again, err
	}
	if err := before.restore(); err != nil {
		return again, err
	}
	if err := r.Start(); err != nil {
		return again, err
	}
	r.Expect()
	outcome, err := e.outcome(ctx, r)
	e.moment.Text += ": " + string(outcome)
	if outcome == history.Unread {
		e.moment.Text += " (it was let in again)"
	}
	e.Record.Note(&history.Fault{Kind: e.moment.Fault, When: history.Once, On: []string{r.ID}, Text: e.moment.Text})
	return again, err
}

// lostDisk empties a replica's disk. The replica must not take part under its old identity. It
// joins as a new one.
func lostDisk(ctx context.Context, e *Env) (Heal, error) {
	leader, r, err := e.follower(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	if err := r.Kill(); err != nil {
		return nil, err
	}
	again := func(ctx context.Context) error { return e.rejoin(ctx, r) }
	if err := r.Wipe(); err != nil {
		return again, err
	}
	if err := r.Start(); err != nil {
		return again, err
	}
	if err := e.Cluster.AwaitUp(ctx, r); err != nil {
		return again, err
	}
	sleep(ctx, 2*time.Second)
	if e.Cluster.Get(ctx, r, "/v1/ready", nil) == nil {
		e.violated("S14", "%s takes part with an empty disk under its old name, beside %s", r.ID, leader.ID)
	}
	return again, nil
}

// emptyFirst empties the disk of the replica that all clients name first, and starts it. Every call
// must succeed at the others.
func emptyFirst(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	r := e.Cluster.Voters()[0]
	if leader == nil || len(voters) < 3 || !slices.Contains(voters, r) {
		return nil, ErrNotNow
	}
	e.moment.OnLeader = r == leader
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	again := func(ctx context.Context) error { return e.rejoin(ctx, r) }
	if err := errors.Join(r.Kill(), r.Wipe(), r.Start(), e.Cluster.AwaitUp(ctx, r)); err != nil {
		return again, err
	}
	e.servedPast(ctx, r)
	return again, nil
}

// servedPast checks that commands that name a replica first, which cannot serve, succeed at the
// others: reads, reads that may be stale, and a change.
func (e *Env) servedPast(ctx context.Context, first *harness.Replica) {
	for _, args := range [][]string{
		{"app", "list", "--limit", "1"}, {"app", "list", "--limit", "1", "--stale"}, {"queue", "list"}, {"node", "list"},
		{"cluster", "members"}, {"cluster", "token", "create", "--role", "voter"},
	} {
		err := fmt.Errorf("%s does not run", first.ID)
		for range 3 { // an election may take as long as a command waits
			if _, err = e.Cluster.CLIAt(ctx, first, args...); err == nil {
				break
			}
		}
		if err != nil {
			e.violated("L1", "a client that names %s first, which cannot serve, is not served: %v", first.ID, err)
		}
	}
}

// readOnly mounts a stopped replica's disk read-only. The replica must refuse to start.
func readOnly(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	heal := func(ctx context.Context) error {
		if err := r.Kill(); err != nil {
			return err
		}
		if err := r.Disk.Remount(false); err != nil {
			return err
		}
		return e.restart(ctx, r)
	}
	if err := r.Terminate(terminateWithin); err != nil {
		return heal, err
	}
	if err := r.Disk.Remount(true); err != nil {
		return heal, err
	}
	if err := r.Start(); err != nil {
		return heal, err
	}
	r.Expect()
	outcome, err := e.outcome(ctx, r)
	e.moment.Text += ": " + string(outcome)
	if outcome == history.Unread {
		e.violated("disk", "%s takes part on a disk that it cannot write", r.ID)
	}
	return heal, err
}
