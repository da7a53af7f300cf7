package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPatchesApply checks that all planted bugs exist and still apply to the tree. Adapt a patch
// that does not apply, do not remove it.
func TestPatchesApply(t *testing.T) {
	all, err := load(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	for _, m := range all {
		patch, err := filepath.Abs(m.file)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "apply", "--check", patch)
		cmd.Dir = filepath.Join("..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s does not apply any more:\n%s", m.file, out)
		}
	}
}

// TestParse checks that incomplete heads and unknown keys are refused.
func TestParse(t *testing.T) {
	for name, head := range map[string]string{
		"nothing expected": "# bug: b\n# run: false\n",
		"no command":       "# bug: b\n# expected: S1\n",
		"unknown key":      "# bug: b\n# expected: S1\n# run: false\n# color: red\n",
		"bad budget":       "# bug: b\n# expected: S1\n# run: false\n# budget: soon\n",
	} {
		f := filepath.Join(t.TempDir(), "01-x.patch")
		if err := os.WriteFile(f, []byte(head), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := parse(f); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// plantIn creates a tree with one file, and a planted bug.
func plantIn(t *testing.T, patch string) (tree string, m mutant) {
	t.Helper()
	tree = t.TempDir()
	file := filepath.Join(t.TempDir(), "07-sum.patch")
	for name, text := range map[string]string{
		filepath.Join(tree, "sum.txt"): "a\nb\nc\n",
		file:                           patch,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	return tree, m
}

const diff = "diff --git a/sum.txt b/sum.txt\n--- a/sum.txt\n+++ b/sum.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"

// TestJudge checks that only a command that fails and names an expected invariant catches a bug,
// and that the patch is reverted afterwards.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct{ head, caught string }{
		"caught":         {"# run: grep -q b sum.txt || { echo S9: seed 12; exit 1; }\n", "S9"},
		"other failure":  {"# run: grep -q b sum.txt || { echo S1: no; exit 1; }\n", ""},
		"passes":         {"# run: echo S9:\n", ""},
		"says ok":        {"# run: echo S9 ok; exit 1\n", ""},
		"second command": {"# run: true\n# run: echo S9: no; exit 1\n", "S9"},
		"hangs":          {"# run: echo S9; sleep 60\n# budget: 100ms\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tree, m := plantIn(t, "# bug: b\n# expected: S9\n"+c.head+diff)
			v := judge(tree, m)
			if v.err != nil || v.caught != c.caught {
				t.Errorf("caught by %q, %v; want %q", v.caught, v.err, c.caught)
			}
			if name == "caught" && v.seeds != "12" {
				t.Errorf("seeds %q", v.seeds)
			}
			if text, err := os.ReadFile(filepath.Join(tree, "sum.txt")); err != nil || string(text) != "a\nb\nc\n" {
				t.Errorf("the tree is left as %q, %v", text, err)
			}
		})
	}
}

// TestJudgeBroken checks that a patch that does not apply or compile is an error.
func TestJudgeBroken(t *testing.T) {
	tree, m := plantIn(t, "# bug: b\n# expected: S9\n# run: echo S9: no; exit 1\n"+strings.Replace(diff, "-b", "-x", 1))
	if v := judge(tree, m); v.err == nil || v.caught != "" {
		t.Errorf("a patch that does not apply: %+v", v)
	}
	tree, m = plantIn(t, "# bug: b\n# expected: S9\n# run: echo 'FAIL rmd/x [build failed] S9'; exit 1\n"+diff)
	if v := judge(tree, m); v.err == nil || v.caught != "" {
		t.Errorf("a patch that does not compile: %+v", v)
	}
}

// TestChanges checks that every kind of change is found and made at the right place.
func TestChanges(t *testing.T) {
	tree := t.TempDir()
	src := "package p\n\nfunc f(a, b int) int {\n\tif a < b && b > 3 {\n\t\ta++\n\t}\n\tb = a + 1\n\treturn b\n}\n\nfunc String() { f(1, 2) }\n"
	if err := os.WriteFile(filepath.Join(tree, "p.go"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := changes(tree, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"condition negated":  "if !(a < b && b > 3) {",
		"< became <=":        "if a <= b && b > 3 {",
		"> became >=":        "if a < b && b >= 3 {",
		"statement dropped":  "{\n\t\t\n\t}",
		"assignment dropped": "\t}\n\t\n\treturn b",
		"1 became 2":         "b = a + 2",
	}
	if len(all) != len(want) {
		t.Errorf("%d changes, want %d: %v", len(all), len(want), all)
	}
	for _, c := range all {
		if text := string(c.applied([]byte(src))); !strings.Contains(text, want[c.what]) || want[c.what] == "" {
			t.Errorf("%s gives\n%s", c, text)
		}
	}
}

// TestJudging checks that judging returns the packages in the commands, and that those of the
// planted bugs exist.
func TestJudging(t *testing.T) {
	all := []mutant{{runs: []string{"A=1 go test -run T ./x", "go test ./y"}}, {runs: []string{"go test ./y"}}}
	if got := judging(all); !slices.Equal(got, []string{"./x", "./y"}) {
		t.Errorf("judging = %q, want [./x ./y]", got)
	}
	planted, err := load(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range judging(planted) {
		if info, err := os.Stat(filepath.Join("..", "..", dir)); err != nil || !info.IsDir() {
			t.Errorf("%s is no package: %v", dir, err)
		}
	}
}
