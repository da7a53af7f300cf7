package planner

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDifferencesHaveTests checks that every intended difference from YARN names a test or existing
// scenarios.
func TestDifferencesHaveTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/design/differences-from-yarn.md")
	if err != nil {
		t.Fatal(err)
	}
	name, rows := regexp.MustCompile("`([0-9a-z_]+)`"), 0
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || cells[1] == " name " || strings.HasPrefix(cells[1], "---") {
			continue
		}
		rows++
		held := cells[5]
		if strings.Contains(held, "go test") {
			continue
		}
		scenarios := name.FindAllStringSubmatch(held, -1)
		if len(scenarios) == 0 {
			t.Errorf("%s names no scenario", cells[1])
		}
		for _, s := range scenarios {
			if _, err := os.Stat("testdata/" + s[1] + ".txt"); err != nil {
				t.Errorf("%s names a scenario without a file: %v", cells[1], err)
			}
		}
	}
	if rows < 15 {
		t.Errorf("%d differences are read; the table has changed its form", rows)
	}
}
