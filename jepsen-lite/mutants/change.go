package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// change is one small edit of a source file.
type change struct {
	file     string // relative to the tree
	line     int
	from, to int // byte offsets
	text     string
	what     string
}

func (c change) String() string { return fmt.Sprintf("%s:%d: %s", c.file, c.line, c.what) }

// applied returns the source with the change.
func (c change) applied(src []byte) []byte {
	out := append([]byte(nil), src[:c.from]...)
	out = append(out, c.text...)
	return append(out, src[c.to:]...)
}

// changes returns every possible edit in the production sources of some folders, in order.
func changes(tree string, folders []string) ([]change, error) {
	var out []change
	for _, dir := range folders {
		files, err := filepath.Glob(filepath.Join(tree, dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			src, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			file, err := parser.ParseFile(set, f, src, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(tree, f)
			if err != nil {
				return nil, err
			}
			v := &visitor{set: set, file: rel, src: src, out: &out}
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !isText(fn.Name.Name) {
					ast.Inspect(fn.Body, v.visit)
				}
			}
		}
	}
	return out, nil
}

// isText reports whether a function only formats text, which no code depends on.
func isText(name string) bool { return name == "String" || name == "Error" || name == "tell" }

type visitor struct {
	set  *token.FileSet
	file string
	src  []byte
	out  *[]change
}

func (v *visitor) add(from, to token.Pos, text, format string, args ...any) {
	p := v.set.Position(from)
	*v.out = append(*v.out, change{file: v.file, line: p.Line, from: p.Offset, to: v.set.Position(to).Offset, text: text, what: fmt.Sprintf(format, args...)})
}

// visit finds conditions to negate, statements to drop, and bounds and numbers to change by one.
func (v *visitor) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		v.negate(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			v.bound(n.Cond)
		}
	case *ast.BlockStmt:
		for _, s := range n.List {
			v.drop(s)
		}
	case *ast.CaseClause:
		for _, s := range n.Body {
			v.drop(s)
		}
	case *ast.BinaryExpr:
		v.bound(n)
		v.number(n.Y, n.Op)
	}
	return true
}

func (v *visitor) negate(cond ast.Expr) {
	from, to := v.set.Position(cond.Pos()).Offset, v.set.Position(cond.End()).Offset
	v.add(cond.Pos(), cond.End(), "!("+string(v.src[from:to])+")", "condition negated")
}

// drop removes a statement that declares nothing.
func (v *visitor) drop(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.IncDecStmt:
		v.add(s.Pos(), s.End(), "", "statement dropped")
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			v.add(s.Pos(), s.End(), "", "assignment dropped")
		}
	}
}

// bound changes the bound of a comparison by one.
func (v *visitor) bound(e ast.Expr) {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return
	}
	other := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}[b.Op]
	if other == "" {
		return
	}
	v.add(b.OpPos, b.OpPos+token.Pos(len(b.Op.String())), other, "%s became %s", b.Op, other)
}

// number increments a number after plus or minus by one.
func (v *visitor) number(e ast.Expr, op token.Token) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.INT || (op != token.ADD && op != token.SUB) {
		return
	}
	n, err := strconv.Atoi(l.Value)
	if err != nil {
		return
	}
	v.add(l.Pos(), l.End(), strconv.Itoa(n+1), "%d became %d", n, n+1)
}
