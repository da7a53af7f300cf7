//go:build interop

package interop

import (
	"testing"
	"time"

	"rmd/interop/harness"
)

// between is the undisturbed time between two disturbances of a job.
const between = 5 * time.Second

// TestMapReduceAcrossLeaders kills the leader three times and stops it once while a MapReduce job
// runs that has more tasks than fit. The job must not be affected.
func TestMapReduceAcrossLeaders(t *testing.T) {
	const maps, reduces = 12, 2
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), History: true})
	job := c.StartSleep(maps, reduces, 8*time.Second, 3*time.Second, 8*time.Minute, "-Dmapreduce.map.memory.mb=2048")
	app := c.Submitted(job)
	c.AwaitApp(app, "running a map", time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers > 1 })
	for range 3 {
		lead := c.Active()
		t.Logf("kill -9 %s", lead.ID)
		lead.Kill()
		lead.Start()
		lead.AwaitReady()
		stillRuns(t, c, app)
		time.Sleep(between)
	}
	lead := c.Active()
	t.Logf("SIGSTOP %s", lead.ID)
	lead.Pause()
	if c.Kind != harness.Java {
		t.Logf("%s took over", c.Active().ID)
	}
	time.Sleep(2 * between)
	lead.Resume()
	stillRuns(t, c, app)
	succeeded(t, job.Wait())
	untouched(t, c, app, maps+reduces)
}

// stillRuns checks that the job has not ended before all disturbances. A restarted Java
// ResourceManager first waits for the ApplicationMaster to register again. rmd must always know
// that the job runs.
func stillRuns(t testing.TB, c *harness.Cluster, app string) {
	t.Helper()
	if a := c.App(app); c.Kind == harness.RMD && a.State != "RUNNING" {
		t.Fatalf("%s is %s: %s", app, a.State, a.Diagnostics)
	}
	c.AwaitState(app, "RUNNING", 2*time.Minute)
}

// untouched checks that every task ran once, with one ApplicationMaster, and that no node had to
// register again.
func untouched(t testing.TB, c *harness.Cluster, app string, tasks int) {
	t.Helper()
	ranOnce(t, c, app, tasks)
	if c.Kind != harness.RMD {
		return // a Java ResourceManager makes all nodes register again
	}
	for _, n := range c.Nodes {
		if r, n2 := n.Resyncs(), n.Registrations(); r != 0 || n2 != 1 {
			t.Errorf("%s: %d resyncs, %d registrations", n.Name, r, n2)
		}
	}
}

// ranOnce checks that every task ran once, with one ApplicationMaster.
func ranOnce(t testing.TB, c *harness.Cluster, app string, tasks int) {
	t.Helper()
	j := c.Job(app)
	if j.State != "SUCCEEDED" || j.Masters != 1 {
		t.Errorf("job %s with %d ApplicationMasters", j.State, j.Masters)
	}
	if len(j.TaskAttempts) != tasks {
		t.Errorf("%d task attempts for %d tasks: %+v", len(j.TaskAttempts), tasks, j.TaskAttempts)
	}
	for _, a := range j.TaskAttempts {
		if a.State != "SUCCEEDED" {
			t.Errorf("task attempt %s is %s", a.ID, a.State)
		}
	}
	started := harness.Of(c.Started(), app)
	if harness.Distinct(started) != len(started) {
		t.Errorf("a container was started twice: %v", started)
	}
	if len(started) != tasks+1 {
		t.Errorf("%d containers were started for %d tasks and their ApplicationMaster: %v", len(started), tasks, started)
	}
}
