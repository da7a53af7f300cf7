package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"rmd/cluster/offline"
	"rmd/cluster/raftstore"
	"rmd/internal/exitcode"
)

// picture returns every name, mode and content hash below a directory.
func picture(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if d.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h := sha256.Sum256(content)
			sum = hex.EncodeToString(h[:])
		}
		fmt.Fprintln(&b, strings.TrimPrefix(path, dir), info.Mode(), sum)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// dataDirs returns two replicas of one cluster, which were stopped properly. Their logs do not
// begin at the first entry, and each has two snapshots.
func dataDirs(t *testing.T) (a, b *replica) {
	t.Helper()
	rs := trio(t, func(c *Config) { c.Options.LowTrailing, c.Trailing = true, 3 })
	for range 2 {
		inStep(t, rs, put(t, rs, 10))
		for _, r := range rs {
			if err := r.c.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	inStep(t, rs, put(t, rs, 5))
	for _, r := range rs {
		r.stop()
	}
	return rs[0], rs[1]
}

// damages lists the kinds of damage to a data directory, and the error of a start. other is the
// directory of another replica.
var damages = map[string]struct {
	do   func(t *testing.T, dir, other string)
	says string
}{
	"nothing":         {do: func(*testing.T, string, string) {}},
	"raft.db missing": {func(t *testing.T, dir, _ string) { remove(t, dir, raftDB) }, "raft.db is missing, but rm"},
	"raft.db empty": {func(t *testing.T, dir, _ string) {
		truncate(t, dir, raftDB, 0)
	}, "raft.db is empty, but rm"},
	"raft.db cut": {func(t *testing.T, dir, _ string) {
		truncate(t, dir, raftDB, 9000)
	}, "raft.db: it has 9000 bytes of"},
	"raft.db new": {freshLog, "raft.db holds neither a term nor an entry, but this replica has stored some"},
	"raft.db of another": {func(t *testing.T, dir, other string) {
		copyFile(t, other, dir, raftDB)
	}, "raft.db belongs to replica rm"},
	"no term": {noTerm, "the stored term is 0, the newest entry is of term"},
	"replica.json gone": {func(t *testing.T, dir, _ string) {
		remove(t, dir, replicaJSON)
	}, "raft.db exists, but replica.json is missing"},
	"replica.json empty": {func(t *testing.T, dir, _ string) { truncate(t, dir, replicaJSON, 0) }, "replica.json"},
	"snapshots gone": {func(t *testing.T, dir, _ string) {
		remove(t, dir, snapshotsDir)
	}, "but the snapshot ends at 0: entries are missing"},
	"meta.json empty": {func(t *testing.T, dir, _ string) {
		eachSnapshot(t, dir, metaJSON)
	}, "all snapshots are damaged"},
	"meta.crc32c empty": {func(t *testing.T, dir, _ string) {
		eachSnapshot(t, dir, metaSum)
	}, "meta.json: checksum differs"},
	"state.bin empty": {func(t *testing.T, dir, _ string) {
		eachSnapshot(t, dir, stateBin)
	}, "all snapshots are damaged"},
	"state.bin gone": {func(t *testing.T, dir, _ string) {
		eachSnapshot(t, dir, "-"+stateBin)
	}, "all snapshots are damaged"},
	"log and snapshots": {func(t *testing.T, dir, _ string) {
		remove(t, dir, raftDB)
		remove(t, dir, snapshotsDir)
	}, "raft.db is missing"},
	"newest, no log":        {newestWithoutLog, "before a snapshot that is damaged: entries are missing"},
	"trust.json gone":       {func(t *testing.T, dir, _ string) { remove(t, dir, trustJSON) }, "trust.json"},
	"trust.json of another": {func(t *testing.T, dir, other string) { copyFile(t, other, dir, trustJSON) }, "trust.json"},
	"lock gone":             {do: func(t *testing.T, dir, _ string) { remove(t, dir, lockFile) }},
	"unfinished snapshot":   {do: func(t *testing.T, dir, _ string) { mkdir(t, dir, snapshotsDir, "9-9-9.tmp") }},
}

func remove(t *testing.T, path ...string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(path...)); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path ...string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(path...), 0o700); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, dir, name string, size int64) {
	t.Helper()
	if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(from, name))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, name), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// eachSnapshot truncates a file of every snapshot to 0 bytes, or removes it if name begins with
// "-".
func eachSnapshot(t *testing.T, dir, name string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, snapshotsDir, "*"))
	if err != nil || len(all) != 2 {
		t.Fatalf("snapshots in the directory: %q, %v, want 2", all, err)
	}
	for _, s := range all {
		if gone, ok := strings.CutPrefix(name, "-"); ok {
			remove(t, s, gone)
		} else {
			truncate(t, s, name, 0)
		}
	}
}

// freshLog replaces raft.db with a new store.
func freshLog(t *testing.T, dir, _ string) {
	t.Helper()
	remove(t, dir, raftDB)
	withStore(t, dir, func(*raftboltdb.BoltStore) error { return nil })
}

