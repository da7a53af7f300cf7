package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// pureFolders are the deterministic packages: their results must be the same on every replica.
var pureFolders = []string{"yarn", "fsm/event", "fsm/state", "scheduler"}

func isPure(dir string) bool {
	for _, p := range pureFolders {
		if dir == p || ((p == "scheduler" || p == "fsm/state") && below(dir, p)) {
			return true
		}
	}
	return false
}

// pureImports are packages of the standard library that deterministic code must not import, with
// the replacement.
var pureImports = map[string]string{
	"math/rand":     "seed from an id or the log position instead of chance",
	"math/rand/v2":  "seed from an id or the log position instead of chance",
	"crypto/rand":   "let the edge draw it and hand it in",
	"os":            "let the edge read it and hand it in",
	"net":           "let the transport do it",
	"net/http":      "let the transport do it",
	"io/fs":         "let the edge read it and hand it in",
	"sync":          "one goroutine owns a state; fork it instead of locking it",
	"sync/atomic":   "one goroutine owns a state; fork it instead of sharing it",
	"runtime":       "decide by the state alone",
	"runtime/debug": "decide by the state alone",
	"log":           "return it as an event or an explanation",
	"log/slog":      "return it as an event or an explanation",
	"syscall":       "let the edge do it",
	"unsafe":        "write it in plain Go",
	"hash/maphash":  "its seed differs from process to process: use the state's own hash",
	"context":       "nothing here waits",
}

// clockNames are the functions of package time that use a clock.
var clockNames = map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true,
	"AfterFunc": true,
	"Tick":      true, "NewTimer": true, "NewTicker": true}

// floatNames are the types that may compute differently on different machines.
var floatNames = map[string]bool{"float32": true, "float64": true, "complex64": true, "complex128": true}

const harmless = "order is harmless:"

// pureRule requires that the production sources of pureFolders are deterministic.
func pureRule(t *tree) []finding {
	info := t.check()
	var out []finding
	for _, f := range t.production() {
		if isPure(f.dir()) {
			p := &purity{tree: t, file: f, info: info}
			p.imports()
			ast.Inspect(f.ast, p.node)
			out = append(out, p.found...)
		}
	}
	return out
}

type purity struct {
	tree  *tree
	file  *file
	info  *types.Info
	time  string // local name of package time
	maps  string // local name of package maps
	conv  string // local name of package strconv
	found []finding
}

func (p *purity) report(n ast.Node, format string, args ...any) {
	p.found = append(p.found, p.tree.at(p.file, n.Pos(), format, args...))
}

func (p *purity) imports() {
	for _, spec := range p.file.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if instead, ok := pureImports[name]; ok {
			p.report(spec, "the core must not use %s: %s", name, instead)
		}
		local := name[strings.LastIndexByte(name, '/')+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		switch name {
		case "time":
			p.time = local
		case "maps":
			p.maps = local
		case "strconv":
			p.conv = local
		}
	}
}

func (p *purity) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		p.report(n, "the core starts no goroutine: return what is to be done and let the edge do it")
	case *ast.ChanType:
		p.report(n, "the core has no channels: return events")
	case *ast.SelectStmt:
		p.report(n, "the core waits for nothing: what happened comes in as an input")
	case *ast.SendStmt:
		p.report(n, "the core sends nothing: return events")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			p.report(n, "the core waits for nothing: what happened comes in as an input")
		}
	case *ast.Ident:
		if floatNames[n.Name] {
			p.report(n, "%s rounds apart on different machines: use yarn.Fraction or shares of 2^32", n.Name)
		}
	case *ast.BasicLit:
		if (n.Kind == token.FLOAT || n.Kind == token.IMAG) && !p.whole(n) {
			p.report(n, "%s is a float: use yarn.Fraction or shares of 2^32", n.Value)
		}
	case *ast.SelectorExpr:
		p.selector(n)
	case *ast.RangeStmt:
		p.ranges(n)
	}
	return true
}

// whole reports whether a constant such as 1e3 is an integer. Constants are exact.
func (p *purity) whole(n *ast.BasicLit) bool {
	typ := p.info.TypeOf(n)
	if typ == nil {
		return false
	}
	basic, ok := typ.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}

func (p *purity) selector(n *ast.SelectorExpr) {
	x, ok := n.X.(*ast.Ident)
	if !ok {
		return
	}
	switch {
	case p.time != "" && x.Name == p.time && clockNames[n.Sel.Name]:
		p.report(n, "the core reads no clock: use the state's Meta.NowMillis or the input's time instead of time.%s",
			n.Sel.Name)
	case p.conv != "" && x.Name == p.conv && n.Sel.Name == "ParseFloat":
		p.report(n, "use yarn.ParseFraction instead of strconv.ParseFloat")
	case p.maps != "" && x.Name == p.maps && (n.Sel.Name == "Keys" || n.Sel.Name == "Values" || n.Sel.Name == "All"):
		if !p.excused(n) {
			p.report(n,
				"maps.%s gives an order that differs from run to run: range over a sorted slice, or say why the %s … on this line",
				n.Sel.Name, strings.TrimSuffix(harmless, ":"))
		}
	}
}

func (p *purity) ranges(n *ast.RangeStmt) {
	typ := p.info.TypeOf(n.X)
	if typ == nil {
		return
	}
	if _, ok := typ.Underlying().(*types.Map); ok && !p.excused(n) {
		p.report(n,
			"the order of a map differs from run to run: range over a sorted slice, or say on this line why \"// %s …\"",
			harmless)
	}
}

// excused reports whether a comment on the line or the line before says why the order does not
// matter, or that the result is sorted.
func (p *purity) excused(n ast.Node) bool {
	line := p.tree.fset.Position(n.Pos()).Line
	for _, group := range p.file.ast.Comments {
		for _, c := range group.List {
			at := p.tree.fset.Position(c.Pos()).Line
			_, why, ok := strings.Cut(strings.TrimSuffix(c.Text, "*/"), harmless)
			ok = (ok && strings.TrimSpace(why) != "") || strings.Contains(c.Text, "sorted below")
			if ok && (at == line || at == line-1) {
				return true
			}
		}
	}
	return false
}

// check determines the types of expressions in the deterministic packages. It treats outside
// packages as empty. Their expressions have no type then, but maps of this module are still
// recognized.
func (t *tree) check() *types.Info {
	c := &checker{tree: t, done: map[string]*types.Package{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
			Defs: map[*ast.Ident]types.Object{}}}
	for _, f := range t.production() {
		if isPure(f.dir()) {
			_, _ = c.Import(modulePath + "/" + f.dir())
		}
	}
	return c.info
}

type checker struct {
	tree *tree
	done map[string]*types.Package
	info *types.Info
}

// Import implements types.Importer.
func (c *checker) Import(name string) (*types.Package, error) {
	if p, ok := c.done[name]; ok {
		return p, nil
	}
	dir, ours := strings.CutPrefix(name, modulePath+"/")
	p := types.NewPackage(name, name[strings.LastIndexByte(name, '/')+1:])
	p.MarkComplete()
	c.done[name] = p
	if !ours {
		return p, nil
	}
	var files []*ast.File
	for _, f := range c.tree.files {
		if f.dir() == dir && !f.test {
			files = append(files, f.ast)
		}
	}
	conf := types.Config{Importer: c, Error: func(error) {}} // errors from empty packages do not matter
	if got, _ := conf.Check(name, c.tree.fset, files, c.info); got != nil {
		c.done[name] = got
		return got, nil
	}
	return p, nil
}
