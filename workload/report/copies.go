package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// column is a compared value of runs of type R. If a run does not have the value, it is NaN.
type column[R any] struct {
	head, name string
	of         func(*R) float64
	text       func(float64) string
}

func duration(v float64) string { return Duration(int64(v + 0.5)) }
func whole(v float64) string    { return fmt.Sprintf("%.0f", v) }

// Spread is the mean of a value over copies, and its standard deviation.
type Spread struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

// SpreadOf returns the mean and the standard deviation of values. The deviation of one value is 0.
func SpreadOf(values []float64) (s Spread) {
	for _, v := range values {
		s.Mean += v / float64(len(values))
	}
	for _, v := range values {
		s.Deviation += (v - s.Mean) * (v - s.Mean) / float64(max(len(values)-1, 1))
	}
	s.Deviation = math.Sqrt(s.Deviation)
	return s
}

func (c *column[R]) spread(copies []R) Spread {
	var values []float64
	for i := range copies {
		values = append(values, c.of(&copies[i]))
	}
	return SpreadOf(values)
}

// figures returns the spreads of the columns by name, without those that a copy does not have.
func figures[R any](copies []R, columns []column[R]) map[string]Spread {
	out := map[string]Spread{}
	for _, c := range columns {
		if s := c.spread(copies); !math.IsNaN(s.Mean) {
			out[c.name] = s
		}
	}
	return out
}

// writeColumns writes a heading, and one line for each setting: the mean of each column over the
// setting's copies and, with more than one copy, its standard deviation.
func writeColumns[S, R any](b *strings.Builder, settings []S, columns []column[R],
	of func(S) (name string, copies []R)) {
	heads := []string{""}
	for _, c := range columns {
		heads = append(heads, c.head)
	}
	lines := [][]string{heads}
	for _, x := range settings {
		name, copies := of(x)
		line := []string{name}
		for _, c := range columns {
			line = append(line, c.cell(copies))
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(heads))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, line := range lines {
		text := ""
		for i := range line {
			text += fmt.Sprintf("%-*s", widths[i]+2, line[i])
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

func (c *column[R]) cell(copies []R) string {
	s := c.spread(copies)
	if math.IsNaN(s.Mean) {
		return "-"
	}
	text := c.text(s.Mean)
	if len(copies) > 1 {
		text += " ± " + c.text(s.Deviation)
	}
	return text
}
