package tidy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// standard has private words of this project's authors, and the standard term of YARN, Raft or Go
// for each. The private words must not be used in code or text.
var standard = map[string]string{
	"amnesia":   "log rollback",
	"anew":      "again, or new",
	"census":    "summary",
	"door":      "forwarder, submitter or port",
	"doors":     "forwarders or ports",
	"estranged": "foreign cluster",
	"film":      "timeline",
	"foresee":   "explain a submission",
	"forgetful": "log rolled back",
	"office":    "leadership",
	"offices":   "leaderships",
	"outlaw":    "quarantined",
	"overtaken": "superseded",
	"predicate": "method or condition",
	"settle":    "complete, drain or deliver",
	"settles":   "completes or decides",
	"unpark":    "make runnable",
	"urge":      "request an election",
	"whoever":   "name who it is",
	"whys":      "causes",
}

// worded matches the names of the files to check.
var worded = regexp.MustCompile(`\.(go|md|html|js|sh|txt)$|Makefile$`)

// part matches one word of an identifier or a sentence.
var part = regexp.MustCompile(`[A-Z]{2,}(?:\b|_)|[A-Z]?[a-z]+|[A-Z]`)

// TestWords checks that no file uses a private word.
func TestWords(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch base := d.Name(); {
		case d.IsDir() && name != root && (base == "testdata" || base == "bin" || base == "out" ||
			strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case d.IsDir(), !worded.MatchString(base), base == "CHANGELOG.md", rel == "internal/tidy/words_test.go":
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files++
		for i, line := range strings.Split(string(src), "\n") {
			for _, w := range privateWords(line) {
				t.Errorf("%s:%d: %q: use the standard term: %s", rel, i+1, w, standard[w])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Fatalf("only %d files were read", files)
	}
}

// privateWords returns the private words in a line.
func privateWords(line string) []string {
	var out []string
	for _, w := range part.FindAllString(line, -1) {
		if w = strings.ToLower(strings.TrimSuffix(w, "_")); standard[w] != "" {
			out = append(out, w)
		}
	}
	return out
}

// TestPrivateWords checks that private words are found inside of identifiers and sentences, but not
// inside of other words.
func TestPrivateWords(t *testing.T) {
	for line, want := range map[string]string{
		"func (o *office) leaveOffice()":    "office office",
		"the front door of forwardDoor":     "door door",
		"outdoors, officer, filmed":         "",
		"RMD_DOOR_X, HTTPDoor, LikeANewOne": "door door",
	} {
		if got := strings.Join(privateWords(line), " "); got != want {
			t.Errorf("%q: found %q, want %q", line, got, want)
		}
	}
}
