package twin

import (
	"fmt"
	"regexp"
	"slices"
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
		if h.inexact() {
			a, b = withoutNear(a, b), withoutNear(b, a)
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

// rounded matches the guarantee and the maximum of a queue.
var rounded = regexp.MustCompile(` (?:min|max)=([0-9,]+)`)

// withoutNear returns the lines of a, without those that are near to a line of b.
func withoutNear(a, b Observation) Observation {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool {
		return slices.ContainsFunc(b, func(other string) bool { return near(line, other) })
	})
}

// inexact reports whether a history has capacities that floats cannot represent.
func (h *History) inexact() bool {
	return slices.ContainsFunc(h.Steps, func(s Step) bool {
		return len(s) == 3 && s[0] == "set" && strings.HasSuffix(s[1], ".capacity") && slices.Contains(inexactTexts, s[2])
	})
}

// near reports whether two lines are equal except for guarantees and maxima that differ by 1. YARN
// computes them with floats.
func near(a, b string) bool {
	x, y := rounded.FindAllStringSubmatch(a, -1), rounded.FindAllStringSubmatch(b, -1)
	if len(x) == 0 || len(x) != len(y) || rounded.ReplaceAllString(a, "") != rounded.ReplaceAllString(b, "") {
		return false
	}
	for i := range x {
		n, m := size(x[i][1]), size(y[i][1])
		for k := range n {
			if max(n[k], m[k])-min(n[k], m[k]) > 1 {
				return false
			}
		}
	}
	return true
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
