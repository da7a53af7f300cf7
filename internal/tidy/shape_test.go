package tidy

import (
	"bytes"
	"go/ast"
	"go/token"
	"regexp"
)

// Limits of what is read at one go.
const (
	maxFileLines     = 500
	maxFunctionLines = 80
)

// shapeRule holds the sizes of files and functions.
func shapeRule(t *tree) []finding {
	var out []finding
	for _, f := range t.production() {
		if n := bytes.Count(f.src, []byte("\n")); n > maxFileLines {
			out = append(out, t.at(f, f.ast.Package, "the file has %d lines, at most %d are read at one go: cut it by its nouns", n, maxFileLines))
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				return true
			}
			if lines := t.lines(fn.Pos(), fn.End()); lines > maxFunctionLines {
				out = append(out, t.at(f, fn.Pos(), "%s has %d lines, at most %d fit on a screen: keep the branching and move pure steps into helpers", fn.Name.Name, lines, maxFunctionLines))
			}
			return true
		})
	}
	return out
}

func (t *tree) lines(from, to token.Pos) int {
	return t.fset.Position(to).Line - t.fset.Position(from).Line + 1
}

// packageRule holds that every package is introduced.
func packageRule(t *tree) []finding {
	introduced, first := map[string]bool{}, map[string]*file{}
	var order []string
	for _, f := range t.files {
		if f.test {
			continue
		}
		if first[f.dir()] == nil {
			first[f.dir()] = f
			order = append(order, f.dir())
		}
		if f.ast.Doc != nil && len(f.ast.Doc.Text()) > 20 {
			introduced[f.dir()] = true
		}
	}
	var out []finding
	for _, dir := range order {
		if !introduced[dir] {
			out = append(out, t.at(first[dir], first[dir].ast.Package, "package %s has no package comment: say in doc.go what it is for, what it holds and what it must not do", dir))
		}
	}
	return out
}

var laterWord = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)

// laterRule holds that nothing is put off in the sources.
func laterRule(t *tree) []finding {
	var out []finding
	for _, f := range t.production() {
		for i, line := range bytes.Split(f.src, []byte("\n")) {
			if w := laterWord.Find(line); w != nil {
				out = append(out, finding{f.path, i + 1, string(w) + ": do it, or write down in the documentation what is missing and why"})
			}
		}
	}
	return out
}
