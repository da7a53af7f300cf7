package failpoint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestListener(t *testing.T) {
	Hit(BatchClosed) // without a listener
	var heard []Name
	Set(func(n Name) { heard = append(heard, n) })
	defer Set(nil)
	Hit(BatchClosed)
	Hit(EntryApplied)
	if !slices.Equal(heard, []Name{BatchClosed, EntryApplied}) {
		t.Errorf("heard %v", heard)
	}
	Set(nil)
	Hit(BatchClosed)
	if len(heard) != 2 {
		t.Errorf("heard %v after the listener left", heard)
	}
}

// TestNames checks that each name is in the list and used by at least one place, and that every
// place uses a name of the list.
func TestNames(t *testing.T) {
	consts, listed, used := map[string]bool{}, len(All()), map[string]bool{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		own := f.Name.Name == "failpoint" && filepath.Base(path) == "names.go"
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for _, id := range n.Names {
					if own {
						consts[id.Name] = true
					}
				}
			case *ast.CallExpr:
				fn, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || fn.Sel.Name != "Hit" || len(n.Args) != 1 {
					return true
				}
				if pkg, ok := fn.X.(*ast.Ident); ok && pkg.Name == "failpoint" {
					if name, ok := n.Args[0].(*ast.SelectorExpr); ok {
						used[name.Sel.Name] = true
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(consts) != listed {
		t.Errorf("%d names, %d are listed", len(consts), listed)
	}
	for n := range consts {
		if !used[n] {
			t.Errorf("%s has no place", n)
		}
	}
	seen := map[Name]bool{}
	for _, n := range All() {
		if seen[n] {
			t.Errorf("%s is listed twice", n)
		}
		seen[n] = true
	}
}

// BenchmarkHit measures Hit without a listener. The difference between a hundred calls and an empty
// loop shows the cost of one: about a nanosecond.
func BenchmarkHit(b *testing.B) {
	b.Run("hit", func(b *testing.B) {
		for b.Loop() {
			for range 100 {
				Hit(BatchClosed)
			}
		}
	})
	b.Run("nothing", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for range 100 {
				n++
			}
		}
	})
}
