package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRows checks that the tables have the columns and the rows that the command writes, and that a
// row replaces only itself.
func TestRows(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("../..", document))
	if err != nil {
		t.Fatal(err)
	}
	head := "\n| Hadoop | tested on |"
	for _, c := range columns {
		head += " " + c.shows + " |"
	}
	if !strings.Contains(string(b), head+"\n") {
		t.Errorf("%s has no line %q", document, head)
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Dir(document), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(document, b, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, o := range others {
		if err := write(o.shows, []string{"yes"}); err != nil {
			t.Error(err)
		}
	}
	if err := write("3.5.0", []string{"yes", "**no**"}); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(now), " | yes | **no** |\n") ||
		strings.Count(string(now), "\n") != strings.Count(string(b), "\n") {
		t.Error("the row of 3.5.0 was not replaced alone")
	}
	if err := write("1.0.0", nil); err == nil || !strings.Contains(err.Error(), `no row "| 1.0.0 |"`) {
		t.Errorf("a version without a row: %v", err)
	}
}
