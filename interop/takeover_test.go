//go:build interop

package interop

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/interop/guides"
	"rmd/interop/harness"
)

// TestTakeOver replaces Java ResourceManagers with rmd at the same addresses while a MapReduce job
// runs. No task may run twice, the AM must continue, and the NodeManagers must keep their
// containers. Refused or killed imports must leave both sides unchanged.
func TestTakeOver(t *testing.T) {
	const maps, reduces = 4, 1
	c := harness.Start(t, harness.Options{Kind: harness.JavaHA, Managers: 3, Tuned: true, History: true})
	succeeded(t, c.Shell(harness.Shell{Name: "before", Command: "date"}))
	before := c.Yarn("application", "-list", "-appStates", "FINISHED")
	job := c.StartSleep(maps, reduces, 75*time.Second, 5*time.Second, 8*time.Minute)
	app := c.Submitted(job)
	c.AwaitApp(app, "running its maps", 2*time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers == maps+1 })
	harness.Await(t, "the nodes run all maps", time.Minute,
		func() bool { return len(harness.Of(c.Started(), app)) == maps+1 })
	running := harness.Of(c.Started(), app)
	active := c.Active()

	c.Configure()
	if out, code := c.Import("--dry-run"); code != 8 || !strings.Contains(out, "RM_ACTIVE") {
		t.Fatalf("while %s is active: exit %d: %s", active.ID, code, out)
	}
	c.StopJava()
	stored := c.Zookeeper()
	stopped := time.Now()
	if dry, code := unlocked(c); code != 0 || !strings.Contains(dry, app) ||
		!strings.Contains(dry, "nothing was written") {
		t.Fatalf("exit %d: %s", code, dry)
	}
	killed := killImports(t, c)
	if out, code := c.Import(); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	if out, code := c.Import(); code == 0 || !strings.Contains(out, "is not empty") {
		t.Fatalf("a second import: exit %d: %s", code, out)
	}
	if now := c.Zookeeper(); now != stored {
		t.Errorf("ZooKeeper has\n%s\nand had\n%s", now, stored)
	}
	c.StartReplicas()
	t.Logf("%d killed imports; the cluster was without a ResourceManager for %s", killed,
		time.Since(stopped).Round(time.Second))

	c.AwaitNodes(len(c.Nodes), 2*time.Minute)
	c.AwaitApp(app, "running with rmd", 2*time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers >= maps+1 })
	if after := c.Yarn("application", "-list", "-appStates", "FINISHED"); !slices.Equal(listed(before.Out),
		listed(after.Out)) {
		t.Errorf("finished applications were\n%s\nand are\n%s", before.Out, after.Out)
	}
	if now := harness.Of(c.Started(), app); !slices.Equal(now, running) {
		t.Errorf("containers %v became %v", running, now)
	}
	lead := c.Active()
	lead.Kill() // the imported state is replicated
	lead.Start()
	lead.AwaitReady()
	succeeded(t, job.Wait())
	ranOnce(t, c, app, maps+reduces)
	succeeded(t, c.Shell(harness.Shell{Name: "after", Command: "date"}))
	for _, n := range c.Nodes {
		if r := n.Resyncs(); r > 1 {
			t.Errorf("%s was made to register again %d times", n.Name, r)
		}
	}
}

// TestMigrationOfPair follows the guide from two Java ResourceManagers under a MapReduce job to three
// replicas, of which one is a witness. No task may run twice. Clients and nodes keep the files that
// Start wrote.
func TestMigrationOfPair(t *testing.T) {
	const maps, reduces, allowed = 4, 1, 10
	c := harness.Start(t, harness.Options{Kind: harness.JavaHA, Managers: 2, History: true})
	job := c.StartSleep(maps, reduces, 75*time.Second, 5*time.Second, 8*time.Minute)
	app := c.Submitted(job)
	c.AwaitApp(app, "running its maps", 2*time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers == maps+1 })
	c.AddWitness()
	c.Configure()

	steps := eightCommands(t)
	began := time.Now()
	for _, s := range steps {
		m := c.Managers[slices.IndexFunc(c.Managers, func(m *harness.Manager) bool { return m.ID == s.Machine })]
		at := time.Now()
		switch s.Command {
		case "yarn --daemon stop resourcemanager":
			m.StopJava()
		case "systemctl start rmd":
			m.Start()
			m.AwaitOpen()
		default:
			if out, code := m.Shell(s.Command); code != 0 || !guides.Agrees(s.Shown, strings.Split(strings.TrimSpace(out), "\n")) {
				t.Fatalf("line %d: %s# %s\nexit %d:\n%s", s.Line, s.Machine, s.Command, code, out)
			}
		}
		t.Logf("%6.1f s  %s# %s", time.Since(at).Seconds(), s.Machine, s.Command)
	}
	t.Logf("%d commands in %s", len(steps), time.Since(began).Round(time.Second))
	if len(steps) > allowed {
		t.Errorf("%d commands; want at most %d", len(steps), allowed)
	}
	c.AwaitNodes(len(c.Nodes), 2*time.Minute)
	t.Logf("all nodes are back after %s", time.Since(began).Round(time.Second))
	c.AwaitApp(app, "running with rmd", 2*time.Minute, func(a harness.App) bool { return a.State == "RUNNING" })
	succeeded(t, job.Wait())
	ranOnce(t, c, app, maps+reduces)
}

