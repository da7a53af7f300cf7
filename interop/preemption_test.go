//go:build interop

package interop

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"rmd/internal/portblock"
	"rmd/interop/harness"
)

// TestPreemption lets a MapReduce job, and then a Spark job, borrow the whole cluster. Another job,
// in a queue with a guarantee, takes its part back. No attempt of the jobs may count as failed.
func TestPreemption(t *testing.T) {
	const monitor = "yarn.resourcemanager.monitor.capacity.preemption."
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), History: true, Spark: true, Site: map[string]string{
		"yarn.resourcemanager.scheduler.monitor.enable": "true",
		monitor + "monitoring_interval":                 "1000",
		monitor + "max_wait_before_kill":                "10000",
		monitor + "total_preemption_per_round":          "1.0",
		monitor + "natural_termination_factor":          "1.0",
	}, Scheduler: map[string]string{"preemption.keep-guarantee-ms": "0"}}) // each job borrows everything at once
	t.Run("Killed", func(t *testing.T) { killedAtDeadline(t, c) })
	t.Run("GivenBack", func(t *testing.T) { givenBack(t, c) })
	t.Run("Spark", func(t *testing.T) { executorsPreempted(t, c) })
}

// preempted is what the ResourceManager says that it preempted from an application.
type preempted struct {
	App struct {
		MB      int `json:"preemptedResourceMB"`
		Tasks   int `json:"numNonAMContainerPreempted"`
		Masters int `json:"numAMContainerPreempted"`
	} `json:"app"`
}

// killedAtDeadline kills the leader between the warnings and the deadline. The ApplicationMaster
// ignores the warnings.
func killedAtDeadline(t *testing.T, c *harness.Cluster) {
	borrower, owner := takeBack(t, c, func() {
		lead := c.Active()
		t.Logf("kill -9 %s", lead.ID)
		lead.Kill()
		lead.Start()
		lead.AwaitReady()
	})
	var p preempted
	c.Read("/ws/v1/cluster/apps/"+borrower, &p)
	j := c.Job(borrower)
	if p.App.Tasks == 0 || p.App.Tasks != j.KilledMapAttempts || p.App.MB != 1024*p.App.Tasks || p.App.Masters != 0 {
		t.Errorf("the ResourceManager took %+v; the job lost %d maps", p.App, j.KilledMapAttempts)
	}
	var none preempted
	if c.Read("/ws/v1/cluster/apps/"+owner, &none); none.App.Tasks != 0 || none.App.Masters != 0 {
		t.Errorf("the owner lost %+v", none.App)
	}
}

// givenBack runs an ApplicationMaster that ends the containers about which it is warned.
func givenBack(t *testing.T, c *harness.Cluster) {
	borrower, _ := takeBack(t, c, func() {},
		"-Dyarn.app.mapreduce.am.preemption.policy=org.apache.hadoop.mapreduce.v2.app.rm.preemption.KillAMPreemptionPolicy")
	var p preempted
	if c.Read("/ws/v1/cluster/apps/"+borrower, &p); p.App.Tasks != 0 || p.App.Masters != 0 {
		t.Errorf("the ApplicationMaster gave back what it was warned about, and %+v was taken", p.App)
	}
	if j := c.Job(borrower); j.KilledMapAttempts == 0 {
		t.Error("the ApplicationMaster gave nothing back")
	}
}

