//go:build interop

package interop

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"rmd/internal/portblock"
	"rmd/interop/harness"
)

// TestDrainUnderMapReduce drains nodes that have finished maps of a job with slow reducers. Each
// node must stay in service until the job has ended, and no task may run again because of the
// drain. With RMD_INTEROP_DRAINS=20 the nodes return to service after each job, until 20 drains are
// done.
func TestDrainUnderMapReduce(t *testing.T) {
	if harness.DefaultKind() != harness.RMD {
		t.Skip("the Java ResourceManager drains hosts, and all nodes here are on one")
	}
	c := harness.Start(t, harness.Options{Kind: harness.RMD, History: true, Nodes: 3})
	for done, wanted := 0, number(t, "RMD_INTEROP_DRAINS", 2); done < wanted; {
		drained := drainUnderJob(t, c)
		done += len(drained)
		t.Logf("%d drains", done)
		for _, n := range drained {
			comeBack(t, c, n)
		}
	}
}

// drainUnderJob drains all nodes except the ApplicationMaster's while a job runs there.
func drainUnderJob(t *testing.T, c *harness.Cluster) (drained []*harness.Node) {
	t.Helper()
	const maps, reduces = 8, 2
	job := c.StartSleep(maps, reduces, 4*time.Second, 15*time.Second, 8*time.Minute, "-Dmapreduce.map.memory.mb=1024",
		"-Dmapreduce.reduce.memory.mb=512",
		"-Dmapreduce.job.reduce.slowstart.completedmaps=1.0")
	app := c.Submitted(job)
	master := c.Attempt(app)
	for _, n := range c.Nodes {
		if n.ID() == master.Node {
			continue
		}
		harness.Await(t, n.Name+" has finished a map", time.Minute, func() bool {
			return len(harness.Of(n.Started(), app)) > len(harness.Of(n.Running(), app))
		})
		order(t, c, n, ":drain")
		if s := c.NodeStates()[n.ID()]; s != "DECOMMISSIONING" {
			t.Errorf("%s is %s", n.Name, s)
		}
		drained = append(drained, n)
	}
	c.AwaitApp(app, "running a reduce", 2*time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers >= 2 })
	time.Sleep(between)
	for _, n := range drained {
		if s := c.NodeStates()[n.ID()]; s != "DECOMMISSIONING" {
			t.Errorf("while reducers may fetch from %s, it is %s", n.Name, s)
		}
	}
	succeeded(t, job.Wait())
	untouched(t, c, app, maps+reduces)
	for _, n := range drained {
		harness.Await(t, n.Name+" is decommissioned", time.Minute,
			func() bool { return c.NodeStates()[n.ID()] == "DECOMMISSIONED" })
	}
	return drained
}

// comeBack returns a decommissioned node to service. Its NodeManager has stopped at the end of the
// drain.
func comeBack(t *testing.T, c *harness.Cluster, n *harness.Node) {
	t.Helper()
	harness.Await(t, n.Name+" has ended", time.Minute, func() bool { return !n.Alive() })
	n.Kill()
	order(t, c, n, ":undrain")
	n.Start()
	n.AwaitRegistered()
	if s := c.NodeStates()[n.ID()]; s != "RUNNING" {
		t.Errorf("%s came back and is %s", n.Name, s)
	}
}

// order posts a change of a node.
func order(t *testing.T, c *harness.Cluster, n *harness.Node, what string) {
	t.Helper()
	resp, err := http.Post("http://"+portblock.Loopback(c.Active().Web)+"/v1/nodes/"+n.ID()+what, "application/json",
		strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s of %s: status %s, want 200", what, n.Name, resp.Status)
	}
}
