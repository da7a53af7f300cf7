package twin

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDifferencesAreListed checks that each imitation of the twin test, in its code or as a setting
// that its description names, and each difference in the table of quotas, is an intended difference that users can
// read about.
func TestDifferencesAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, name := range firstCells(t, "../docs/design/differences-from-yarn.md") {
		listed[name] = true
	}
	check := func(where, name string) {
		if !listed[name] {
			t.Errorf("%s: docs/design/differences-from-yarn.md has no row %q", where, name)
		}
	}
	settings := firstCells(t, "../docs/development/twin.md")
	for _, cell := range settings {
		for _, name := range strings.Split(cell, ", ") {
			check("docs/development/twin.md", name)
		}
	}
	for name, file := range imitations(t) {
		check(file, name)
	}
	for _, line := range strings.Split(read(t, quotaFile), "\n") {
		if cells := strings.Split(line, "\t"); len(cells) > 2 {
			name, _, _ := strings.Cut(cells[2], ": ")
			check(quotaFile, name)
		}
	}
	if len(listed) < 80 || len(settings) < 10 {
		t.Errorf("%d differences and %d settings are read; a table has changed its form", len(listed), len(settings))
	}
}

// firstCells returns the first cells of the tables of a document whose first column is "name".
func firstCells(t *testing.T, path string) (out []string) {
	in := false
	for _, line := range strings.Split(read(t, path), "\n") {
		cells := strings.Split(line, "|")
		switch {
		case len(cells) < 4:
			in = false
		case cells[1] == " name ":
			in = true
		case in && !strings.HasPrefix(cells[1], "---"):
			out = append(out, strings.TrimSpace(cells[1]))
		}
	}
	return out
}

// imitations returns the names by which the Java side reports its imitations, with their files.
func imitations(t *testing.T) map[string]string {
	names := map[string]string{}
	reports := regexp.MustCompile(`(?:intended(?:\.add|\.accept)?|cancel)\((?:empty \? )?"([^"]+)"(?: : "([^"]+)")?`)
	err := filepath.WalkDir("../interop/java", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(filepath.Base(path), "Twin") {
			return err
		}
		for _, m := range reports.FindAllStringSubmatch(read(t, path), -1) {
			for _, name := range m[1:] {
				if name != "" {
					names[name] = path
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 25 {
		t.Errorf("only %d imitations found", len(names))
	}
	return names
}

func read(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
