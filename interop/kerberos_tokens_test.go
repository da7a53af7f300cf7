//go:build interop

package interop

import (
	"strings"
	"testing"
	"time"

	"rmd/interop/harness"
)

// tokenJob starts a job that lives for more than four lives of its token of the NameNode. At least
// its last containers, and the files that the ApplicationMaster writes at its end, need the token.
func tokenJob(t *testing.T, more ...string) (*harness.Cluster, string, *harness.Running) {
	t.Helper()
	c := behindKerberos(t, &harness.Kerberos{Protection: "integrity", TokenLife: 25 * time.Second},
		harness.Options{Nodes: 2, History: true})
	job := c.StartSleep(tokenMaps, tokenReduces, 30*time.Second, 15*time.Second, 10*time.Minute,
		append(more, "-Dmapreduce.map.memory.mb=3072")...)
	app := c.Submitted(job)
	c.AwaitApp(app, "running a map", time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers > 1 })
	return c, app, job
}

const tokenMaps, tokenReduces = 6, 1

// TestTokensAreRenewed kills the leader again and again under a job. The replica that leads next must
// renew the token in time, from the log.
func TestTokensAreRenewed(t *testing.T) {
	c, app, job := tokenJob(t)
	for range number(t, "RMD_INTEROP_KILLS", 3) {
		lead := c.Active()
		t.Logf("kill -9 %s", lead.ID)
		lead.Kill()
		lead.Start()
		lead.AwaitReady()
		time.Sleep(15 * time.Second) // more than half of the life of a token
	}
	stillRuns(t, c, app)
	succeeded(t, job.Wait())
	untouched(t, c, app, tokenMaps+tokenReduces)
}

// TestTokenThatIsNotRenewed checks that the job above needs the renewal: without it, it fails.
func TestTokenThatIsNotRenewed(t *testing.T) {
	_, _, job := tokenJob(t, "-Dmapreduce.job.hdfs-servers.token-renewal.exclude=localhost")
	if r := job.Wait(); r.Code == 0 || !strings.Contains(r.Text(), "expired") &&
		!strings.Contains(r.Text(), "InvalidToken") {
		t.Errorf("it succeeded without a valid token, or failed for another reason: %s", r.Last())
	}
}