func withStore(t *testing.T, dir string, f func(*raftboltdb.BoltStore) error) {
	t.Helper()
	b, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(dir, raftDB)})
	if err == nil {
		err = errors.Join(f(b), b.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func noTerm(t *testing.T, dir, _ string) {
	t.Helper()
	withStore(t, dir, func(b *raftboltdb.BoltStore) error { return b.Set([]byte("CurrentTerm"), nil) })
}

// newestWithoutLog removes all log entries, as after the installation of a snapshot, and damages
// the newest snapshot.
func newestWithoutLog(t *testing.T, dir, _ string) {
	t.Helper()
	withStore(t, dir, func(b *raftboltdb.BoltStore) error {
		first, err := b.FirstIndex()
		if err != nil {
			return err
		}
		last, err := b.LastIndex()
		return errors.Join(err, b.DeleteRange(first, last))
	})
	snaps, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	list, err := snaps.List()
	if err != nil || len(list) != 2 {
		t.Fatalf("%d snapshots in the store, %v, want 2", len(list), err)
	}
	truncate(t, dir, filepath.Join(snapshotsDir, list[0].ID, stateBin), 5)
}

// TestDamagedDirectory damages a data directory in each way of damages. A replica must not start
// with it, and must report why. Check and a dry recovery must report it too, and change nothing.
func TestDamagedDirectory(t *testing.T) {
	t.Parallel()
	a, b := dataDirs(t)
	whole := filepath.Join(t.TempDir(), "whole")
	copyDir(t, a.dir, whole)
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			remove(t, a.dir)
			copyDir(t, whole, a.dir)
			d.do(t, a.dir, b.dir)
			before := picture(t, a.dir)
			_, err := offline.Check(a.dir, verifyTestSnap)
			if d.says == "" && err != nil || d.says != "" &&
				(err == nil || !strings.Contains(err.Error(), d.says) && name != "replica.json gone") {
				t.Errorf("check: %v", err)
			}
			if _, err := offline.Recover(a.dir, []offline.RecoverPeer{{ID: a.id, Address: "127.0.0.1:1"}},
				offline.RecoverOptions{FSM: newTestFSM(), Verify: verifyTestSnap, Without: []string{b.id},
					Alive: func(string) bool { return false }, Dry: true}); d.says != "" && err == nil {
				t.Error("a recovery would take it")
			}
			if after := picture(t, a.dir); after != before {
				t.Errorf("check and a dry recovery changed it from\n%s\nto\n%s", before, after)
			}
			err = a.open()
			if err == nil {
				a.stop()
			}
			var fatal *exitcode.Error
			switch {
			case d.says == "" && err != nil:
				t.Errorf("it does not start: %v", err)
			case d.says != "" && (!errors.As(err, &fatal) || fatal.Code != exitcode.Store ||
				!errors.Is(err, raftstore.ErrDamaged) || !strings.Contains(err.Error(), d.says)):
				t.Errorf("start: %v", err)
			}
		})
	}
}

// TestTruncatedFilesReported truncates each file of a data directory at random places. Check must
// report the damage and change nothing.
func TestTruncatedFilesReported(t *testing.T) {
	t.Parallel()
	a, _ := dataDirs(t)
	whole := filepath.Join(t.TempDir(), "whole")
	copyDir(t, a.dir, whole)
	var files []string
	err := filepath.WalkDir(whole, func(path string, d fs.DirEntry, err error) error {
		if info, ierr := d.Info(); err == nil && ierr == nil && d.Type().IsRegular() && info.Size() > 0 {
			files = append(files, strings.TrimPrefix(path, whole))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range files {
		for range 4 {
			remove(t, a.dir)
			copyDir(t, whole, a.dir)
			info, err := os.Stat(filepath.Join(a.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			size := r.Int64N(info.Size())
			truncate(t, a.dir, name, size)
			before := picture(t, a.dir)
			if _, err := offline.Check(a.dir, verifyTestSnap); err == nil || !errors.Is(err, raftstore.ErrDamaged) {
				t.Errorf("%s cut to %d of %d bytes: check says %v", name, size, info.Size(), err)
			}
			if picture(t, a.dir) != before {
				t.Errorf("%s cut to %d bytes: check changed the directory", name, size)
			}
		}
	}
}

// TestCheckOfAFreshDirectory checks that a directory without raft.db is valid if the replica has
// never stored anything, and that Check does not change it.
func TestCheckOfAFreshDirectory(t *testing.T) {
	r := newReplica(t, "rm1", nil).start()
	r.stop()
	remove(t, r.dir, raftDB)
	before := picture(t, r.dir)
	if rep, err := offline.Check(r.dir, nil); err != nil || rep.Last != 0 {
		t.Errorf("Check of a directory without a log: %v, last index %d, want no error and 0", err, rep.Last)
	}
	if after := picture(t, r.dir); after != before {
		t.Errorf("%s\n%s", before, after)
	}
	r.start()
	leadAlone(t, r)
}
