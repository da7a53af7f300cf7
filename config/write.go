package config

import (
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
)

// Print writes every key with its value and origin, as YAML that can be loaded again.
func Print(w io.Writer, l *Loaded) error {
	c := l.Config
	return writeTree(w, settings(&c), func(s setting) (string, string) {
		return s.value.String(), l.Origins[s.path].String()
	}, nil)
}

// Shown is one key with its value in force.
type Shown struct {
	Path, Value string
	About       string // one line
	Origin      string // where it came from
}

// Effective lists every key with its value in force. If origins is nil, values that differ from the
// defaults were set by the program, as in tests.
func Effective(c Config, origins map[string]Origin) []Shown {
	first := Default()
	defaults := settings(&first)
	var out []Shown
	for i, s := range settings(&c) {
		d := Shown{Path: s.path, Value: s.value.String(), About: s.about, Origin: origins[s.path].String()}
		if origins == nil && d.Value != defaults[i].value.String() {
			d.Origin = "this program"
		}
		out = append(out, d)
	}
	return out
}

// Sample writes a commented configuration file. The keys in set have values. The other keys are
// commented out, with their defaults.
func Sample(w io.Writer, set map[string]string) error {
	c := Default()
	all := settings(&c)
	for _, s := range all {
		if v, ok := set[s.path]; ok {
			if err := s.value.Set(v); err != nil {
				return fmt.Errorf("%s: %w", s.path, err)
			}
		}
	}
	fmt.Fprint(w,
		"# Configuration of an rmd replica. A key after '#' has\n# its default value; remove the '#' to set it.\n"+
			"# \"rmd server --print-config\" shows each value in force and its origin.\n")
	return writeTree(w, all, func(s setting) (string, string) { return s.value.String(), "" },
		func(s setting) (about string, comment bool) {
			_, given := set[s.path]
			return s.about, !given
		})
}

// writeTree writes keys in sections. show returns the value and a trailing note. tell, which may be
// nil, returns the comment line above and whether the key is commented out.
func writeTree(w io.Writer, all []setting, show func(setting) (string, string),
	tell func(setting) (string, bool)) error {
	section := ""
	for _, s := range all {
		head, name, nested := strings.Cut(s.path, ".")
		indent := "  "
		if !nested {
			indent, name, head = "", s.path, ""
		}
		if head != section {
			section = head
			if head != "" {
				fmt.Fprintf(w, "\n%s:\n", head)
			}
		}
		value, note := show(s)
		about, off := "", false
		if tell != nil {
			about, off = tell(s)
		}
		mark := ""
		if off {
			mark = "#"
		}
		if about != "" {
			fmt.Fprintf(w, "%s# %s\n", indent, about)
		}
		if note != "" {
			note = "   # " + note
		}
		text, err := quote(value, s)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s%s: %s%s\n", indent, mark, name, text, note); err != nil {
			return err
		}
	}
	return nil
}

// quote formats a value so that YAML parses it to the same value.
func quote(v string, s setting) (string, error) {
	if _, ok := s.value.(list); ok {
		if v == "" {
			return "[]", nil
		}
		parts := strings.Split(v, ",")
		for i, p := range parts {
			parts[i] = fmt.Sprintf("%q", p)
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	switch s.value.(type) {
	case text, path:
	default:
		return v, nil
	}
	b, err := yaml.Marshal(v)
	return strings.TrimSpace(string(b)), err
}
