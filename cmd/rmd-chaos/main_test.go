package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rmd/internal/failpoint"
	"rmd/jepsen-lite/nemesis"
	"rmd/jepsen-lite/scenario"
)

type result struct {
	exit     int
	out, err string
}

func chaos(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs strings.Builder
	exit := run(t.Context(), args, &out, &errs)
	return result{exit, out.String(), errs.String()}
}

// fakeRmd writes a program that only prints a version, and returns its path.
func fakeRmd(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rmd")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho 1.2.3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRunRefuses checks that a run with wrong options is refused before anything starts.
func TestRunRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		exit int
		says string
		args []string
	}{
		{2, "the scenario is missing", nil},
		{3, `did you mean "smoke"?`, []string{"smok"}},
		{3, "one of smoke, leader-kills", []string{"everything-else"}},
		{2, "4 replicas; expected 3 or 5", []string{"smoke", "--replicas", "4", "--out", t.TempDir()}},
		{8, "is not empty", []string{"smoke", "--out", full}},
		{1, "no-such-program", []string{"upgrade", "--old", filepath.Join(full, "no-such-program")}},
		{2, "requires two versions", []string{"upgrade"}},
		{1, "is not a program", []string{"upgrade", "--old", full}},
		{1, "is not a program", []string{"smoke", "--bin", full}},
		{1, "cannot read the version", []string{"smoke", "--bin", "/bin/false"}},
		{2, `network "foo"`, []string{"smoke", "--network", "foo"}},
		{2, `disk "foo"`, []string{"smoke", "--disk", "foo"}},
		{2, `no fault "kil"`, []string{"smoke", "--only", "kill,kil"}},
		{2, "can only come last", []string{"restore", "--only", "recover"}},
		{2, "too many arguments", []string{"smoke", "disks"}},
		{2, "not defined", []string{"smoke", "--sed", "7"}},
		{2, "invalid value", []string{"smoke", "--duration", "soon"}},
		{2, "not an output format", []string{"smoke", "-o", "xml"}},
	} {
		r := chaos(t, append([]string{"run", "--bin", fakeRmd(t)}, c.args...)...)
		if r.exit != c.exit || !strings.Contains(r.err, c.says) || !strings.HasPrefix(r.err, "rmd-chaos: ") {
			t.Errorf("%q ended with %d: %s", c.args, r.exit, r.err)
		}
	}
}

// TestServerProgram checks that the rmd in PATH is used without --bin, and that the error is clear
// if there is none.
func TestServerProgram(t *testing.T) {
	rmd := fakeRmd(t)
	t.Setenv("PATH", filepath.Dir(rmd)+":"+os.Getenv("PATH"))
	if path, version, err := serverProgram(t.Context(), ""); err != nil || path != rmd || version != "1.2.3" {
		t.Errorf("serverProgram = %q, %q, %v; want %q, 1.2.3 and no error", path, version, err, rmd)
	}
	t.Setenv("PATH", t.TempDir())
	if r := chaos(t, "run", "smoke"); r.exit != 1 || !strings.Contains(r.err, "or in PATH; name one with --bin") {
		t.Errorf("run without rmd in PATH: exit %d, stderr %q; want exit 1 and a hint to use --bin", r.exit, r.err)
	}
}

func TestList(t *testing.T) {
	r := chaos(t, "list")
	if r.exit != 0 {
		t.Fatalf("list: exit %d, want 0; stderr %q", r.exit, r.err)
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

// TestHelp checks that the help texts mention every command and every flag, and that they fit a
// terminal.
func TestHelp(t *testing.T) {
	if r := chaos(t); r.exit != 2 || !strings.Contains(r.err, "run, sum or list") {
		t.Errorf("no command: exit %d, stderr %q; want exit 2 and the names of the commands", r.exit, r.err)
	}
	if r := chaos(t, "rum"); r.exit != 2 || !strings.Contains(r.err, `unknown command "rum"`) {
		t.Errorf("rum: exit %d, stderr %q; want exit 2 and that the command is unknown", r.exit, r.err)
	}
	whole := chaos(t, "--help")
	for name, cmd := range commands {
		r := chaos(t, name, "--help")
		if r.exit != 0 || r.out != cmd.help || !strings.Contains(whole.out, "\n   "+name+" ") {
			t.Errorf("%s --help: exit %d, want 0, its help on stdout, and its name in rmd-chaos --help; stdout %q",
				name, r.exit, r.out)
		}
		for line := range strings.Lines(r.out) {
			if len(line) > 81 {
				t.Errorf("%s: a line of %d columns: %s", name, len(line)-1, line)
			}
		}
	}
	c := newCall("run", nil, nil)
	_, _ = runOptions(t.Context(), c)
	for _, name := range []string{"bin", "old", "only", "out", "seed", "duration", "network", "disk", "replicas", "keep",
		"output", "quiet"} {
		if c.flags.Lookup(name) == nil || !strings.Contains(runHelp, " --"+name+" ") {
			t.Errorf("--%s is no flag, or has no help", name)
		}
	}
}

// TestSum checks that sum refuses a directory without results.
func TestSum(t *testing.T) {
	if r := chaos(t, "sum", t.TempDir()); r.exit != 1 || !strings.Contains(r.err, "result.json") {
		t.Errorf("sum of an empty directory: exit %d, stderr %q; want exit 1 and result.json named", r.exit, r.err)
	}
	if r := chaos(t, "sum"); r.exit != 2 {
		t.Errorf("sum without a directory: exit %d, want 2; stderr %q", r.exit, r.err)
	}
}

// TestFailpoints checks that every failpoint of the code has a fault that uses it, and that faults
// use no other failpoint.
func TestFailpoints(t *testing.T) {
	var all []string
	for _, name := range failpoint.All() {
		all = append(all, string(name))
		if !slices.Contains(nemesis.FailpointNames(), string(name)) {
			t.Errorf("no fault leads to %s", name)
		}
	}
	for _, name := range nemesis.FailpointNames() {
		if !slices.Contains(all, name) {
			t.Errorf("a fault leads to %s, which is no failpoint", name)
		}
	}
}
