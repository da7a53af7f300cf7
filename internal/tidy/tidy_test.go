package tidy

import (
	"bufio"
	"bytes"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rules are all rules by the name of their folder in testdata.
var rules = map[string]func(*tree) []finding{
	"imports": importRule,
	"pure":    pureRule,
	"package": packageRule,
	"later":   laterRule,

	"background": backgroundRule,

	"document": documentRule,

	"writers": writerRule,
}

// TestTree checks the whole module with every rule.
func TestTree(t *testing.T) {
	tree := loadModule(t)
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, f := range rule(tree) {
				t.Error(f)
			}
		})
	}
}

// TestRulesFindFault runs each rule on its sources in testdata. The first line of a source is the
// path that it pretends to have. "// want" marks a line with a part of the expected finding. There
// must be no other findings.
func TestRulesFindFault(t *testing.T) {
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			made, want := loadSamples(t, filepath.Join("testdata", name))
			got := map[string]string{}
			for _, f := range rule(made) {
				got[fmt.Sprintf("%s:%d", f.path, f.line)] += f.what + "\n"
			}
			for at, w := range want {
				if !strings.Contains(got[at], w) {
					t.Errorf("%s: said %q, want something with %q", at, got[at], w)
				}
				delete(got, at)
			}
			for at, what := range got {
				t.Errorf("%s: said %q, want nothing", at, what)
			}
			if len(want) == 0 {
				t.Error("no source in testdata shows that the rule finds anything")
			}
		})
	}
}

func loadSamples(t *testing.T, dir string) (*tree, map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	slices.Sort(files)
	made, want := &tree{fset: token.NewFileSet()}, map[string]string{}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := bytes.Cut(src, []byte("\n"))
		as, ok := strings.CutPrefix(string(head), "//as: ")
		if !ok {
			t.Fatalf("%s does not begin with //as: and a path", name)
		}
		if err := made.add(as, src); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(src))
		for n := 1; lines.Scan(); n++ {
			if _, w, ok := strings.Cut(lines.Text(), "// want "); ok {
				want[fmt.Sprintf("%s:%d", as, n)] = strings.TrimSpace(w)
			}
		}
	}
	return made, want
}

// TestPackageTableEntries checks that every package in the table has an entry of its own.
func TestPackageTableEntries(t *testing.T) {
	for dir, p := range places {
		if p.why == "" {
			t.Errorf("%s does not say why", dir)
		}
		for _, o := range p.ours {
			if o == "..." {
				continue
			}
			if _, ok := placeOf(strings.TrimSuffix(o, "/...")); !ok {
				t.Errorf("%s may import %s, which has no place", dir, o)
			}
		}
	}
}
