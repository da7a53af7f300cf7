package cluster

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/internal/exitcode"
)

// TestLogRollback replaces a follower's disk with an older copy while its leader continues. The
// follower has lost entries that it acknowledged, and must stop at every start with that disk. With
// its own disk it takes part again.
func TestLogRollback(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	inStep(t, rs, put(t, rs, 5))
	l := leader(t, rs)
	victim := rs[0]
	if victim == l {
		victim = rs[1]
	}
	victim.stop()
	old := filepath.Join(t.TempDir(), "old")
	copyDir(t, victim.dir, old)
	victim.start()
	inStep(t, rs, put(t, rs, 20))
	term := l.c.Term()
	victim.stop()
	own := filepath.Join(t.TempDir(), "own")
	copyDir(t, victim.dir, own)
	with := func(disk string) {
		t.Helper()
		remove(t, victim.dir)
		copyDir(t, disk, victim.dir)
		victim.start()
	}
	for range 2 {
		with(old)
		select {
		case f := <-victim.fatal:
			if f.Code != exitcode.Store || !errors.Is(f.Err, ErrLogRolledBack) {
				t.Fatalf("it ended with %d: %v", f.Code, f.Err)
			}
		case <-time.After(patience):
			if l.c.Term() != term {
				t.Skip("leadership moved meanwhile: nobody remembers what was acknowledged")
			}
			t.Fatal("a disk that has gone back takes part again")
		}
		for _, m := range l.c.Members() {
			if bad := strings.Contains(m.Problem, "log rollback: its log ended at"); bad != (m.ID == victim.id) {
				t.Errorf("status of %s says %q", m.ID, m.Problem)
			}
		}
		victim.stop()
	}
	with(own)
	eventually(t, patience, "the replica with its own disk is in step", func() bool {
		return l.c.Term() != term || victim.c.AppliedIndex() == l.c.AppliedIndex()
	})
	for _, m := range l.c.Members() {
		if m.Problem != "" {
			t.Errorf("status of %s says %q", m.ID, m.Problem)
		}
	}
	inStep(t, rs, put(t, rs, 2))
	victim.stop()
	with(old) // for the rest of the test
	<-victim.fatal
	put(t, slices.DeleteFunc(rs, func(r *replica) bool { return r == victim }), 3) // the other two replicas continue
}

// copyDir copies a data directory and sets the modes of its files.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		return os.Chmod(path, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
}
