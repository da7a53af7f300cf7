package tidy

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// stateFolder has the replicated state, and the packages of its parts below it.
const stateFolder = "fsm/state"

// writers are the methods of fsm/state/table that change a table. They are exported, because the
// packages of the state's parts use them.
var writers = map[string]bool{"Alloc": true, "Mut": true, "Place": true, "Release": true}

// writerRule requires that only the packages of the replicated state change its tables. Everyone else
// emits events.
func writerRule(t *tree) []finding {
	var out []finding
	for _, f := range t.production() {
		if f.dir() == stateFolder || below(f.dir(), stateFolder) || !importsState(f.ast) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if m, ok := call.Fun.(*ast.SelectorExpr); ok && writers[m.Sel.Name] {
				if _, ofField := m.X.(*ast.SelectorExpr); ofField {
					out = append(out, t.at(f, n.Pos(), "%s changes a table of the state: only events do that, so emit one",
						m.Sel.Name))
				}
			}
			return true
		})
	}
	return out
}

// importsState reports whether a source may have a state at hand.
func importsState(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(spec *ast.ImportSpec) bool {
		name, err := strconv.Unquote(spec.Path.Value)
		ours, _ := strings.CutPrefix(name, modulePath+"/")
		return err == nil && (ours == stateFolder || below(ours, stateFolder))
	})
}
