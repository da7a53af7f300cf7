//go:build interop

package interop

import (
	"testing"
	"time"

	"rmd/interop/harness"
)

// The Spark job has a shuffle and uses dynamic allocation with the shuffle service of its
// NodeManagers, which keeps the output of maps after their executors have ended.
const sparkMaps, sparkReduces = 8, 2

// TestSpark kills the leader while a Spark job runs.
func TestSpark(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Nodes: 2, Spark: true})
	job := c.StartShuffle(harness.Shuffle{Maps: sparkMaps, Reduces: sparkReduces, Map: 2 * time.Second,
		Reduce: 2 * time.Second, Executors: 3}, 8*time.Minute)
	app := c.Submitted(job.Running)
	job.AwaitMapped()
	lead := c.Active()
	t.Logf("kill -9 %s", lead.ID)
	lead.Kill()
	lead.Start()
	job.Go()
	lead.AwaitReady()
	succeeded(t, job.Wait())
	shuffledOnce(t, job)
	oneAttempt(t, c, app)
}

// shuffledOnce checks that the result is correct and that no task ran twice. Spark skips the maps
// when their output is read again.
func shuffledOnce(t *testing.T, job *harness.RunningShuffle) {
	t.Helper()
	got := job.Result()
	t.Logf("%+v", got)
	if want := int64(sparkMaps * (sparkMaps + 1) / 2); got.Sum != want {
		t.Errorf("the sum is %d, not %d", got.Sum, want)
	}
	if tasks := sparkMaps + 2*sparkReduces; got.Succeeded != tasks || got.Stages != 3 || len(got.Failures) != 0 {
		t.Errorf("%d tasks of %d stages succeeded, not %d of 3; failed: %q", got.Succeeded, got.Stages, tasks, got.Failures)
	}
}

// oneAttempt checks that an application has only one attempt.
func oneAttempt(t *testing.T, c *harness.Cluster, app string) {
	t.Helper()
	var attempts struct {
		All struct {
			Attempts []struct{} `json:"appAttempt"`
		} `json:"appAttempts"`
	}
	if c.Read("/ws/v1/cluster/apps/"+app+"/appattempts", &attempts); len(attempts.All.Attempts) != 1 {
		t.Errorf("%d attempts", len(attempts.All.Attempts))
	}
}

// TestDrainUnderSpark drains nodes that have the output of a Spark job's maps but no containers.
// Each node must stay in service until the application has ended, and no task may run again because
// of the drain. With RMD_INTEROP_DRAINS=20 the nodes return to service after each job, until 20
// drains are done.
func TestDrainUnderSpark(t *testing.T) {
	if harness.DefaultKind() != harness.RMD {
		t.Skip("the Java ResourceManager drains hosts, and all nodes here are on one")
	}
	c := harness.Start(t, harness.Options{Kind: harness.RMD, Nodes: 3, Spark: true})
	for done, wanted := 0, number(t, "RMD_INTEROP_DRAINS", 2); done < wanted; {
		drained := drainUnderSpark(t, c)
		done += len(drained)
		t.Logf("%d drains", done)
		for _, n := range drained {
			comeBack(t, c, n)
		}
	}
}

// drainUnderSpark drains all nodes except the ApplicationMaster's while a job runs there.
func drainUnderSpark(t *testing.T, c *harness.Cluster) (drained []*harness.Node) {
	t.Helper()
	job := c.StartShuffle(harness.Shuffle{Maps: sparkMaps, Reduces: sparkReduces, Map: 2 * time.Second,
		Reduce: time.Second, Executors: 8}, 8*time.Minute)
	app := c.Submitted(job.Running)
	master := c.Attempt(app)
	job.AwaitMapped()
	for _, n := range c.Nodes {
		if n.ID() == master.Node {
			continue
		}
		if len(harness.Of(n.Started(), app)) == 0 {
			t.Fatalf("%s has run no executor", n.Name)
		}
		harness.Await(t, n.Name+" has no container any more", time.Minute,
			func() bool { return len(harness.Of(n.Running(), app)) == 0 })
		order(t, c, n, ":drain")
		drained = append(drained, n)
	}
	time.Sleep(between)
	for _, n := range drained {
		if s := c.NodeStates()[n.ID()]; s != "DECOMMISSIONING" {
			t.Errorf("while reducers may fetch from %s, it is %s", n.Name, s)
		}
	}
	job.Go()
	succeeded(t, job.Wait())
	shuffledOnce(t, job)
	oneAttempt(t, c, app)
	for _, n := range drained {
		harness.Await(t, n.Name+" is decommissioned", time.Minute,
			func() bool { return c.NodeStates()[n.ID()] == "DECOMMISSIONED" })
	}
	return drained
}
