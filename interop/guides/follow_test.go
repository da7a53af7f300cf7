//go:build interop && linux

package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"rmd/internal/certificate"
	"rmd/internal/release"
	"rmd/interop/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Run(m)) }

var root = filepath.Join("..", "..")

// TestWorker drains and returns a node of the quickstart's cluster.
func TestWorker(t *testing.T) {
	hadoop, err := harness.Find()
	if err != nil {
		t.Skip(err)
	}
	m := NewMachines(t, hadoop.Jars, packages(t, release.Current())...)
	for _, s := range sections(t, "quickstart.md") {
		follow(t, m, s.Steps)
		if s.Name == "Start Hadoop" {
			break
		}
	}
	for _, s := range sections(t, "day-two.md") {
		if s.Name == worker {
			follow(t, m, s.Steps)
		}
	}
}

// TestQuickstart follows the quickstart: from empty machines to a MapReduce job that continues when
// the leader is killed.
func TestQuickstart(t *testing.T) {
	jars := ""
	steps := guide(t, "quickstart.md")
	if hadoop, err := harness.Find(); err == nil {
		jars = hadoop.Jars
	} else {
		t.Logf("only the part without Hadoop: %v", err)
		for i, s := range steps {
			if strings.Contains(s.Command, "/opt/hadoop") {
				steps = steps[:i]
				break
			}
		}
	}
	m := NewMachines(t, jars, packages(t, release.Current())...)
	follow(t, m, steps)
}

// next is the version after this one.
var next = release.Next(release.Current())

// TestUpgrade follows the upgrade of a cluster, the rollback, and the final upgrade.
func TestUpgrade(t *testing.T) {
	m := NewMachines(t, "", packages(t, release.Current(), next)...)
	follow(t, m, guide(t, "quickstart.md")[:created(t)])
	follow(t, m, guide(t, "upgrade.md"))
}

// TestDayTwo follows the guides for a running cluster one after the other.
func TestDayTwo(t *testing.T) {
	m := NewMachines(t, "", packages(t, release.Current())...)
	follow(t, m, guide(t, "quickstart.md")[:created(t)])
	for _, s := range sections(t, "day-two.md") {
		if s.Name == "Renew certificates" {
			endCertificate(t, m, "rm2")
		}
		if s.Name != worker {
			follow(t, m, s.Steps)
		}
	}
}

// worker is the section of docs/operations/day-two.md that needs nodes.
const worker = "Maintain a worker"

// endCertificate gives a replica a certificate that ends a few seconds after the replica has read it.
func endCertificate(t *testing.T, m *Machines, id string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ca.pem", "ca-key.pem"} {
		text, _ := m.Run("admin", "cat prod/"+name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca, _, err := certificate.Open(dir, "prod", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	const life = 30 * time.Second
	if _, err := ca.Issue(dir, "prod", id, []string{"10.0.0.12"}, time.Now().AddDate(-2, 0, 0).Add(life)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{id + "-key.pem", id + ".pem"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if printed, code := m.Run(id, "cat > /etc/rmd/"+name+" <<'EOF'\n"+string(text)+"EOF"); code != 0 {
			t.Fatal(printed)
		}
	}
	if printed, code := m.Run(id, "systemctl reload rmd"); code != 0 {
		t.Fatal(printed)
	}
}

// created returns the number of steps of the quickstart that create a cluster, up to its first
// healthy status.
func created(t *testing.T) int {
	t.Helper()
	for i, s := range guide(t, "quickstart.md") {
		if s.Command == "rmd cluster status" {
			return i + 1
		}
	}
	t.Fatal("the quickstart does not show the status of a cluster")
	return 0
}

func sections(t *testing.T, name string) []Section {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "operations", name))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Sections(string(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}

func guide(t *testing.T, name string) (steps []Step) {
	t.Helper()
	for _, s := range sections(t, name) {
		steps = append(steps, s.Steps...)
	}
	return steps
}

// packages returns the packages for a guide: this version from this commit, and the next
// one with one more feature level. It builds them, or takes them from the folder RMD_PACKAGES.
func packages(t *testing.T, versions ...string) []string {
	t.Helper()
	dir := os.Getenv("RMD_PACKAGES")
	built := dir != ""
	if !built {
		dir = t.TempDir()
	}
	var out []string
	for _, v := range versions {
		if tree := root; !built {
			if v == next {
				tree = nextVersion(t)
			}
			must(t, filepath.Join(tree, "contrib", "packages", "build"), v, dir, runtime.GOARCH)
		}
		out = append(out, filepath.Join(dir, "rmd_"+v+"_"+runtime.GOARCH+".deb"))
	}
	return out
}

// nextVersion returns a copy of the sources with one more feature level.
func nextVersion(t *testing.T) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "next")
	must(t, "git", "clone", "-q", "--no-tags", root, tree)
	must(t, "sed", "-i", "s/^const Level = .*/& + 1/", filepath.Join(tree, "fsm", "event", "level.go"))
	return tree
}

// must runs a command that must succeed.
func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// looks matches commands that only read. A reader repeats them until they show the output in the
// guide.
var looks = regexp.MustCompile(`^(rmd|hdfs|yarn) .*(status|list|health|report|verify|members)`)

// follow runs the steps of a guide. If RMD_GUIDE_OUT names a file, it writes the output there, so
// that it can be pasted into the guide, and goes on after output that differs.
func follow(t *testing.T, m *Machines, steps []Step) {
	t.Helper()
	fail, wait := t.Fatalf, patience/2
	if os.Getenv("RMD_GUIDE_OUT") != "" {
		fail, wait = t.Errorf, patience/10
	}
	for _, s := range steps {
		for _, machine := range each(s.Machine) {
			began := time.Now()
			printed, code := m.Run(machine, s.Command)
			for looks.MatchString(s.Command) && !s.holds(printed, code) && time.Since(began) < wait {
				time.Sleep(time.Second)
				printed, code = m.Run(machine, s.Command)
			}
			record(t, machine, s.Command, printed)
			if !s.holds(printed, code) {
				fail("line %d: %s# %s\nprinted (exit code %d):\n%s\nthe guide shows:\n%s\nthe log of rm1:\n%s",
					s.Line, machine, s.Command, code, printed, strings.Join(s.Shown, "\n"), m.Log("rm1"))
			}
		}
	}
}

func each(machine string) []string {
	if machine == "rm*" {
		return []string{"rm1", "rm2", "rm3"}
	}
	return []string{machine}
}

func record(t *testing.T, machine, command, printed string) {
	t.Helper()
	name := os.Getenv("RMD_GUIDE_OUT")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(machine + "# " + command + "\n" + printed); err != nil {
		t.Fatal(err)
	}
}
