//go:build interop

package interop

import (
	"os"
	"testing"
	"time"

	"rmd/interop/harness"
)

// TestTwoVersions runs jobs on NodeManagers of two versions of Hadoop. Reducers of the jobs, which are
// of the version under test, fetch from both. DistributedShell of 3.4 and later does not run on the
// older one: its commands contain <ADD_OPENS>, which only NodeManagers since 3.4 replace.
func TestTwoVersions(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), History: true,
		NodeHadoop: []string{"3.1.4", "3.5.0"}})
	const maps, reduces = 8, 2
	job := c.StartSleep(maps, reduces, 3*time.Second, time.Second, 8*time.Minute, "-Dmapreduce.map.memory.mb=1536")
	app := c.Submitted(job)
	succeeded(t, job.Wait())
	ranOnce(t, c, app, maps+reduces)
	for _, n := range c.Nodes {
		if len(harness.Of(n.Started(), app)) == 0 {
			t.Errorf("%s ran nothing of the job", n.Name)
		}
	}
	wordCount(t, c)
}

// TestUpgradeOfNodes replaces NodeManagers by those of the next version, one by one, while a MapReduce
// job runs on them. They keep their containers: each task runs once.
func TestUpgradeOfNodes(t *testing.T) {
	first, next := "3.1.4", []string{"3.4.2", "3.5.0"}
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), History: true, Nodes: 2,
		NodeHadoop: []string{first, first}})
	const maps, reduces = 14, 2
	job := c.StartSleep(maps, reduces, 75*time.Second, 5*time.Second, 30*time.Minute, "-Dmapreduce.map.memory.mb=1536")
	app := c.Submitted(job)
	c.AwaitApp(app, "running a map", time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers > 1 })
	for _, version := range next {
		for _, n := range c.Nodes {
			awaitLaunched(t, c, app)
			t.Logf("%s becomes %s", n.Name, version)
			n.Kill()
			n.Use(version)
			n.Start()
			n.AwaitRegistered()
			c.AwaitNodes(len(c.Nodes), time.Minute)
			stillRuns(t, c, app)
			if got := c.NodeVersions()[n.ID()]; got != version {
				t.Errorf("%s reports version %q; want %s", n.Name, got, version)
			}
		}
	}
	succeeded(t, job.Wait())
	ranOnce(t, c, app, maps+reduces)
}

// awaitLaunched waits until every container of an application has a process. An ApplicationMaster
// fails a task whose container it cannot start, because the NodeManager is down just then.
func awaitLaunched(t *testing.T, c *harness.Cluster, app string) {
	t.Helper()
	c.AwaitApp(app, "running in all its containers", 2*time.Minute, func(a harness.App) bool {
		running := 0
		for _, n := range c.Nodes {
			running += len(harness.Of(n.Running(), app))
		}
		return a.Containers == running
	})
}

// TestTokenHMAC runs jobs whose tokens of all kinds are signed with HmacSHA256. A NodeManager refuses
// a container, and an ApplicationMaster its client, if rmd signs with another HMAC than they.
func TestTokenHMAC(t *testing.T) {
	if v := os.Getenv("RMD_INTEROP_HADOOP"); v < "3.5" {
		t.Skip("Hadoop reads the keys since 3.5.0: set RMD_INTEROP_HADOOP")
	}
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), History: true, Extra: "testdata/hmac"})
	wordCount(t, c)
	distributedShell(t, c)
}
