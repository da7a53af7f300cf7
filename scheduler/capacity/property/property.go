// Package property has the properties of which a queue configuration consists, and the faults that
// are found in them. It knows no key but the prefix of the Capacity Scheduler's.
package property

import (
	"fmt"
	"slices"
	"strings"

	"rmd/internal/clip"
)

// Prefix is the prefix of the Capacity Scheduler's keys.
const Prefix = "yarn.scheduler.capacity."

// Property is a configuration key with its value as written. Origin is where it was read
// ("file:line"). It is only for display and may be empty.
type Property struct {
	Name, Value string
	Origin      string
}

// Fault is one problem of a configuration: the key, what is wrong with it, and how to correct it.
type Fault struct {
	Name, Value, Origin string
	What, Do            string
	YARN                string // YARN's message for the same fault; empty if unknown
	Effect              string // of a key that is not honored: harmless or visible to users
	Meant               string // the known key that an unknown key resembles; empty: none
	NoQueue             string // the queue of the key, if it does not exist
}

func (f Fault) String() string {
	var b strings.Builder
	if f.Origin != "" {
		b.WriteString(f.Origin + ": ")
	}
	if f.Name != "" {
		b.WriteString(f.Name)
		if f.Value != "" {
			fmt.Fprintf(&b, " = %q", clip.Text(f.Value))
		}
		b.WriteString(": ")
	}
	b.WriteString(f.What)
	if f.Do != "" {
		b.WriteString("; " + f.Do)
	}
	return b.String()
}

// Invalid is the error for a configuration that is not valid. It has all faults, not only the
// first.
type Invalid struct{ Faults []Fault }

// YARN returns YARN's message for the first fault. It is empty if any fault has none, since YARN
// might then report another fault.
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
