package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rmd/internal/point"
	"rmd/jepsen-lite/nemesis"
	"rmd/jepsen-lite/scenario"
)

// TestChaosRefuses: what cannot be run is refused before anything is started.
func TestChaosRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		exit int
		says string
		args []string
	}{
		{2, "no scenario is named", nil},
		{3, `did you mean "smoke"?`, []string{"smok"}},
		{2, "contradict", []string{"smoke", "--list"}},
		{2, "4 replicas; expected 3 or 5", []string{"smoke", "--replicas", "4", "--out", t.TempDir()}},
		{8, "is not empty", []string{"smoke", "--out", full}},
		{1, "no-such-program", []string{"upgrade", "--old", filepath.Join(full, "no-such-program")}},
		{2, "needs two programs", []string{"upgrade"}},
		{1, "is no program", []string{"upgrade", "--old", full}},
		{2, `network "foo"`, []string{"smoke", "--network", "foo"}},
		{2, `disk "foo"`, []string{"smoke", "--disk", "foo"}},
		{2, `no fault "kil"`, []string{"smoke", "--only", "kill,kil"}},
		{2, "can only come last", []string{"restore", "--only", "recover"}},
		{2, "too many arguments", []string{"smoke", "disks"}},
	} {
		r := rmd(t, nil, append([]string{"chaos", "run"}, c.args...)...)
		if r.exit != c.exit || !strings.Contains(r.err, c.says) {
			t.Errorf("%q ended with %d: %s", c.args, r.exit, r.err)
		}
	}
}

func TestChaosList(t *testing.T) {
	r := rmd(t, nil, "chaos", "run", "--list")
	if r.exit != 0 {
		t.Fatalf("%+v", r)
	}
	for _, s := range scenario.All() {
		if !strings.Contains(r.out, s.Name) {
			t.Errorf("%s is not in the list", s.Name)
		}
	}
	for line := range strings.Lines(r.out) {
		if len([]rune(line)) > 81 {
			t.Errorf("a line of %d columns: %s", len(line)-1, line)
		}
	}
	for _, word := range []string{"kill-leader", "power-cut", "partition", "yes"} {
		if !strings.Contains(r.out, word) {
			t.Errorf("%q is not in the list:\n%s", word, r.out)
		}
	}
}

// TestChaosHelp: nobody is told of the command that is for the harness alone, and
// what no run has written cannot be added up.
func TestChaosHelp(t *testing.T) {
	if r := rmd(t, nil, "chaos"); r.exit != 2 || strings.Contains(r.err, "server") || !strings.Contains(r.err, "run, sum") {
		t.Errorf("%+v", r)
	}
	if r := rmd(t, nil, "chaos", "--help"); r.exit != 0 || strings.Contains(r.out, "server") {
		t.Errorf("%+v", r)
	}
	if r := rmd(t, nil, "chaos", "sum", t.TempDir()); r.exit != 1 || !strings.Contains(r.err, "result.json") {
		t.Errorf("%+v", r)
	}
	if r := rmd(t, nil, "chaos", "sum"); r.exit != 2 {
		t.Errorf("%+v", r)
	}
}

// TestChaosPlaces: faults lead to every named place of the code, and to no other.
func TestChaosPlaces(t *testing.T) {
	var all []string
	for _, name := range point.All() {
		all = append(all, string(name))
		if !slices.Contains(nemesis.Places(), string(name)) {
			t.Errorf("no fault leads to %s", name)
		}
	}
	for _, name := range nemesis.Places() {
		if !slices.Contains(all, name) {
			t.Errorf("a fault leads to %s, which is no place", name)
		}
	}
}
