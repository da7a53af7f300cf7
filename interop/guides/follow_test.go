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

	"rmd/internal/release"
	"rmd/interop/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Run(m)) }

var root = filepath.Join("..", "..")

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

func guide(t *testing.T, name string) []Step {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "operations", name))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := Steps(string(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
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
	must(t, "sed", "-i", "s/^const Level = .*/& + 1/", filepath.Join(tree, "fsm", "event", "batch.go"))
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
// that it can be pasted into the guide.
func follow(t *testing.T, m *Machines, steps []Step) {
	t.Helper()
	for _, s := range steps {
		for _, machine := range each(s.Machine) {
			began := time.Now()
			printed, code := m.Run(machine, s.Command)
			for looks.MatchString(s.Command) && !s.holds(printed, code) && time.Since(began) < patience/2 {
				time.Sleep(time.Second)
				printed, code = m.Run(machine, s.Command)
			}
			record(t, machine, s.Command, printed)
			if !s.holds(printed, code) {
				t.Fatalf("line %d: %s# %s\nprinted (exit code %d):\n%s\nthe guide shows:\n%s\nthe log of rm1:\n%s",
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
