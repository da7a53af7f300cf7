//go:build interop

package interop

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"rmd/internal/gss/gsstest"
	"rmd/interop/harness"
)

// behindKerberos starts a cluster behind Kerberos with an HDFS, or skips the test where there is no KDC.
func behindKerberos(t *testing.T, k *harness.Kerberos, o harness.Options) *harness.Cluster {
	t.Helper()
	if _, err := exec.LookPath("kinit"); err != nil {
		t.Skip("there is no kinit: install krb5-user")
	}
	if k.KDC == nil {
		k.KDC = gsstest.StartKDC(t)
	}
	o.Kind, o.HDFS, o.Kerberos = harness.DefaultKind(), true, k
	return harness.Start(t, o)
}

// TestKerberos kills the leader under a MapReduce job on a cluster behind Kerberos, with each
// protection. NodeManagers, the JobHistoryServer and the client have tickets; ApplicationMasters,
// the launcher and the client's calls to the ApplicationMaster have tokens.
func TestKerberos(t *testing.T) {
	for _, protection := range []string{"privacy", "integrity", "authentication"} {
		t.Run(protection, func(t *testing.T) {
			c := behindKerberos(t, &harness.Kerberos{Protection: protection}, harness.Options{Nodes: 2, History: true})
			if out := c.Yarn("node", "-list"); !strings.Contains(out.Out, "Total Nodes:2") {
				t.Errorf("yarn node -list: %s", out.Last())
			}
			if os.Getenv("RMD_INTEROP_HADOOP") >= "3.5" { // which does not load the native library that there is
				succeeded(t, c.StartShell(harness.Shell{Containers: 2, Command: "date"}).Wait())
				return
			}
			const maps, reduces = 4, 2
			job := c.StartSleep(maps, reduces, 15*time.Second, time.Second, 8*time.Minute, "-Dmapreduce.map.memory.mb=1536")
			app := c.Submitted(job)
			c.AwaitApp(app, "running a map", time.Minute,
				func(a harness.App) bool { return a.State == "RUNNING" && a.Containers > 1 })
			lead := c.Active()
			t.Logf("kill -9 %s", lead.ID)
			lead.Kill()
			askMaster(t, c, app)
			lead.Start()
			lead.AwaitReady()
			succeeded(t, job.Wait())
			untouched(t, c, app, maps+reduces)
			wordCount(t, c)
			succeeded(t, c.StartShell(harness.Shell{Containers: 2, Command: "date"}).Wait())
		})
	}
}

// askMaster checks that the client of a running job asks the ApplicationMaster, with its token.
func askMaster(t *testing.T, c *harness.Cluster, app string) {
	t.Helper()
	r := c.Mapred("job", "-status", "job"+strings.TrimPrefix(app, "application"))
	succeeded(t, r, "Job state: RUNNING", "Number of maps: 4")
	if log := c.ContainerLogs(app, "syslog"); !strings.Contains(log, "Auth successful for "+harness.KerberosUser) {
		t.Errorf("the ApplicationMaster has not authenticated the client:\n%s", log)
	}
}
