package local

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rmd/cluster/offline"
	"rmd/fsm"
	"rmd/internal/release"
	"rmd/server"
	"rmd/workload"
	"rmd/workload/mixed"
)

var rewrite = flag.Bool("rewrite", false, "write the data directory of the version in preparation again")

// released is a data directory that a version wrote: testdata/released/VERSION/rm1, with a snapshot
// and a log after it. want.json beside it has what the replica had applied when it stopped.
type released struct {
	Index  uint64 `json:"index"`
	Digest string `json:"digest"` // of the state, in hexadecimal
}

func releasedDir(version string) string { return filepath.Join("testdata", "released", version) }

// TestReleasedData restores the snapshot of each released version and replays its log: the state must
// be the one that the version had. The directories of released versions never change. -rewrite
// writes that of the version in preparation.
func TestReleasedData(t *testing.T) {
	if *rewrite {
		writeReleased(t, releasedDir(release.Current()))
	}
	read := 0
	for i, v := range release.All() {
		dir := releasedDir(v.Number)
		text, err := os.ReadFile(filepath.Join(dir, "want.json"))
		if err != nil && i == 0 {
			continue // in preparation
		}
		var want released
		if err == nil {
			err = json.Unmarshal(text, &want)
		}
		if err != nil {
			t.Errorf("version %s: %v: each released version has a data directory", v.Number, err)
			continue
		}
		read++
		if got, err := replayed(t, dir); err != nil || got != want {
			t.Errorf("version %s: replayed to %+v, %v; want %+v", v.Number, got, err, want)
		}
	}
	if read == 0 {
		t.Error("no data directory: go test ./cmd/rmd/internal/local -run TestReleasedData -rewrite")
	}
}

// replayed checks a copy of a data directory, and applies its snapshot and log.
func replayed(t *testing.T, dir string) (released, error) {
	data := filepath.Join(t.TempDir(), "rm1")
	if err := os.CopyFS(data, os.DirFS(filepath.Join(dir, "rm1"))); err != nil {
		return released{}, err
	}
	if err := private(data); err != nil {
		return released{}, err
	}
	rep, err := offline.Check(data, server.VerifySnapshot)
	if err != nil {
		return released{}, err
	}
	if len(rep.Snapshots) == 0 || rep.Snapshots[0].Index >= rep.Last {
		return released{}, fmt.Errorf("snapshots %+v and a log to %d: want a snapshot, and a log after it",
			rep.Snapshots, rep.Last)
	}
	m := fsm.New(fsm.DefaultConfig())
	_, err = offline.Recover(data, []offline.RecoverPeer{{ID: "rm1", Address: "127.0.0.1:1"}},
		offline.RecoverOptions{FSM: m, Verify: server.VerifySnapshot, Alive: func(string) bool { return false }, Dry: true})
	return appliedBy(m), err
}

func appliedBy(m *fsm.Machine) released {
	st, index := m.Fork()
	return released{index, fmt.Sprintf("%016x", st.Digest())}
}

// private gives files the modes that a replica requires, which git does not keep.
func private(dir string) error {
	return filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Chmod(name, 0o700)
		}
		return os.Chmod(name, 0o600)
	})
}

// writeReleased runs the built-in workload on one replica, with a snapshot on the way.
func writeReleased(t *testing.T, dir string) {
	c := start(t, func(o *Options) { o.Replicas = 1 })
	r := c.Replicas[0]
	w := workload.DefaultConfig()
	w.Addrs, w.Token, w.Nodes = c.Addrs(), c.Token(), mixed.Nodes(4)
	w.Jobs, w.Limit, w.Speed = workload.FromGenerator(mixed.New(1, 4)), 40, 4
	w.Heartbeat, w.AMHeartbeat = 200*time.Millisecond, 200*time.Millisecond
	ended := make(chan error, 1)
	go func() {
		_, err := workload.Run(context.WithoutCancel(t.Context()), w)
		ended <- err
	}()
	for st, _ := r.Machine().Fork(); st.Meta.Fulfilled < 2; st, _ = r.Machine().Fork() {
		time.Sleep(50 * time.Millisecond)
	}
	if err := r.Cluster().Snapshot(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "rm1"), os.DirFS(filepath.Join(c.opt.Dir, "rm1"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "rm1", "lock")); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(appliedBy(r.Machine()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "want.json"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
