package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named is a path in a document, with a function in it: `leader/core.go: Core.Step`.
var named = regexp.MustCompile("`([a-z][a-zA-Z0-9_-]*/[a-zA-Z0-9_./-]*)(?:: ([A-Za-z.]+))?`")

// documents lead a reader from a change to files.
var documents = []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "cluster/DESIGN.md", "docs/design/adding-an-event.md"}

// TestDocumentsNameWhatExists: each path in these documents exists, and each function behind a
// path is in that file.
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

// document is the name of a Markdown file.
var document = regexp.MustCompile(`[A-Za-z0-9_./-]+\.md\b`)

// documentRule holds that a comment names only documents of this tree, by their path from the root
// or from the comment's folder.
func documentRule(t *tree) []finding {
	root := filepath.Join("..", "..")
	var out []finding
	for _, f := range t.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				for _, doc := range document.FindAllString(c.Text, -1) {
					if !exists(filepath.Join(root, doc)) && !exists(filepath.Join(root, f.dir(), doc)) {
						out = append(out, t.at(f, c.Pos(), "the document %s does not exist: write its path from the root, or say what it says", doc))
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
