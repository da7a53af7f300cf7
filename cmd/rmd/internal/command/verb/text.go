package verb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"rmd/api"
	"rmd/cmd/internal/output"
)

// Fold breaks a line at spaces. The continuation lines are indented to the line's last column of
// text.
func Fold(line string, most int) string {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if i := strings.LastIndex(line, "  "); i >= 0 && i+2 > indent && i+2 < most/2 {
		indent = utf8.RuneCountInString(line[:i+2])
	}
	return output.Fold(line, most, indent)
}

// HelpWidth is the maximum width of help texts.
const HelpWidth = 80

// Cut returns the width at which text is cut or folded: the terminal's width, or 0 for never.
func (c *Call) Cut() int {
	if c.Program.OutTerminal {
		return c.Program.Width
	}
	return 0
}

// Labelled formats lines with labels on the left. It folds long lines.
type Labelled struct {
	B     strings.Builder
	Width int // 0: do not fold
}

// labelWidth is the column at which the text after a label begins.
const labelWidth = 12

// Line adds a text after a label.
func (l *Labelled) Line(label, format string, args ...any) {
	if label != "" {
		label = "  " + label
	}
	l.Fold(fmt.Sprintf("%-*s", labelWidth, label), fmt.Sprintf(format, args...))
}

// Fold breaks a text at spaces.
func (l *Labelled) Fold(lead, text string) {
	pad := strings.Repeat(" ", utf8.RuneCountInString(lead))
	for _, word := range strings.Fields(output.Printable(text)) {
		if l.Width > 0 && strings.TrimSpace(lead) != "" && lead != pad &&
			utf8.RuneCountInString(lead)+utf8.RuneCountInString(word) > l.Width {
			l.B.WriteString(strings.TrimRight(lead, " ") + "\n")
			lead = pad
		}
		lead += word + " "
	}
	l.B.WriteString(strings.TrimRight(lead, " ") + "\n")
}

// List writes one object per line, with the label on the first line.
func List[T any](l *Labelled, label string, things []T, text func(T) string) {
	for i, t := range things {
		if i > 0 {
			label = ""
		}
		l.Line(label, "%s", text(t))
	}
}

// OrDash returns a value of a document, or "-" for none.
func OrDash(v any) any {
	if v == nil || v == "" {
		return "-"
	}
	return v
}

// Dashed returns a text, or "-" for none.
func Dashed(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Sorted returns the keys of a map in order.
func Sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// SplitList returns the parts of a comma list.
func SplitList(s string) []string {
	var out []string
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Pack joins parts into lines of at most most characters.
func Pack(parts []string, between string, most int) string {
	var b strings.Builder
	n := 0
	for i, p := range parts {
		switch w := utf8.RuneCountInString(p); {
		case i == 0:
			n = w
		case n+len(between)+w > most:
			b.WriteString("\n")
			n = w
		default:
			b.WriteString(between)
			n += len(between) + w
		}
		b.WriteString(p)
	}
	return b.String()
}

// StateText returns a state in a sentence.
func StateText(state string) string {
	if state == "" {
		return "in an unknown state"
	}
	return state
}

// MemberRole returns what a replica is in the cluster.
func MemberRole(m api.Member) string {
	switch {
	case m.Leader:
		return "leader"
	case m.State != "" && m.State != "alive":
		return m.State
	case m.Role == "" || m.Role == "voter" || m.Role == "nonvoter": // the role with which it joined
		return "follower"
	}
	return m.Role
}

// Bar draws shares of the cluster one after the other, and marks the guarantee. Each share has its
// own character, so no color is needed. width is that between the brackets.
func Bar(width int, used, held, pending, guarantee float64) string {
	cells, all := []rune(strings.Repeat(" ", width)), float64(width)
	at := 0
	for _, part := range []struct {
		size float64
		sign rune
	}{{used, '#'}, {held, '='}, {pending, '-'}} {
		end := min(at+int(part.size*all+0.5), width)
		for ; at < end; at++ {
			cells[at] = part.sign
		}
	}
	if i := int(guarantee * all); i >= 0 && i < width {
		cells[i] = '|'
	}
	return "[" + string(cells) + "]"
}

// NodesAlive says how many nodes send heartbeats, and how many of them drain.
func NodesAlive(t api.Totals) string {
	text := fmt.Sprintf("%d of %d nodes alive", t.UsableNodes, t.Nodes)
	if t.DrainingNodes > 0 {
		text += fmt.Sprintf(", %d draining", t.DrainingNodes)
	}
	return text
}
