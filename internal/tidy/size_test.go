package tidy

import (
	"bytes"
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// The limits of size. A reader holds a file, a package or a type of more than this in his head no
// longer.
const (
	maxFileLines    = 500
	maxPackageLines = 4500
	maxMethods      = 80
)

// sizes are the lines of files and packages, and the methods of types.
type sizes struct{ files, packages, methods map[string]int }

func (t *tree) sizes() sizes {
	s := sizes{map[string]int{}, map[string]int{}, map[string]int{}}
	for _, f := range t.production() {
		lines := bytes.Count(f.src, []byte("\n"))
		s.files[f.path] = lines
		s.packages[f.dir()] += lines
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				s.methods[f.dir()+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	return s
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// TestSizes checks that nothing exceeds the limits of size.
func TestSizes(t *testing.T) {
	s := loadModule(t).sizes()
	for _, c := range []struct {
		what  string
		found map[string]int
		limit int
	}{{"lines", s.files, maxFileLines}, {"lines", s.packages, maxPackageLines}, {"methods", s.methods, maxMethods}} {
		for _, name := range slices.Sorted(maps.Keys(c.found)) {
			if n := c.found[name]; n > c.limit {
				t.Errorf("%s has %d %s, and at most %d are allowed: divide it", name, n, c.what, c.limit)
			}
		}
	}
}
