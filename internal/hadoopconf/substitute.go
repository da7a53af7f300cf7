package hadoopconf

import (
	"fmt"
	"slices"
	"strings"
)

// maxSubstitutions is the maximum number of variables replaced in one value. Hadoop stops at 20.
// Values with many addresses need a few more.
const maxSubstitutions = 100

// substituteAll replaces ${…} in every value.
func (l *loader) substituteAll() {
	for _, p := range l.conf.Properties() {
		v, err := l.substitute(p)
		if err != nil {
			l.fault(p.File, p.Line, "%s: %v", p.Name, err)
			continue
		}
		p.Value = v
		l.conf.props[p.Name] = p
	}
}

// expansion is the substitution in one value.
type expansion struct {
	*loader
	left int // number of variables that may still be replaced
}

// substitute replaces the innermost variables first, so that ${a.${b}} works. An undefined
// variable, or one that refers to itself, remains as written, as in Hadoop.
func (l *loader) substitute(p Property) (string, error) {
	e := &expansion{loader: l, left: maxSubstitutions}
	return e.expand(p.Raw, []string{p.Name})
}

// expand replaces the variables of value. via is the chain of names that led to it.
func (e *expansion) expand(value string, via []string) (string, error) {
	for from := 0; ; {
		start, end := variable(value, from)
		if start < 0 {
			return value, nil
		}
		with, name, ok := e.lookup(value[start+2 : end])
		if !ok || slices.Contains(via, name) {
			from = end + 1
			continue
		}
		if e.left--; e.left < 0 {
			return "", fmt.Errorf("has more than %d ${…} to substitute", maxSubstitutions)
		}
		with, err := e.expand(with, append(slices.Clone(via), name))
		if err != nil {
			return "", err
		}
		value = value[:start] + with + value[end+1:]
		from = start + len(with)
		if len(value) > e.opt.MaxValueBytes {
			return "", fmt.Errorf("is longer than %d bytes after substitution", e.opt.MaxValueBytes)
		}
	}
}

// variable returns the position of an innermost ${name} whose closing brace is at or after from, or
// −1. Names contain no spaces.
func variable(s string, from int) (start, end int) {
	for i := from; i < len(s); i++ {
		if s[i] != '}' {
			continue
		}
		start := strings.LastIndex(s[:i], "${")
		if start < 0 || strings.ContainsAny(s[start+2:i], " \t\r\n}") || start+2 == i {
			continue
		}
		return start, i
	}
	return -1, -1
}

// lookup resolves the text between the braces: name, name:-default, or for the environment also
// env.NAME-default.
func (l *loader) lookup(expr string) (value, name string, ok bool) {
	name, def, hasDef := strings.Cut(expr, ":-")
	if env, is := strings.CutPrefix(name, "env."); is {
		if !hasDef {
			env, def, hasDef = strings.Cut(env, "-")
			name = "env." + env
		}
		if v, found := l.opt.Env(env); found && v != "" {
			return v, name, true
		}
		return def, name, hasDef
	}
	if p, found := l.conf.props[name]; found {
		return p.Raw, name, true
	}
	if variable, is := systemNames[name]; is {
		if v, found := l.opt.Env(variable); found {
			return v, name, true
		}
	}
	return def, name, hasDef
}

// systemNames are the system properties of Java that configurations use.
var systemNames = map[string]string{"user.name": "USER", "user.home": "HOME"}
