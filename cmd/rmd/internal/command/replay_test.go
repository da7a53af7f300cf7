package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/cmd/rmd/internal/local"
	"rmd/fsm/state"
	"rmd/internal/exitcode"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestReplaySparesRunningCluster checks that a replay does not load a cluster that only the
// environment names, that it loads one on the command line only after confirmation, and that it
// takes over no node of the cluster.
func TestReplaySparesRunningCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := local.Start(ctx, local.Options{Replicas: 1, Dir: t.TempDir(), Scheduling: "eager", Queues: preset.Demo(),
		Version: "test", Logger: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	jobs := file("jobs.csv",
		"submit_s,app,user,queue,priority,containers,memory_mb,vcores,gpus,duration_s\n0,one,ann,root.online,0,1,1024,1,0,1\n")
	real := file("real.csv", "node,rack,memory_mb,vcores,gpus,labels\nprod-1,/r,393216,96,8,\n")
	fake := file("fake.csv", "node,rack,memory_mb,vcores,gpus,labels\nfake-1,/r,393216,96,8,\n")
	// too small for the replay
	in := &input.RegisterNode{ID: yarn.NodeID{Host: "prod-1", Port: 8041}, Rack: "/r", Total: yarn.NewResource(512, 1),
		Version: "3.4.2"}
	if reply, _, err := c.Replicas[0].Forwarder().Do(ctx, input.Request{Input: in}); err != nil {
		t.Fatal(err)
	} else if f := reply.Refused(); f != nil {
		t.Fatalf("registration of %s was refused: %v", in.ID, f)
	}
	nodes := func() map[string]string {
		out := map[string]string{}
		st, _ := c.Replicas[0].Machine().Fork()
		for slot := state.NodeSlot(1); slot < st.Nodes.Cap(); slot++ {
			if st.Nodes.Has(slot) {
				out[st.Nodes.Get(slot).ID.Host] = st.Nodes.Get(slot).State.String()
			}
		}
		return out
	}
	env := map[string]string{"RMD_ADDR": c.Addrs()[0]}
	untouched := func(step string) {
		t.Helper()
		if got := nodes(); len(got) != 1 || got["prod-1"] != "RUNNING" {
			t.Errorf("%s: the cluster's nodes are %v", step, got)
		}
		if st, _ := c.Replicas[0].Machine().Fork(); st.Apps.Len() != 0 {
			t.Errorf("%s: the cluster has %d applications", step, st.Apps.Len())
		}
	}
	r := rmd(t, env, "replay", jobs, "--nodes", real, "--replicas", "1")
	if r.exit != exitcode.OK || !strings.Contains(r.err, "private cluster") {
		t.Errorf("with RMD_ADDR alone: %+v", r)
	}
	untouched("with RMD_ADDR alone")
	var cluster api.Cluster
	if r = rmd(t, env, "cluster", "status", "-o", "json"); json.Unmarshal([]byte(r.out), &cluster) != nil || cluster.Name == "" {
		t.Fatalf("the cluster has no name: %+v", r)
	}
	named := func(step string) {
		t.Helper()
		if !strings.Contains(r.err, "cluster "+cluster.Name+" ") || strings.Contains(r.err, cluster.ClusterID) {
			t.Errorf("%s: %q does not name the cluster %s by its name", step, r.err, cluster.Name)
		}
	}
	r = rmd(t, nil, "replay", jobs, "--nodes", fake, "--speed", "100", "--addr", c.Addrs()[0])
	if r.exit == exitcode.OK || !strings.Contains(r.err, "NEEDS_YES") ||
		!strings.Contains(r.err, "register 1 simulated nodes") {
		t.Errorf("without a yes: %+v", r)
	}
	untouched("without a yes")
	named("without a yes")
	r = rmd(t, nil, "replay", jobs, "--nodes", real, "--speed", "100", "--addr", c.Addrs()[0], "--yes")
	if r.exit == exitcode.OK || !strings.Contains(r.err, "NODE_EXISTS") || !strings.Contains(r.err, `"rmd node forget prod-1:8041"`) {
		t.Errorf("with a known node: %+v", r)
	}
	untouched("with a known node")
	named("with a known node")
	lost := file("lost.csv",
		"submit_s,app,user,queue,priority,containers,memory_mb,vcores,gpus,duration_s\n0,one,ann,root.lost,0,1,1024,1,0,1\n")
	r = rmd(t, nil, "replay", lost, "--nodes", fake, "--speed", "100", "--addr", c.Addrs()[0], "--yes")
	if r.exit == exitcode.OK || !strings.Contains(r.err, "NO_SUCH_QUEUE") || !strings.Contains(r.err, "root.lost") {
		t.Errorf("with a queue that the cluster has not: %+v", r)
	}
	untouched("with a queue that the cluster has not")
	named("with a queue that the cluster has not")
	for range 2 { // the replay's own nodes of an earlier run may be used again
		if r = rmd(t, nil, "replay", jobs, "--nodes", fake, "--speed", "100", "--addr", c.Addrs()[0],
			"--yes"); r.exit != exitcode.OK {
			t.Errorf("with a yes: %+v", r)
		}
		if got := nodes(); got["prod-1"] != "RUNNING" || got["fake-1"] != "SHUTDOWN" {
			t.Errorf("after the replay: %v", got)
		}
	}
}
