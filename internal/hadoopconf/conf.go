package hadoopconf

import (
	"fmt"
	"slices"
	"strings"
)

// Property is one key as it holds after layering and substitution.
type Property struct {
	Name  string
	Value string // with ${…} substituted, where it could be
	Raw   string // as written
	Final bool   // later files may not change it
	File  string
	Line  int // of the property's start
}

// Origin is the property's place as "file:line", or "" when it has none.
func (p Property) Origin() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Config is a set of properties. It is not changed after it was read.
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

// Value returns the value of a property, trimmed, or def when it is absent or
// blank.
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

// Files returns the files that were read, includes too, in order of reading.
func (c *Config) Files() []string { return slices.Clone(c.files) }

// Warnings returns what is odd but usable, such as a change of a final key.
func (c *Config) Warnings() []Fault { return slices.Clone(c.warnings) }

// Fault is one thing wrong with a file.
type Fault struct {
	File string
	Line int // 0: the file as a whole
	What string
}

func (f Fault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.What
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What)
}

// Error is the error of files that could not be read. It carries every fault.
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
