package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// shown matches a command in the track record: its packages, and the tests that it runs.
	shown = regexp.MustCompile("`[^`]*go test ([^`]*)-run (?:'([^']*)'|\"([^\"]*)\"|([^` ]+))[^`]*`")
	// tested matches a test function.
	tested = regexp.MustCompile(`(?m)^func (Test\w*)\(`)
)

// TestTrackRecordNamesTests checks that each test in the track record exists in a package of the
// same command. "go test -run" reports no error if it finds no test.
func TestTrackRecordNamesTests(t *testing.T) {
	namesTests(t, filepath.Join("jepsen-lite", "track-record.md"), 100)
}

// TestDifferencesNameTests checks the same for the differences from YARN.
func TestDifferencesNameTests(t *testing.T) {
	namesTests(t, filepath.Join("docs", "design", "differences-from-yarn.md"), 30)
}

func namesTests(t *testing.T, document string, least int) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
		for _, name := range strings.Split(m[2]+m[3]+m[4], `\|`) {
			found++
			if !hasTest(t, root, strings.Fields(m[1]), name) {
				t.Errorf("%s: %s runs no test %q", document, m[0], name)
			}
		}
	}
	if found < least {
		t.Errorf("only %d tests found in %s", found, document)
	}
}

// hasTest reports whether one of the packages has a test whose name contains name. For TestX/file,
// the package's testdata must also have such a file.
func hasTest(t *testing.T, root string, packages []string, name string) bool {
	t.Helper()
	name, sub, _ := strings.Cut(name, "/")
	for _, p := range packages {
		folder, ok := strings.CutPrefix(p, "./")
		if !ok {
			continue // a flag
		}
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		data, err := filepath.Glob(filepath.Join(root, folder, "testdata", "*"+sub+"*"))
		if err != nil {
			t.Fatal(err)
		}
		if sub != "" && len(data) == 0 {
			continue
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range tested.FindAllStringSubmatch(string(src), -1) {
				if strings.Contains(f[1], name) {
					return true
				}
			}
		}
	}
	return false
}
