package twin

import (
	"fmt"
	"strings"
)

// Difference describes the first step after which the observations of the two schedulers differ.
type Difference struct {
	Step   int    // from 0
	After  string // kind of the step
	Rmd    []string
	Hadoop []string
}

// Compare returns the first difference between two lists of observations of a history; nil if there
// is none.
func Compare(h *History, rmd, hadoop []Observation) *Difference {
	for i := range h.Steps {
		var a, b Observation
		if i < len(rmd) {
			a = rmd[i]
		}
		if i < len(hadoop) {
			b = hadoop[i]
		}
		if d := differ(a, b); d != nil {
			d.Step, d.After = i, h.Steps[i][0]
			return d
		}
	}
	return nil
}

// differ returns the lines that only one of two observations has.
func differ(a, b Observation) *Difference {
	d := &Difference{Rmd: without(a, b), Hadoop: without(b, a)}
	if len(d.Rmd)+len(d.Hadoop) == 0 {
		return nil
	}
	return d
}

func without(a, b Observation) (out []string) {
	has := make(map[string]bool, len(b))
	for _, line := range b {
		has[line] = true
	}
	for _, line := range a {
		if !has[line] && !strings.HasPrefix(line, intendedMark) {
			out = append(out, line)
		}
	}
	return out
}

// kind returns what a shorter history must have in common: the kind of the step, and the first word
// of the lines that differ.
func (d *Difference) kind() string {
	kind := d.After
	for _, lines := range [][]string{d.Rmd, d.Hadoop} {
		for _, line := range lines[:min(len(lines), 1)] {
			word, _, _ := strings.Cut(line, " ")
			kind += " " + word
		}
	}
	return kind
}

// Report returns the history up to the difference, and the lines that differ.
func (d *Difference) Report(h *History) string {
	var b strings.Builder
	for i, s := range h.Steps[:min(d.Step+1, len(h.Steps))] {
		fmt.Fprintf(&b, "%s", s)
		if i == d.Step {
			b.WriteString("   # they differ after this step")
		}
		b.WriteByte('\n')
	}
	for _, line := range d.Rmd {
		fmt.Fprintf(&b, "# rmd    %s\n", line)
	}
	for _, line := range d.Hadoop {
		fmt.Fprintf(&b, "# Hadoop %s\n", line)
	}
	return b.String()
}
