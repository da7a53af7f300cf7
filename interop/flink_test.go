//go:build interop

package interop

import (
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"rmd/interop/harness"
)

// TestFlink kills the leader while a Flink job runs, and then a TaskManager. The next leader must
// give Flink another container, and the job must continue from its last checkpoint.
func TestFlink(t *testing.T) {
	const count, perSecond, parallelism = 1200, 40, 2
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Nodes: 2})
	job := c.StartSum(harness.Sum{Count: count, PerSecond: perSecond, Parallelism: parallelism}, 8*time.Minute)
	app := c.Submitted(job.Running)
	succeeded(t, job.Wait())
	awaitSums(t, job, count/6) // some seconds, with checkpoints
	before := harness.Of(c.Started(), app)
	master := c.Attempt(app).Container
	worker := before[slices.IndexFunc(before, func(id string) bool { return id != master })]
	lead := c.Active()
	t.Logf("kill -9 %s", lead.ID)
	lead.Kill()
	killTaskManager(t, c, worker)
	lead.Start()
	lead.AwaitReady()
	if a := c.AwaitState(app, "FINISHED", 4*time.Minute); a.Final != "SUCCEEDED" {
		t.Errorf("the application ended as %s", a.Final)
	}
	want := map[string]int{}
	for n := 1; n <= count; n++ {
		want[string(rune('0'+n%4))] += n
	}
	got, written := job.Sums()
	t.Logf("%d sums written for %d numbers, tasks started %d times", written, count, job.Tasks())
	if !maps.Equal(got, want) {
		t.Errorf("the sums are %v, not %v", got, want)
	}
	if tasks := job.Tasks(); tasks <= parallelism {
		t.Errorf("the job was never restored: tasks started %d times", tasks)
	}
	if after := harness.Of(c.Started(), app); len(after) != harness.Distinct(after) || len(after) <= len(before) {
		t.Errorf("containers started: %q before, %q after the TaskManager was killed", before, after)
	}
	oneAttempt(t, c, app)
}

// awaitSums waits until the job has written at least many sums.
func awaitSums(t *testing.T, job *harness.RunningSum, many int) {
	t.Helper()
	harness.Await(t, "the first sums", 3*time.Minute, func() bool {
		_, written := job.Sums()
		return written >= many
	})
}

// killTaskManager kills all processes of a container.
func killTaskManager(t *testing.T, c *harness.Cluster, container string) {
	t.Helper()
	pids := c.Containers(container)
	t.Logf("kill -9 %s: processes %d", container, pids)
	if len(pids) == 0 {
		t.Fatal("it has no process")
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have ended with another one
	}
}
