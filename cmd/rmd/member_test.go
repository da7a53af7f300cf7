package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMemberAlone starts one of three replicas after all have lost their power. It cannot know what
// was committed. So it answers no read and makes no backup, and nothing proposes to create a
// cluster or to give up its data.
func TestMemberAlone(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, calm, "")
	newCaller(t, c.addrs()).application("ann", "root.batch")
	backup := filepath.Join(t.TempDir(), "good.snap")
	c.done("snapshot", "save", backup)
	good, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.all {
		c.kill(p)
	}
	alone := c.all[0]
	c.start(alone)
	c.awaitUp(alone)

	const one = ": replica rm1 is a member of cluster "
	var asked sync.WaitGroup // all at once: each waits for a leader until its timeout
	for _, args := range [][]string{{"app", "list"}, {"app", "list", "--stale"}, {"queue", "list", "--stale"},
		{"conf", "get", "--stale"}, {"events"},
		{"snapshot", "save", backup, "--overwrite"}, {"snapshot", "save", backup, "--overwrite", "--stale"}} {
		for _, more := range [][]string{{"--timeout", "4"}, {"--timeout", "2", "--addr", alone.http}} {
			asked.Go(func() { c.refused(5, one, slices.Concat(args, more)...) })
		}
	}
	asked.Wait()
	if is, err := os.ReadFile(backup); err != nil || !bytes.Equal(is, good) {
		t.Errorf("the backup of %d bytes has %d now: %v", len(good), len(is), err)
	}
	c.refused(8, "ALREADY_INITIALIZED: replica rm1 is a member of cluster ", "cluster", "init", "--addr", alone.http)
	for _, path := range []string{"/ws/v1/cluster/apps", "/ws/v1/cluster/scheduler", "/v1/snapshot?stale", "/v1/ready",
		"/ui/", "/ui/apps"} {
		status, body := fetch(t, alone, path)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "is a member of cluster") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, args := range [][]string{{"app", "list", "--timeout", "1"}, {"cluster", "init"}, {"cluster", "status"},
		{"cluster", "health"}} {
		out, errs, _ := c.rmd(append(args, "--addr", alone.http)...)
		harmless(t, strings.Join(args, " "), out+errs)
	}
	for _, path := range []string{"/ui/", "/ui/cluster", "/v1/health", "/v1/cluster", "/ws/v1/cluster/info"} {
		_, body := fetch(t, alone, path)
		harmless(t, path, body)
	}

	c.start(c.all[1])
	c.start(c.all[2])
	c.awaitReady(c.all...)
	contains(t, "after the restart", c.done("app", "list"), "_0001")
}

// TestEmptyReplicaFirst gives a replica that has lost its disk as the first address. The commands
// must find the cluster at the others, and no second cluster may come into being.
func TestEmptyReplicaFirst(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, calm, "")
	newCaller(t, c.addrs()).application("ann", "root.batch")
	empty := c.all[0]
	c.kill(empty)
	c.wipe(empty)
	c.start(empty)
	c.awaitUp(empty)
	c.leader()
	contains(t, "app list", c.done("app", "list"), "_0001")
	contains(t, "status", c.done("cluster", "status"), "rm2", "rm3")
	c.done("snapshot", "save", filepath.Join(t.TempDir(), "good.snap"))
	c.refused(8, ": this replica is not a member of a cluster yet", "app", "list", "--addr", empty.http)
	c.await("its status says why it waits", patience, func() bool {
		out := c.done("cluster", "status", "--addr", empty.http)
		return strings.Contains(out, "waits for 3 replicas (raft.bootstrap_expect): replica rm2 has state") &&
			!strings.Contains(out, "cluster init")
	})
	c.refused(8, "ALREADY_INITIALIZED", "cluster", "init", "--addr", empty.http)

	c.kill(c.all[1])
	c.kill(c.all[2])
	c.refused(8, "ALREADY_INITIALIZED: raft.bootstrap_expect is 3", "cluster", "init", "--addr", empty.http)
	c.refused(8, "ALREADY_INITIALIZED: raft.bootstrap_expect is 3", "cluster", "init", "--dry-run", "--addr", empty.http)
}

// harmless requires that a text proposes nothing that can cost a member its data.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	for _, word := range []string{"wipe", "cluster init", "NOT_INITIALIZED", "not-initialized", "not initialized"} {
		if strings.Contains(text, word) {
			t.Errorf("%s says %q to a member without a leader:\n%s", what, word, text)
		}
	}
}

// fetch returns the status and the body of a path.
func fetch(t *testing.T, p *process, path string) (int, string) {
	t.Helper()
	cl := http.Client{Timeout: time.Minute}
	res, err := cl.Get("http://" + p.http + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// TestInitRefused creates clusters with configurations that are refused. The refusal must say why
// and leave nothing behind: no cluster, and no queues for the next init.
func TestInitRefused(t *testing.T) {
	t.Parallel()
	c := newHadoop(t, 1, "")
	p := c.all[0]
	c.reconfigure(p, "  bootstrap_expect: 1\n", "")
	queues := func(capacity string) {
		c.write("capacity-scheduler.xml", queuesOf("root.queues=own root.own.capacity="+capacity)...)
	}
	queues("50")
	c.start(p)
	c.awaitUp(p)
	for _, args := range [][]string{{"cluster", "init", "--dry-run"}, {"cluster", "init"}} {
		c.refused(8,
			"INVALID_QUEUES: the first configuration of the cluster is refused: the queue configuration is invalid; correct",
			append(args, "--addr", p.http)...)
	}
	contains(t, "status", c.done("cluster", "status"), "not-initialized")

	queues("100")
	c.terminate(p)
	c.start(p)
	c.awaitUp(p)
	other := filepath.Join(t.TempDir(), "queues.json")
	if err := os.WriteFile(other,
		[]byte(`{"properties":{"yarn.scheduler.capacity.root.queues":"other","yarn.scheduler.capacity.root.other.capacity":"100"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c.refused(2, "OUT_OF_RANGE", "cluster", "init", "--cluster-id", "a b", "--queues", other, "--addr", p.http)
	contains(t, "init", c.done("cluster", "init", "--addr", p.http), "created cluster")
	if out := c.done("queue", "list"); !strings.Contains(out, "root.own") || strings.Contains(out, "root.other") {
		t.Errorf("the first queues are not the replica's own:\n%s", out)
	}
}

// TestExpectRefused starts a replica that creates its cluster by itself, with a configuration that
// is refused. Every answer must say what is wrong, and a restart with a good one must be enough.
func TestExpectRefused(t *testing.T) {
	t.Parallel()
	c := newHadoop(t, 1, "")
	p := c.all[0]
	c.write("capacity-scheduler.xml", queuesOf("root.queues=own root.own.capacity=50")...)
	c.start(p)
	c.awaitUp(p)
	c.leader()
	const says = "INVALID_QUEUES: the first configuration of the cluster is refused"
	c.await("a read says why there are no queues", patience, func() bool {
		_, errs, _ := c.rmd("app", "list", "--stale", "--timeout", "1")
		return strings.Contains(errs, says) && strings.Contains(errs, "restart it")
	})
	out, errs, _ := c.rmd("app", "list", "--timeout", "1")
	harmless(t, "app list", out+errs)
	c.write("capacity-scheduler.xml", queuesOf("root.queues=own root.own.capacity=100")...)
	c.terminate(p)
	c.start(p)
	c.awaitReady(p)
	contains(t, "queue list", c.done("queue", "list"), "root.own")
}
