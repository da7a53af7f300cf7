package guides

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	const text = "# A guide\n" +
		"```\nrm1# not run\n```\n" +
		"```console\n" +
		"rm1# cat > f <<'EOF'\na: 1\nEOF\n" +
		"rm*# rmd \\\n  version\n" +
		"rmd 1.0.0\n…\n" +
		"admin$ true\n" +
		"```\n"
	got, err := Steps(text)
	want := []Step{
		{Line: 6, Machine: "rm1", Command: "cat > f <<'EOF'\na: 1\nEOF"},
		{Line: 9, Machine: "rm*", Command: "rmd \\\n  version", Shown: []string{"rmd 1.0.0", "…"}},
		{Line: 13, Machine: "admin", Command: "true"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, got, want)
	}
	for _, bad := range []string{"```console\nrmd version\n```\n", "```console\nrm1# true\n",
		"```console\nrm1# cat <<'EOF'\n```\n"} {
		if got, err := Steps(bad); err == nil {
			t.Errorf("%q has the steps %+v", bad, got)
		}
	}
}

func TestAgrees(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		agree          bool
	}{
		{"", "", true},
		{"", "surprise", false},
		{"…", "", true},
		{"…\nb\n…", "a\nb", true},
		{"…\nb\n…", "a\nc", false},
		{"a", "a\nb", false},
		{"applied 18 digest f191…9a equal", "applied 1,042   digest 03ab…77 equal", true},
		{"applied 18 digest f191…9a equal", "applied 18 digest f191…9a DIFFERS", false},
		{"healthy leader rm1 (term 2, 21s)", "healthy leader rm3 (term 4)", true},
		{"healthy leader rm1 (term 2)", "degraded leader rm1 (term 2)", false},
		{"rm1  10.0.0.11:8034  leader  yes  4  0  -  1.0.0  3",
			"rm1  10.0.0.11:8034  follower  yes  10  1  8ms  1.0.0  3", true},
		{"before.snap: index 6, 1 KiB", "before.snap: index 12, 929 B", true},
		{"listens on: …, done", "listens on: 8034, 8088, done", true},
		{"listens on: …", "listens on:\n8034", false},
		{"leader rm1 (term 2, 1m2s)   can lose 1\napplied 6\nID", "leader rm1 (term 2, 1m03s)\ncan lose 1   applied 6\nID", true},
		{"can lose 1\napplied 6", "can lose 1 applied 6 more", false},
	} {
		if got := Agrees(textLines(c.shown), textLines(c.printed)); got != c.agree {
			t.Errorf("the guide shows %q, the command printed %q: agree is %v", c.shown, c.printed, got)
		}
	}
}

// TestStepHolds checks that a failed command does not agree with a guide, unless the guide shows
// the error.
func TestStepHolds(t *testing.T) {
	quiet, refused := Step{}, Step{Shown: []string{"rmd: NO_LEADER: no replica leads now"}}
	if !quiet.holds("", 0) || quiet.holds("", 1) {
		t.Error("a command that prints nothing must succeed")
	}
	if !refused.holds("rmd: NO_LEADER: no replica leads now", 5) ||
		refused.holds("rmd: NO_LEADER: no replica leads now", 0) {
		t.Error("a command whose error is shown must fail")
	}
}

// TestSections checks that the sections of a guide have all its commands.
func TestSections(t *testing.T) {
	const command = "```console\nrm1# true\n```\n"
	got, err := Sections("# A guide\n" + command + "## One\n" + command + "### Below\n" + command + "## Two\n" + command)
	if err != nil || len(got) != 3 || len(got[0].Steps) != 1 || got[1].Name != "One" || len(got[1].Steps) != 2 ||
		got[2].Name != "Two" || got[2].Steps[0].Line != 15 {
		t.Errorf("%v\n%+v", err, got)
	}
}

// TestGuides checks that the guides can be parsed.
func TestGuides(t *testing.T) {
	for _, name := range []string{"quickstart.md", "upgrade.md", "day-two.md", "migration.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations", name))
		if err != nil {
			t.Fatal(err)
		}
		steps, err := Steps(string(text))
		if err != nil || len(steps) < 5 {
			t.Errorf("%s has %d commands: %v", name, len(steps), err)
		}
		for _, s := range steps {
			for _, line := range append(strings.Split(s.Command, "\n"), s.Shown...) {
				if len([]rune(line)) > 125 {
					t.Errorf("%s, at line %d: %q is too long", name, s.Line, line)
				}
			}
		}
	}
}
