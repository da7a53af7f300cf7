package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"rmd/api"
	"rmd/cmd/internal/output"
)

// fold breaks a line at spaces. The continuation lines are indented to the line's last column of
// text.
func fold(line string, most int) string {
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if i := strings.LastIndex(line, "  "); i >= 0 && i+2 > indent && i+2 < most/2 {
		indent = utf8.RuneCountInString(line[:i+2])
	}
	pad := strings.Repeat(" ", indent)
	var out []string
	for utf8.RuneCountInString(line) > most {
		r := []rune(line)
		cut := most
		for cut > indent && r[cut] != ' ' {
			cut--
		}
		if cut <= indent {
			break // one long word
		}
		out = append(out, strings.TrimRight(string(r[:cut]), " "))
		line = pad + strings.TrimLeft(string(r[cut:]), " ")
	}
	return strings.Join(append(out, line), "\n")
}

// helpWidth is the maximum width of help texts.
const helpWidth = 80

// cut returns the width at which text is cut or folded: the terminal's width, or 0 for never.
func (c *call) cut() int {
	if c.p.OutTerminal {
		return c.p.Width
	}
	return 0
}

// labelled formats lines with labels on the left. It folds long lines.
type labelled struct {
	b     strings.Builder
	width int // 0: do not fold
}

// labelWidth is the column at which the text after a label begins.
const labelWidth = 12

func (l *labelled) line(label, format string, args ...any) {
	if label != "" {
		label = "  " + label
	}
	l.fold(fmt.Sprintf("%-*s", labelWidth, label), fmt.Sprintf(format, args...))
}

// fold breaks a text at spaces.
func (l *labelled) fold(lead, text string) {
	pad := strings.Repeat(" ", utf8.RuneCountInString(lead))
	for _, word := range strings.Fields(output.Printable(text)) {
		if l.width > 0 && strings.TrimSpace(lead) != "" && lead != pad && utf8.RuneCountInString(lead)+utf8.RuneCountInString(word) > l.width {
			l.b.WriteString(strings.TrimRight(lead, " ") + "\n")
			lead = pad
		}
		lead += word + " "
	}
	l.b.WriteString(strings.TrimRight(lead, " ") + "\n")
}

// list writes one object per line, with the label on the first line.
func list[T any](l *labelled, label string, things []T, text func(T) string) {
	for i, t := range things {
		if i > 0 {
			label = ""
		}
		l.line(label, "%s", text(t))
	}
}

func orDash(v any) any {
	if v == nil || v == "" {
		return "-"
	}
	return v
}

func dashed(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func dash(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func splitList(s string) []string {
	var out []string
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// pack joins parts into lines of at most most characters.
func pack(parts []string, between string, most int) string {
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

func clockText(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	return time.UnixMilli(ms).Local().Format("15:04:05.000")
}

func stateText(state string) string {
	if state == "" {
		return "in an unknown state"
	}
	return state
}

func memberRole(m api.Member) string {
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

// bar draws shares of the cluster one after the other, and marks the guarantee. Each share has its
// own character, so no color is needed.
func bar(used, held, pending, guarantee float64) string {
	cells := []rune(strings.Repeat(" ", barWidth))
	at := 0
	for _, part := range []struct {
		size float64
		sign rune
	}{{used, '#'}, {held, '='}, {pending, '-'}} {
		end := min(at+int(part.size*barWidth+0.5), barWidth)
		for ; at < end; at++ {
			cells[at] = part.sign
		}
	}
	if i := int(guarantee * barWidth); i >= 0 && i < barWidth {
		cells[i] = '|'
	}
	return "[" + string(cells) + "]"
}

// Intervals and widths of the summary of `rmd dev`: summaryLive on a terminal, summaryPlain
// elsewhere.
const (
	summaryLive  = 500 * time.Millisecond
	summaryPlain = 5 * time.Second
	summaryWidth = 80
	barWidth     = 24
)
