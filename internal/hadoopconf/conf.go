package hadoopconf

import (
	"fmt"
	"slices"
	"strings"
)

// Property is one key after layering and substitution.
type Property struct {
	Name  string
	Value string // after the substitution of ${…} where possible
	Raw   string // as written
	Final bool   // later files may not change it
	File  string
	Line  int // line where the property begins
}

// Origin returns the place of the property as "file:line", or "" if it has none.
func (p Property) Origin() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Config is a set of properties. It is immutable.
type Config struct {
	props    map[string]Property
	files    []string
	warnings []Fault
}

// Get returns a property by name.
func (c *Config) Get(name string) (Property, bool) {
	p, ok := c.props[name]
	return p, ok
}

// Value returns the trimmed value of a property, or def if it is absent or blank.
func (c *Config) Value(name, def string) string {
	if v := strings.TrimSpace(c.props[name].Value); v != "" {
		return v
	}
	return def
}

// Properties returns all properties, sorted by name.
func (c *Config) Properties() []Property {
	out := make([]Property, 0, len(c.props))
	for _, p := range c.props { // sorted below
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Files returns the files that were read, in order, with included files.
func (c *Config) Files() []string { return slices.Clone(c.files) }

// Warnings returns faults that do not prevent the use of the files, such as a change of a final
// key.
func (c *Config) Warnings() []Fault { return slices.Clone(c.warnings) }

// Fault is one fault of a file.
type Fault struct {
	File string
	Line int // 0: the whole file
	What string
}

func (f Fault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.What
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What)
}

// Error is the error of files with faults. It has all faults.
type Error struct{ Faults []Fault }

func (e *Error) Error() string {
	if len(e.Faults) == 1 {
		return "read hadoop configuration: " + e.Faults[0].String()
	}
	lines := []string{fmt.Sprintf("read hadoop configuration: %d faults", len(e.Faults))}
	for _, f := range e.Faults {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}