// executorsPreempted preempts executors of a Spark job that would fail if the failure of a task or
// of an executor counted.
func executorsPreempted(t *testing.T, c *harness.Cluster) {
	const maps, reduces = 14, 2
	borrowing := c.StartShuffle(harness.Shuffle{Queue: "batch", Maps: maps, Reduces: reduces, Map: 20 * time.Second,
		Reduce: time.Second, Executors: 7,
		More: []string{"spark.task.maxFailures=1", "spark.executor.maxNumFailures=1"}}, 8*time.Minute)
	borrowing.Go()
	borrower := c.Submitted(borrowing.Running)
	c.AwaitApp(borrower, "using the cluster", time.Minute, func(a harness.App) bool { return a.Containers == 8 })
	owning := c.StartSleep(3, 0, 5*time.Second, time.Second, 8*time.Minute, "-Dmapreduce.map.memory.mb=1024",
		"-Dmapreduce.job.queuename=default")
	owner := c.Submitted(owning)
	awaitWarning(t, c, borrower)
	succeeded(t, owning.Wait())
	ranOnce(t, c, owner, 3)
	succeeded(t, borrowing.Wait())
	oneAttempt(t, c, borrower)
	got := borrowing.Result()
	var preemptions []string // Spark reports the end of an executor twice
	for _, why := range got.Removed {
		if strings.Contains(why, "preempted") {
			preemptions = append(preemptions, why)
		}
	}
	lost := harness.Distinct(preemptions)
	var p preempted
	c.Read("/ws/v1/cluster/apps/"+borrower, &p)
	if p.App.Tasks == 0 || p.App.Tasks != lost || p.App.MB != 1024*p.App.Tasks || p.App.Masters != 0 {
		t.Errorf("the ResourceManager took %+v; the job lost %d executors: %q", p.App, lost, got.Removed)
	}
	if got.Sum != maps*(maps+1)/2 || got.Succeeded < maps+2*reduces {
		t.Errorf("the job came to %+v", got)
	}
	for _, why := range got.Failures {
		if !strings.Contains(why, "preempted") {
			t.Errorf("a task failed: %s", why)
		}
	}
}

// takeBack runs the two jobs and calls meanwhile after the first warning. It returns their ids when
// both have succeeded without a failed attempt.
func takeBack(t *testing.T, c *harness.Cluster, meanwhile func(), more ...string) (borrower, owner string) {
	t.Helper()
	more = append(more, "-Dmapreduce.map.memory.mb=1024")
	borrowing := c.StartSleep(12, 0, 30*time.Second, time.Second, 8*time.Minute,
		append(more, "-Dmapreduce.job.queuename=batch")...)
	borrower = c.Submitted(borrowing)
	const all, size = 2 * 4096, 1024
	full := c.AwaitApp(borrower, "using the cluster", time.Minute, func(a harness.App) bool { return a.MB > all-size })
	owning := c.StartSleep(3, 0, 5*time.Second, time.Second, 8*time.Minute, "-Dmapreduce.map.memory.mb=1024",
		"-Dmapreduce.job.queuename=default")
	owner = c.Submitted(owning)
	awaitWarning(t, c, borrower)
	meanwhile()
	c.AwaitApp(borrower, "giving containers back", time.Minute,
		func(a harness.App) bool { return a.Containers < full.Containers })
	succeeded(t, owning.Wait())
	ranOnce(t, c, owner, 3)
	succeeded(t, borrowing.Wait())
	if j := c.Job(borrower); j.State != "SUCCEEDED" || j.Masters != 1 || j.FailedMapAttempts != 0 ||
		j.SuccessfulMapAttempts != 12 {
		t.Errorf("the borrower's job is %s: %d masters, %d maps failed, %d were killed, %d succeeded", j.State, j.Masters,
			j.FailedMapAttempts, j.KilledMapAttempts, j.SuccessfulMapAttempts)
	}
	return borrower, owner
}

// awaitWarning waits until a container of an application has been warned.
func awaitWarning(t *testing.T, c *harness.Cluster, app string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	url := "http://" + portblock.Loopback(c.Active().Web) + "/v1/events?after=1&kind=PREEMPTIONASKED"
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") &&
			strings.Contains(lines.Text(), strings.TrimPrefix(app, "application")) {
			t.Log(lines.Text())
			return
		}
	}
	t.Fatalf("%s is not warned: %s, %v", app, resp.Status, lines.Err())
}
