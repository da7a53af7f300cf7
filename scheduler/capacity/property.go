package capacity

import (
	"fmt"
	"slices"
	"strings"
)

// Property is one configuration key with its value as written. Origin says
// where it was read ("file:line"); it is for display only and may be empty.
type Property struct {
	Name, Value string
	Origin      string
}

// Fault is one thing wrong with a configuration: the key, what is wrong with
// it, and what to do about it.
type Fault struct {
	Name, Value, Origin string
	What, Do            string
	YARN                string // what YARN says of it; empty: something else
}

func (f Fault) String() string {
	var b strings.Builder
	if f.Origin != "" {
		b.WriteString(f.Origin + ": ")
	}
	if f.Name != "" {
		b.WriteString(f.Name)
		if f.Value != "" {
			fmt.Fprintf(&b, " = %q", clip(f.Value))
		}
		b.WriteString(": ")
	}
	b.WriteString(f.What)
	if f.Do != "" {
		b.WriteString("; " + f.Do)
	}
	return b.String()
}

// Invalid is the error of a refused configuration. It carries every fault that
// was found, not only the first.
type Invalid struct{ Faults []Fault }

// YARN is what YARN says of the first fault; empty if it says something else, of that one or of others.
func (e *Invalid) YARN() string {
	if slices.ContainsFunc(e.Faults, func(f Fault) bool { return f.YARN == "" }) {
		return ""
	}
	return e.Faults[0].YARN
}

func (e *Invalid) Error() string {
	lines := make([]string, 0, len(e.Faults)+1)
	if len(e.Faults) == 1 {
		return "invalid queue configuration: " + e.Faults[0].String()
	}
	lines = append(lines, fmt.Sprintf("invalid queue configuration: %d faults", len(e.Faults)))
	for _, f := range e.Faults {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}

// clip shortens a value for an error text.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
