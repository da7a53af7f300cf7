package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var root = filepath.Join("..", "..")

func TestParse(t *testing.T) {
	commit := strings.Repeat("0af1", 10)
	for text, want := range map[string]string{
		"1.0.0\n": "", "# a comment\n1.10.0\n1.9.0 " + commit + "\n1.0.0 " + commit + "\n": "",
		"":                                    "no version",
		"1.0\n":                               "is not a version",
		"1.01.0\n":                            "is not a version",
		"1.1.0\n1.0.0 0af1\n":                 "is not a version",
		"1.0.0 " + commit + "\n":              "the first version is of this tree",
		"1.1.0\n1.0.0\n":                      "the first version is of this tree",
		"1.9.0\n1.10.0 " + commit + "\n":      "the newest version is first",
		"1.0.0\n1.0.0 " + commit + "\n":       "the newest version is first",
		"1.0.0\n\n0.9.0 " + commit + "\n":     "is not a version",
		"1.0.0\n0.9.0 " + commit + " \n":      "is not a version",
		"1.0.0 " + commit + "\n0.9.0\n":       "the first version is of this tree",
		"1.0.0\n0.9.0  " + commit + "\n":      "is not a version",
		"1.0.0\n0.9.0 " + commit[1:] + "\n":   "is not a version",
		"v1.0.0\n":                            "is not a version",
		"1.0.0\n# released\n0.9.0 none yet\n": "is not a version",
	} {
		if _, err := parse(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%q): %v, want %q", text, err, want)
		}
	}
}

func TestNext(t *testing.T) {
	for v, want := range map[string]string{"1.0.0": "1.1.0", "1.9.3": "1.10.0"} {
		if got := Next(v); got != want || !Before(v, got) || Before(got, v) || Before(v, v) {
			t.Errorf("Next(%s) = %s, want %s, which is newer", v, got, want)
		}
	}
}

// TestReleasedCommits checks that each released commit is in the history of this tree, and was the
// version that it was released as: then its own file began with that version, without a commit.
// Upgrades are tested from these commits. The first version of the file needs no commit: it is not
// released yet, or by this very commit.
func TestReleasedCommits(t *testing.T) {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || shallow != "false" {
		t.Skipf("this tree has no history: %s", shallow)
	}
	for _, v := range All()[1:] {
		if out, err := git("merge-base", "--is-ancestor", v.Commit, "HEAD"); err != nil {
			t.Errorf("%s: commit %s is not in the history of this tree: %v %s", v.Number, v.Commit, err, out)
			continue
		}
		text, err := git("show", v.Commit+":internal/release/versions.txt")
		if err != nil {
			t.Errorf("%s: %v: %s", v.Number, err, text)
			continue
		}
		if then, err := parse(text + "\n"); err != nil || then[0].Number != v.Number {
			t.Errorf("%s: commit %s was version %+v: %v", v.Number, v.Commit, then, err)
		}
	}
}

// TestChangelog checks that the changes begin with the version of this tree, and have every
// released one.
func TestChangelog(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, m := range regexp.MustCompile(`(?m)^## (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		have = append(have, m[1])
	}
	var want []string
	for _, v := range All() {
		want = append(want, v.Number)
	}
	if strings.Join(have, " ") != strings.Join(want, " ") {
		t.Errorf("CHANGELOG.md has headings %q, want %q: one for each version, without more words", have, want)
	}
}
