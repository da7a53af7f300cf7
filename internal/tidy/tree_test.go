package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// modulePath is the name of this module.
const modulePath = "rmd"

// file is one Go source.
type file struct {
	path      string // from the module's root, with slashes
	src       []byte
	ast       *ast.File
	test      bool
	generated bool
}

// dir returns the folder of the file, which is the import path of its package without the module.
func (f *file) dir() string { return path.Dir(f.path) }

// tree is the whole module, or the sample sources of a rule's test.
type tree struct {
	fset  *token.FileSet
	files []*file
}

// finding is one violation of a rule.
type finding struct {
	path string
	line int
	what string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.path, f.line, f.what) }

func (t *tree) at(f *file, pos token.Pos, format string, args ...any) finding {
	return finding{f.path, t.fset.Position(pos).Line, fmt.Sprintf(format, args...)}
}

func (t *tree) add(name string, src []byte) error {
	a, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, &file{path: name, src: src, ast: a,
		test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(a)})
	return nil
}

// production returns the files that are neither tests nor generated.
func (t *tree) production() []*file {
	var out []*file
	for _, f := range t.files {
		if !f.test && !f.generated {
			out = append(out, f)
		}
	}
	return out
}

// loadModule reads all Go sources of the module.
func loadModule(tb testing.TB) *tree {
	tb.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		tb.Fatalf("the module's root is not at %s: %v", root, err)
	}
	t := &tree{fset: token.NewFileSet()}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (base == "testdata" || base == "vendor" || base == "node_modules" ||
				strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return t.add(filepath.ToSlash(rel), src)
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(t.files) < 20 {
		tb.Fatalf("only %d sources were found below %s", len(t.files), root)
	}
	return t
}

// below reports whether dir is root or below it.
func below(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }
