//go:build interop

package interop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/internal/gss/gsstest"
	"rmd/interop/harness"
)

// ageing is a run of applications that live for many times the life of a token. Meanwhile
// ResourceManagers and NameNodes fail, and the KDC is down for two lives of a token.
type ageing struct {
	*testing.T
	c      *harness.Cluster
	kdc    *gsstest.KDC
	length time.Duration
	life   time.Duration // of a token, unless it is renewed
	begun  time.Time
}

const (
	ageingApps      = 3
	ageingFailovers = 3
	ageingPause     = 8 * time.Second // from one container of an application to the next
)

// startAgeing starts a cluster with proxy privileges for a run. A token ends after some lives at the
// latest, and is replaced one and a half before that.
func startAgeing(t *testing.T, lives int, o harness.Options, site map[string]string) *ageing {
	t.Helper()
	length := time.Duration(number(t, "RMD_INTEROP_TOKEN_MINUTES", 6)) * time.Minute
	a := &ageing{T: t, kdc: gsstest.StartKDC(t), length: length, life: min(time.Minute, length/12)}
	site["yarn.resourcemanager.proxy-user-privileges.enabled"] = "true"
	site["yarn.resourcemanager.system-credentials.valid-time-remaining"] = fmt.Sprint((a.life * 3 / 2).Milliseconds())
	o.Managers, o.NameNodes, o.Tuned, o.Site = 3, 2, true, site
	if harness.DefaultKind() == harness.JavaHA {
		o.Managers = 2
	}
	a.c = behindKerberos(t, &harness.Kerberos{Protection: "integrity", KDC: a.kdc, TokenLife: a.life,
		TokenMax: time.Duration(lives) * a.life}, o)
	return a
}

// streams are the applications of a run that outlive their tokens.
type streams struct {
	*ageing
	apps []*harness.Master
}

// TestTokensAreReplaced runs applications that start containers with files from HDFS for many times
// the latest end of a token. With the Java ResourceManagers it only counts what they lose.
func TestTokensAreReplaced(t *testing.T) {
	// A token is renewed three times, and then replaced.
	a := &streams{ageing: startAgeing(t, 5, harness.Options{}, map[string]string{
		"yarn.log-aggregation-enable": "true", "yarn.nodemanager.remote-app-log-dir": "/logs"})}
	a.submit()
	a.disturb()
	a.judge()
}

func (a *streams) submit() {
	folder := a.c.FileSystem.PutFiles("input", int(a.length/ageingPause)+40)
	for i := range ageingApps {
		a.apps = append(a.apps, a.c.StartJava(fmt.Sprintf("stream%d", i), "default", "rmd.interop.Stream", "256",
			fmt.Sprint(ageingPause.Milliseconds()), folder))
	}
	for _, m := range a.apps {
		m.Await("started", 1, time.Minute)
	}
}

// TestTokensOfJobsAreRenewed runs a job of MapReduce and one of Spark for many lives of their tokens.
// Each map reads its split from HDFS. Spark releases its executors and starts others at the end.
func TestTokensOfJobsAreRenewed(t *testing.T) {
	const maps, atOnce, reduces = 40, 2, 1
	a := startAgeing(t, 60, harness.Options{NodeMB: 6144, History: true, Spark: true}, map[string]string{})
	within := a.length + 30*time.Minute // each map also needs a JVM
	sleep := a.c.StartSleep(maps, reduces, atOnce*a.length/maps, time.Second, within,
		fmt.Sprintf("-Dmapreduce.job.running.map.limit=%d", atOnce),
		// With maps that may not run yet, its ApplicationMaster would kill the reduce again and again.
		"-Dmapreduce.job.reduce.slowstart.completedmaps=1.0")
	sleepApp := a.c.Submitted(sleep)
	shuffle := a.c.StartShuffle(harness.Shuffle{Maps: sparkMaps, Reduces: sparkReduces, Map: 2 * time.Second,
		Reduce: 2 * time.Second, Executors: 2}, within)
	shuffleApp := a.c.Submitted(shuffle.Running)
	shuffle.AwaitMapped()
	a.disturb()
	story := a.c.FileSystem.Tokens(2, time.Now())
	t.Logf("%s, %s: %d tokens, renewed %d times, %d lost; %d maps", a.c.Kind, a.length, story.Issued, story.Renewed,
		len(story.Lost), maps)
	stillRuns(t, a.c, sleepApp)
	shuffle.Go()
	succeeded(t, shuffle.Wait())
	shuffledOnce(t, shuffle)
	oneAttempt(t, a.c, shuffleApp)
	succeeded(t, sleep.Wait())
	untouched(t, a.c, sleepApp, maps+reduces)
	if len(story.Lost) != 0 {
		t.Errorf("tokens were lost at %v", story.Lost)
	}
}

