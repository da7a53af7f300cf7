package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// stateFolder has the replicated state, and the packages of its parts below it.
const stateFolder = "fsm/state"

// tableFolder has the tables. Its functions change them, and so does the method mutator. They are
// exported, because the packages of the state's parts use them.
const tableFolder, mutator = "fsm/state/table", "Mut"

// tableReaders are the functions of tableFolder that change no table.
var tableReaders = []string{"List", "Mix", "Hash"}

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
			if m, ok := call.Fun.(*ast.SelectorExpr); ok && writesTable(m) {
				out = append(out, t.at(f, n.Pos(), "%s changes a table of the state: only events do that, so emit one",
					m.Sel.Name))
			}
			return true
		})
	}
	return out
}

// writesTable reports whether a call changes a table of the state.
func writesTable(call *ast.SelectorExpr) bool {
	if _, ofField := call.X.(*ast.SelectorExpr); ofField {
		return call.Sel.Name == mutator
	}
	of, ok := call.X.(*ast.Ident)
	return ok && of.Name == path.Base(tableFolder) && !slices.Contains(tableReaders, call.Sel.Name)
}

// importsState reports whether a source may have a state at hand.
func importsState(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(spec *ast.ImportSpec) bool {
		name, err := strconv.Unquote(spec.Path.Value)
		ours, _ := strings.CutPrefix(name, modulePath+"/")
		return err == nil && (ours == stateFolder || below(ours, stateFolder))
	})
}
