package command

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/config"
	"rmd/internal/exitcode"
	"rmd/scheduler/capacity/preset"
	"rmd/server"
)

// open starts a replica that belongs to no cluster yet.
func open(t *testing.T, id, dir string) *server.Replica {
	t.Helper()
	k := config.Default()
	k.ID, k.Cluster, k.Data = id, "test", filepath.Join(dir, id)
	k.Raft.Listen, k.HTTP.Listen = "127.0.0.1:0", "127.0.0.1:0"
	// a leader must not lose leadership when the machine is busy
	k.Raft.Heartbeat, k.Raft.Election, k.Raft.Lease = 10*time.Second, 10*time.Second, 8*time.Second
	k.Autopilot.ServerStabilizationTime = time.Hour // this test promotes replicas itself
	r, err := server.Open(server.Options{Config: k, Version: "test", Queues: preset.Demo(), Logger: hclog.NewNullLogger(),
		OnFatal: func(code int, err error) { t.Errorf("%s must stop with %d: %v", id, code, err) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// ok runs a command line that must succeed, and returns its output.
func ok(t *testing.T, env map[string]string, line string) string {
	t.Helper()
	r := rmd(t, env, strings.Fields(line)...)
	if r.exit != exitcode.OK {
		t.Fatalf("%s: exit %d\n%s%s", line, r.exit, r.out, r.err)
	}
	return strings.TrimSpace(r.out)
}

// TestClusterLifecycle takes a cluster through its life with command lines alone: init, join,
// promote, submit. Then the leader stops without a transfer of leadership, and nothing may be lost.
func TestClusterLifecycle(t *testing.T) {
	dir := t.TempDir()
	all := []*server.Replica{open(t, "rm1", dir), open(t, "rm2", dir), open(t, "rm3", dir)}
	var addrs []string
	for _, r := range all {
		addrs = append(addrs, r.HTTPAddr())
	}
	env := map[string]string{"RMD_ADDR": addrs[0], "RMD_USER": "tester"}

	if out := ok(t, env, "cluster status"); !strings.HasPrefix(out, "test: not-initialized") {
		t.Fatalf("before init: %s", out)
	}
	ok(t, env, "cluster init --dry-run")
	ok(t, env, "cluster init")
	if r := rmd(t, env, "cluster", "init"); r.exit != exitcode.Refused || !strings.Contains(r.err, "ALREADY_INITIALIZED") {
		t.Fatalf("second init: %+v", r)
	}
	token := filepath.Join(dir, "token")
	for i, id := range []string{"rm2", "rm3"} {
		if err := os.WriteFile(token, []byte(ok(t, env, "cluster token create --role "+[]string{"voter", "nonvoter"}[i])),
			0o600); err != nil {
			t.Fatal(err)
		}
		joined := ok(t, env, "cluster join "+all[0].PeerAddr()+" --token-file "+token+" --addr "+
			addrs[i+1]+[]string{"", " --wait"}[i])
		if want := []string{"it does not vote yet", "has caught up; it is a non-voter"}[i]; !strings.HasSuffix(joined, want) {
			t.Fatalf("joined: %s", joined)
		}
		if i == 0 { // one replica can use a token
			r := rmd(t, env, "cluster", "join", all[0].PeerAddr(), "--token-file", token, "--addr", addrs[2])
			if r.exit != exitcode.NotAllowed || !strings.Contains(r.err, "TOKEN_USED") {
				t.Fatalf("a token used twice: %+v", r)
			}
		}
		ok(t, env, "cluster promote "+id)
	}
	if err := until(time.Minute, "all are well", func() error {
		if r := rmd(t, env, "cluster", "health"); r.exit != exitcode.OK {
			return errors.New(r.out + r.err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	ok(t, env, "cluster verify")
	var elected [3]int64
	for i, addr := range addrs { // those that joined did not see the election
		var d api.Cluster
		if out := ok(t, env, "cluster status -o json --addr "+addr); json.Unmarshal([]byte(out), &d) != nil {
			t.Fatal(out)
		}
		if elected[i] = d.LeaderSinceMs; elected[i] == 0 || elected[i] != elected[0] {
			t.Fatalf("%s says that the leader leads since %d, rm1 says %d", d.ID, elected[i], elected[0])
		}
	}
	if out := ok(t, env,
		"cluster remove rm3 --dry-run"); out != "rm3 can be removed; then 2 of 2 voters are healthy, 2 are needed, and the cluster can lose 0: the loss of any voter would stop it" {
		t.Fatalf("remove: %s", out)
	}
	if out := ok(t, env, "cluster transfer rm2"); out != "transferred leadership from rm1 to rm2" {
		t.Fatalf("transfer: %s", out)
	}
	if out := ok(t, env, "cluster transfer rm2"); out != "rm2 leads already; nothing was changed" {
		t.Fatalf("transfer to the leader: %s", out)
	}
	if out := ok(t, env, "cluster transfer rm1"); out != "transferred leadership from rm2 to rm1" {
		t.Fatalf("transfer back: %s", out)
	}

	env["RMD_ADDR"] = strings.Join([]string{addrs[1], addrs[2], addrs[0]}, ",")
	id := ok(t, env, "app submit --queue root.batch --name one --am memory=1024,vcores=1")
	if r := rmd(t, env, "app", "submit", "--queue", "root.none"); r.exit != exitcode.NotFound ||
		!strings.Contains(r.err, "NO_SUCH_QUEUE") {
		t.Fatalf("no such queue: %+v", r)
	}
	ok(t, env, "conf set root.batch.maximum-capacity=80 -m less")
	snapshot := filepath.Join(dir, "s")
	ok(t, env, "snapshot save "+snapshot)
	var saved struct{ Digest string }
	if out := ok(t, env, "snapshot inspect -o json "+snapshot); json.Unmarshal([]byte(out), &saved) != nil ||
		!strings.Contains(ok(t, env, "snapshot inspect "+snapshot), saved.Digest) {
		t.Fatalf("inspect -o json does not have the digest as the text has it: %s", out)
	}
	if out := ok(t, env, "app explain "+id); !strings.Contains(out, "NO_NODES") {
		t.Fatalf("explain: %s", out)
	}

	began := time.Now()
	if err := all[0].Close(); err != nil { // the leader, without a transfer of leadership
		t.Fatal(err)
	}
	second := ok(t, env, "app submit --queue root.batch --name two")
	t.Logf("from the leader's end to the next submission: %s", time.Since(began))
	if out := ok(t, env, "app list -o name"); out != id+"\n"+second {
		t.Fatalf("applications after the failover:\n%s", out)
	}
	if r := rmd(t, env, "cluster", "health"); r.exit != exitcode.CheckFailed {
		t.Fatalf("health with two of three: %+v", r)
	}
	if out := ok(t, env, "conf get root.batch.maximum-capacity -q"); !strings.Contains(out, "80") {
		t.Fatalf("configuration after the failover: %s", out)
	}
	ok(t, env, "app kill "+id)
	if r := rmd(t, env, "app", "wait", id); r.exit != exitcode.Ended {
		t.Fatalf("wait for a killed one: %+v", r)
	}
}

// TestCheckStoppedReplica checks that offline commands refuse a data directory in use, and accept
// it after the replica has stopped.
func TestCheckStoppedReplica(t *testing.T) {
	dir := t.TempDir()
	r := open(t, "rm1", dir)
	env := map[string]string{"RMD_ADDR": r.HTTPAddr()}
	ok(t, env, "cluster init")
	data := filepath.Join(dir, "rm1")
	if got := rmd(t, nil, "check", "--data", data); got.exit != exitcode.Refused || !strings.Contains(got.err, "IN_USE") {
		t.Fatalf("in use: %+v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = r.HandOver(ctx) // there is no other replica
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if out := ok(t, nil, "check --data "+data); !strings.Contains(out, "clean") {
		t.Fatalf("check: %s", out)
	}
}