// fault is something that happens at a time after the begin.
type fault struct {
	at   time.Duration
	name string
	do   func()
}

// disturb begins the run and lets all faults happen, spread over it. One kill is while the KDC is down.
func (a *ageing) disturb() {
	a.begun = time.Now()
	kills := max(4, int(a.length/(3*time.Minute)))
	faults := []fault{
		{a.length * 525 / 1000, "the KDC stops", a.kdc.Stop},
		{a.length*525/1000 + 2*a.life, "the KDC starts", a.kdc.Start},
	}
	for i := range kills {
		faults = append(faults, fault{a.length * time.Duration(i+1) / time.Duration(kills+1),
			"kill -9 of the leader", a.kill})
	}
	for i := range ageingFailovers {
		faults = append(faults, fault{a.length * time.Duration(i+1) / (ageingFailovers + 1), "failover of the NameNodes",
			a.c.FileSystem.FailOver})
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	for _, f := range faults {
		a.pass(f.at)
		a.Logf("%s: %s", time.Since(a.begun).Round(time.Second), f.name)
		f.do()
	}
	a.pass(a.length)
}

// pass waits for a time after the begin, and starts ResourceManagers that have ended: a Java one does
// so without a KDC.
func (a *ageing) pass(at time.Duration) {
	for time.Since(a.begun) < at {
		for _, m := range a.c.Managers {
			if !m.Alive() {
				a.Logf("%s: %s has ended, it starts again", time.Since(a.begun).Round(time.Second), m.ID)
				m.Kill()
				m.Start()
			}
		}
		time.Sleep(time.Second)
	}
}

func (a *ageing) kill() {
	lead := a.c.Active()
	a.Logf("it is %s", lead.ID)
	lead.Kill()
	lead.Start()
}

func (a *streams) judge() {
	until := time.Now()
	story := a.c.FileSystem.Tokens(ageingApps, until)
	for _, m := range a.apps {
		m.Finish()
	}
	started, failed, attempts := 0, 0, 0
	for _, m := range a.apps {
		end := a.c.AwaitApp(m.App, "ended", 2*time.Minute, harness.App.Ended)
		n := a.c.Attempt(m.App).Number
		if end.Final != "SUCCEEDED" {
			a.Logf("%s is %s: %s", m.App, end.Final, end.Diagnostics)
		}
		f := failures(m)
		for _, l := range f {
			a.Logf("%s: %s", l.At.Sub(a.begun).Round(time.Second), strings.Join(l.Words, " "))
		}
		started, failed, attempts = started+len(m.Lines("started")), failed+len(f), attempts+n
	}
	logs, want := a.collected()
	for _, at := range story.Lost {
		a.Logf("a token was lost at %s", at.Sub(a.begun).Round(time.Second))
	}
	a.Logf("%s, %s: %d tokens, renewed %d times, %d lost; %d containers, %d failed; %d attempts of %d applications; %d of %d logs collected",
		a.c.Kind, a.length, story.Issued, story.Renewed, len(story.Lost), started, failed, attempts, len(a.apps), logs, want)
	if a.c.Kind != harness.RMD {
		return
	}
	if len(story.Lost) != 0 || failed != 0 || attempts != len(a.apps) || logs != want || story.Issued < 3*len(a.apps) {
		a.Error("tokens were lost or not replaced, containers or attempts failed, or logs were not collected")
	}
}

// collected returns how many logs are in HDFS, one of each node that has run an application, and how
// many must be. The nodes need a valid token for them.
func (a *streams) collected() (logs, want int) {
	for _, n := range a.c.Nodes {
		for _, m := range a.apps {
			if len(harness.Of(n.Started(), m.App)) > 0 {
				want++
			}
		}
	}
	for range 12 {
		logs = 0
		for line := range strings.Lines(a.c.FS("-ls", "-R", "/logs").Out) {
			if strings.HasPrefix(line, "-") && !strings.Contains(line, ".tmp") {
				logs++
			}
		}
		if logs == want {
			break
		}
		time.Sleep(5 * time.Second)
	}
	return logs, want
}

// failures returns the containers that did not start, or did not succeed. An ApplicationMaster that
// registers again may learn twice of one. A container too many that it gives back is not a failure.
func failures(m *harness.Master) (out []harness.Line) {
	const aborted = "-100"
	seen := map[string]bool{}
	for _, l := range append(m.Lines("refused"), m.Lines("ended")...) {
		id := l.Words[0]
		if good := l.Words[1] == "0" || l.Words[1] == aborted; !good && !seen[id] {
			seen[id] = true
			out = append(out, l)
		}
	}
	return out
}
