package tidy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named matches a path in a document, optionally with a function: `leader/core.go: Core.Step`.
var named = regexp.MustCompile("`([a-z][a-zA-Z0-9_-]*/[a-zA-Z0-9_./-]*)(?:: ([A-Za-z.]+))?`")

// documents are the documents that lead a developer to files.
var documents = []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "cluster/DESIGN.md",
	"docs/design/adding-an-event.md", "docs/development/changes.md"}

// TestDocumentsNameWhatExists checks that each path in these documents exists, and that the
// function after a path is in that file.
func TestDocumentsNameWhatExists(t *testing.T) {
	root := filepath.Join("..", "..")
	found := 0
	for _, name := range documents {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			file, symbol := m[1], m[2][strings.LastIndexByte(m[2], '.')+1:]
			if first, _, _ := strings.Cut(file, "/"); !exists(filepath.Join(root, first)) || strings.Contains(file, "...") {
				continue // not a path of this tree
			}
			found++
			if !exists(filepath.Join(root, file)) {
				t.Errorf("%s names %s, which does not exist", name, file)
				continue
			}
			if symbol == "" || !strings.HasSuffix(file, ".go") {
				continue
			}
			src, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(`\b` + symbol + `\b`).Match(src) {
				t.Errorf("%s names %s in %s, which does not have it", name, symbol, file)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d places found in the documents", found)
	}
}

// link matches a Markdown link to a file of this tree, a heading, or both.
var link = regexp.MustCompile(`\]\(([^):#\s]*)(?:#([^)\s]+))?\)`)

// TestLinks checks that each link in a document leads to an existing file and heading.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	found := 0
	for _, name := range markdown(t, root) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			found++
			target := name
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(name), m[1])
			}
			if !exists(target) {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			} else if m[2] != "" && !slices.Contains(anchors(t, target), m[2]) {
				t.Errorf("%s links to %s#%s, a heading that does not exist", name, m[1], m[2])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d links found in the documents", found)
	}
}

// markdown returns the documents of this tree.
func markdown(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != root && (base == "testdata" || base == "bin" || base == "out" ||
			strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case strings.HasSuffix(base, ".md"):
			out = append(out, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var (
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`) // characters that are not in anchors
)

// anchors returns the anchors of the headings of a document.
func anchors(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		out = append(out, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}

// document matches the name of a Markdown file.
var document = regexp.MustCompile(`[A-Za-z0-9_./-]+\.md\b`)

// documentRule requires that comments name only documents of this tree, by their path from the root
// or from the comment's folder.
func documentRule(t *tree) []finding {
	root := filepath.Join("..", "..")
	var out []finding
	for _, f := range t.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				for _, doc := range document.FindAllString(c.Text, -1) {
					if !exists(filepath.Join(root, doc)) && !exists(filepath.Join(root, f.dir(), doc)) {
						out = append(out,
							t.at(f, c.Pos(), "the document %s does not exist: write its path from the root, or say what it says", doc))
					}
				}
			}
		}
	}
	return out
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
