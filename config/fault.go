package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rmd/internal/boolint"
)

// Origin says where a value comes from.
type Origin struct {
	Kind         string // default, file, environment, flag, hadoop
	Name         string // of the file, variable or flag
	Line, Column int    // in the file; 0 if unknown
}

func (o Origin) String() string {
	switch {
	case o.Kind == "default" || o.Kind == "":
		return "default"
	case o.Line > 0 && o.Column > 0:
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	case o.Line > 0:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	}
	return o.Kind + " " + o.Name
}

// Fault is one fault of a configuration.
type Fault struct {
	At      Origin
	What    string
	Do      string
	Unknown bool // the key is unknown
}

func (f Fault) String() string {
	s := f.What
	if f.At.Kind != "" && f.At.Kind != "default" {
		s = f.At.String() + ": " + s
	}
	if f.Do != "" {
		s += "; " + f.Do
	}
	return s
}

// Invalid is the error of a configuration. It lists all faults.
type Invalid struct{ Faults []Fault }

func (e *Invalid) Error() string {
	return "invalid configuration: " + strings.Join(e.Lines(), "; ")
}

// Lines returns the faults as text, sorted by file, line and column. Unknown keys come first: a
// misspelled key may be the reason of other faults, such as a value that is missing.
func (e *Invalid) Lines() []string {
	faults := slices.Clone(e.Faults)
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(boolint.Of[int](b.Unknown)-boolint.Of[int](a.Unknown), strings.Compare(a.At.Name, b.At.Name),
			a.At.Line-b.At.Line, a.At.Column-b.At.Column)
	})
	out := make([]string, len(faults))
	for i, f := range faults {
		out[i] = f.String()
	}
	return out
}
