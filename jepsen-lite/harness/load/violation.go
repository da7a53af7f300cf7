package load

import "fmt"

// Violation is an answer that is wrong without regard to the rest of the history.
type Violation struct {
	Invariant string // for instance S5
	What      string
}

func (l *Load) violate(invariant, format string, args ...any) {
	v := Violation{invariant, fmt.Sprintf(format, args...)}
	l.note("VIOLATION %s: %s", v.Invariant, v.What)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violations = append(l.violations, v)
}

// Violations returns the violations so far.
func (l *Load) Violations() []Violation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Violation(nil), l.violations...)
}
