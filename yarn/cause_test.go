package yarn

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestCauses checks the rows of all causes.
func TestCauses(t *testing.T) {
	checkCauses[CancelCause](t, 15)
	checkCauses[PreemptionCause](t, 7)
	checkCauses[WithdrawalCause](t, 7)
}

// checkCauses checks that the numbers of a kind have no gap, and that each has a sentence and a name
// of its own.
func checkCauses[C Cause](t *testing.T, least int) {
	t.Helper()
	all := Causes[C]()
	if len(all) < least {
		t.Errorf("only %d causes, want %d or more", len(all), least)
	}
	for i, c := range all {
		if int(c) != i+1 || c.Text() == "" || CauseNamed[C](c.String()) != c {
			t.Errorf("cause %d is at place %d, is named %q like %d, and means %q", c, i+1, c,
				CauseNamed[C](c.String()), c.Text())
		}
	}
	var n CauseCounts[C]
	n[1], n[2] = 4, 0
	if got := n.Named(); len(got) != 1 || got[C(1).String()] != 4 {
		t.Errorf("counts by name: %v", got)
	}
	if c := C(MaxCauses - 1 + 100); c.Known() || c.Text() != "" {
		t.Errorf("cause %d is known: %q", c, c.Text())
	}
}

// TestEveryCauseHasARow checks that no constant of a cause lacks its row.
func TestEveryCauseHasARow(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]int{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				if kind, ok := spec.Type.(*ast.Ident); ok {
					constants[kind.Name] += len(spec.Names)
				}
			}
			return true
		})
	}
	for kind, rows := range map[string]int{"CancelCause": len(Causes[CancelCause]()),
		"PreemptionCause": len(Causes[PreemptionCause]()), "WithdrawalCause": len(Causes[WithdrawalCause]())} {
		if constants[kind] != rows {
			t.Errorf("%d constants of %s, and %d rows", constants[kind], kind, rows)
		}
	}
}
