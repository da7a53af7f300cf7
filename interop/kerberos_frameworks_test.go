//go:build interop

package interop

import (
	"strings"
	"testing"
	"time"

	"rmd/internal/gss/gsstest"
	"rmd/interop/harness"
)

// TestCommandsBehindKerberos runs commands of users and administrators with a ticket, and without.
func TestCommandsBehindKerberos(t *testing.T) {
	c := behindKerberos(t, &harness.Kerberos{Protection: "privacy"},
		harness.Options{Nodes: 1, History: true, Site: map[string]string{
			"yarn.log-aggregation-enable": "true", "yarn.nodemanager.remote-app-log-dir": "/logs",
		}})
	done := c.StartShell(harness.Shell{Command: "echo", Args: "hello-from-a-container"})
	app := c.Submitted(done)
	succeeded(t, done.Wait())
	running := c.Submitted(c.StartShell(harness.Shell{Command: "sleep", Args: "600", Within: 15 * time.Minute}))
	c.AwaitState(running, "RUNNING", time.Minute)
	says := map[string]string{
		"application -list":                            running,
		"application -status " + running:               "State : RUNNING",
		"node -list":                                   "Total Nodes:1",
		"queue -status default":                        "State : RUNNING",
		"rmadmin -refreshQueues":                       "",
		"rmadmin -refreshNodes":                        "",
		"rmadmin -refreshUserToGroupsMappings":         "",
		"rmadmin -refreshSuperUserGroupsConfiguration": "",
		"rmadmin -refreshAdminAcls":                    "",
		"rmadmin -refreshServiceAcl":                   "",
		"rmadmin -getAllServiceState":                  "active",
		"mapred job -list all":                         "Total jobs:",
		"logs -applicationId " + app:                   "hello-from-a-container",
		"application -kill " + running:                 "Killing application " + running,
	}
	lines := []string{}
	for line := range says {
		if !strings.Contains(line, "-kill") {
			lines = append(lines, line)
		}
	}
	lines = append(lines, "application -kill "+running)
	for i, r := range c.Batch(lines...) {
		if want := says[lines[i]]; r.Code != 0 || !strings.Contains(r.Text(), want) {
			t.Errorf("%s does not say %q: %s", lines[i], want, r.Last())
		}
	}
	c.AwaitState(running, "KILLED", time.Minute)
	c.Environment = append(c.Environment, "KRB5CCNAME=/nonexistent")
	if r := c.Yarn("rmadmin", "-refreshQueues"); r.Code == 0 ||
		!strings.Contains(r.Text(), "GSS initiate failed") && !strings.Contains(r.Text(), "AccessControlException") {
		t.Errorf("rmadmin without a ticket: %s", r.Last())
	}
}

// TestSparkBehindKerberos runs a Spark job of a user with a keytab and no ticket, and kills the leader.
func TestSparkBehindKerberos(t *testing.T) {
	k := &harness.Kerberos{Protection: "privacy"}
	c := behindKerberos(t, k, harness.Options{Nodes: 2, Spark: true})
	c.Environment = append(c.Environment, "KRB5CCNAME=/nonexistent")
	job := c.StartShuffle(harness.Shuffle{Maps: sparkMaps, Reduces: sparkReduces, Map: 2 * time.Second,
		Reduce: 2 * time.Second, Executors: 3,
		More: []string{"spark.kerberos.principal=" + harness.KerberosUser + "@TEST",
			"spark.kerberos.keytab=" + k.Keytab(harness.KerberosUser)}}, 15*time.Minute)
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

// TestFlinkBehindKerberos runs a Flink job of a user with a keytab and no ticket, and kills the leader.
func TestFlinkBehindKerberos(t *testing.T) {
	const count = 400
	k := &harness.Kerberos{Protection: "privacy"}
	c := behindKerberos(t, k, harness.Options{Nodes: 2})
	c.Environment = append(c.Environment, "KRB5CCNAME=/nonexistent")
	job := c.StartSum(harness.Sum{Count: count, PerSecond: 20, Parallelism: 2, More: []string{
		"security.kerberos.login.principal: " + harness.KerberosUser + "@TEST",
		"security.kerberos.login.keytab: " + k.Keytab(harness.KerberosUser),
		"security.kerberos.login.use-ticket-cache: false",
	}}, 15*time.Minute)
	app := c.Submitted(job.Running)
	succeeded(t, job.Wait())
	awaitSums(t, job, count/6)
	lead := c.Active()
	t.Logf("kill -9 %s", lead.ID)
	lead.Kill()
	lead.Start()
	if a := c.AwaitState(app, "FINISHED", 4*time.Minute); a.Final != "SUCCEEDED" {
		t.Errorf("the application ended as %s", a.Final)
	}
	if _, written := job.Sums(); written < count {
		t.Errorf("%d sums for %d numbers", written, count)
	}
	oneAttempt(t, c, app)
}

// TestNewTypesBehindKerberos runs a job with a KDC that has only the encryption types of RFC 8009.
func TestNewTypesBehindKerberos(t *testing.T) {
	c := behindKerberos(t, &harness.Kerberos{Protection: "privacy", KDC: gsstest.StartRealm(t, "TEST", 20, 19)},
		harness.Options{Nodes: 1, History: true})
	wordCount(t, c)
}

// TestTrustBehindKerberos runs a job of a user of another realm.
func TestTrustBehindKerberos(t *testing.T) {
	own, other := gsstest.StartKDC(t), gsstest.StartRealm(t, "OTHER", 20, 19, 18, 17)
	own.Trust(other)
	c := behindKerberos(t, &harness.Kerberos{Protection: "integrity", KDC: own, Users: other},
		harness.Options{Nodes: 1, History: true})
	wordCount(t, c)
}

// TestKDCDown stops the KDC under a job, and kills the leader meanwhile. Nothing that runs needs the KDC.
func TestKDCDown(t *testing.T) {
	kdc := gsstest.StartKDC(t)
	c := behindKerberos(t, &harness.Kerberos{Protection: "privacy", KDC: kdc}, harness.Options{Nodes: 2, History: true})
	const maps, reduces = 4, 2
	down := time.Duration(number(t, "RMD_INTEROP_KDC_SECONDS", 20)) * time.Second
	job := c.StartSleep(maps, reduces, down+time.Minute, time.Second, down+20*time.Minute,
		"-Dmapreduce.map.memory.mb=1536")
	app := c.Submitted(job)
	c.AwaitApp(app, "running a map", time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers > 1 })
	kdc.Stop()
	time.Sleep(down)
	lead := c.Active()
	t.Logf("kill -9 %s", lead.ID)
	lead.Kill()
	lead.Start()
	lead.AwaitReady()
	stillRuns(t, c, app)
	kdc.Start()
	succeeded(t, job.Wait())
	untouched(t, c, app, maps+reduces)
}