// eightCommands returns the commands of the guide's shortest way.
func eightCommands(t *testing.T) []guides.Step {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "operations", "migration.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := guides.Steps(string(text))
	if err != nil || len(steps) != 8 {
		t.Fatalf("%d commands: %v", len(steps), err)
	}
	return steps
}

// unlocked repeats a dry run until the lock of the leader election is gone. The lock lasts as long
// as the ZooKeeper session of the last leader.
func unlocked(c *harness.Cluster) (out string, code int) {
	code = 8
	for end := time.Now().Add(time.Minute); code == 8 && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		out, code = c.Import("--dry-run")
	}
	return out, code
}

// TestMigrationRollback changes to rmd and back, as docs/operations/migration.md says. Applications
// that ran at the first change and still run must continue. Applications that have ended since are
// gone if they were removed from the store; otherwise they start again.
func TestMigrationRollback(t *testing.T) {
	const maps, reduces = 3, 1
	// Only after this time may a Java ResourceManager notice that an ApplicationMaster has ended in
	// the meantime.
	site := map[string]string{"yarn.am.liveness-monitor.expiry-interval-ms": "90000"}
	c := harness.Start(t, harness.Options{Kind: harness.JavaHA, Managers: 3, Tuned: true, History: true, Site: site})
	job := c.StartSleep(maps, reduces, 4*time.Minute, 5*time.Second, 10*time.Minute)
	app := c.Submitted(job)
	c.AwaitApp(app, "running its maps", 2*time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers == maps+1 })
	removed := c.Submitted(c.StartShell(harness.Shell{Name: "removed", Command: "sleep 90", Within: 10 * time.Minute}))
	kept := c.Submitted(c.StartShell(harness.Shell{Name: "kept", Command: "sleep 90", Within: 10 * time.Minute}))
	for _, id := range []string{removed, kept} { // both outlive the change
		c.AwaitApp(id, "running its container", 2*time.Minute,
			func(a harness.App) bool { return a.State == "RUNNING" && a.Containers == 2 })
	}

	c.Configure()
	c.StopJava()
	if out, code := unlocked(c); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	out, code := c.Import()
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	t.Log(out)
	c.StartReplicas()
	c.AwaitNodes(len(c.Nodes), 2*time.Minute)
	c.AwaitState(removed, "FINISHED", 2*time.Minute)
	c.AwaitState(kept, "FINISHED", 2*time.Minute)
	c.AwaitApp(app, "running with rmd", 2*time.Minute,
		func(a harness.App) bool { return a.State == "RUNNING" && a.Containers >= maps+1 })

	c.ReturnToJava()
	succeeded(t, c.RemoveFromStore(removed))
	for _, m := range c.Managers {
		m.Start()
	}
	c.Active()
	c.AwaitNodes(len(c.Nodes), 2*time.Minute)
	c.AwaitState(app, "RUNNING", 2*time.Minute)
	if r := c.Yarn("application", "-status", removed); !strings.Contains(r.Text(), "doesn't exist") {
		t.Errorf("%s was removed: %s", removed, r.Text())
	}
	harness.Await(t, kept+" is started again", 3*time.Minute,
		func() bool { return len(harness.Of(c.Started(), kept)) > 2 })
	succeeded(t, job.Wait())
	ranOnce(t, c, app, maps+reduces)
}

// killImports kills imports at different times. A killed import must leave no replica, and the next
// import must start from the beginning.
func killImports(t testing.TB, c *harness.Cluster) int {
	t.Helper()
	killed := 0
	data := c.Managers[0].DataDir()
	for after := 5 * time.Millisecond; after < 400*time.Millisecond; after = after * 5 / 4 {
		p := c.ImportProcess()
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = p.Process.Kill() // the process may have ended already
		if err := p.Wait(); err != nil {
			killed++
		}
		if _, err := os.Stat(filepath.Join(data, "replica.json")); err == nil { // the import was complete
			if err := errors.Join(os.RemoveAll(data), os.Mkdir(data, 0o700)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return killed
}

// listed returns the lines of the applications that "yarn application -list" shows, sorted.
func listed(out string) (ids []string) {
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 0 && strings.HasPrefix(f[0], "application_") {
			ids = append(ids, strings.Join(f[:min(6, len(f))], " "))
		}
	}
	slices.Sort(ids)
	return ids
}
