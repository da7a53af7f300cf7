package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"rmd/internal/quantile"
	"rmd/jepsen-lite/check"
)

const lineWidth = 80

// WriteText prints the summary for a terminal.
func (s *Summary) WriteText(w io.Writer) error {
	p := &printer{}
	p.items("jepsen-lite "+s.Name, "  ", s.head()...)
	p.items("cluster time "+span(s.ClusterTime), "   ", s.faults())
	p.items("operations "+number(s.Operations), "   ", "acked "+number(s.Acked), "refused "+number(s.Refused),
		"unknown "+number(s.Unknown))
	if len(s.Gaps) > 0 {
		p.items("time without a committed write after the kill of a leader", "   ", s.gaps()...)
	}
	var found []string
	for _, f := range s.Verdict.Findings {
		if f.Status != check.Skipped {
			found = append(found, finding(f))
		}
	}
	if len(found) > 0 {
		p.items(found[0], "   ", found[1:]...)
	}
	s.skippedText(p)
	for _, f := range s.Failures {
		s.failure(p, f)
	}
	for _, m := range s.Missing() {
		if !s.mentions(m) {
			p.wrap("FAIL ", m)
		}
	}
	for _, n := range s.Notes {
		p.wrap("note ", n)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (s *Summary) head() []string {
	var out []string
	if s.Commit != "" {
		out = append(out, "commit "+s.Commit)
	}
	if s.Go != "" {
		out = append(out, s.Go)
	}
	if s.From == s.To {
		return append(out, fmt.Sprintf("seed %d", s.From))
	}
	return append(out, fmt.Sprintf("seeds %d–%d", s.From, s.To))
}

func (s *Summary) faults() string {
	var kinds []string
	for _, c := range s.Faults {
		kinds = append(kinds, c.Kind+" "+number(c.N))
	}
	total := s.faultTotal()
	if total == 0 {
		return "no faults"
	}
	return fmt.Sprintf("faults %s (%s)", number(total), strings.Join(kinds, ", "))
}

func (s *Summary) gaps() []string {
	sorted := slices.Sorted(slices.Values(s.Gaps))
	at := func(p float64) string {
		return quantile.Of(sorted, p).Round(time.Millisecond).String()
	}
	return []string{"p50 " + at(0.5), "p99 " + at(0.99), "max " + at(1)}
}

// finding formats the result of an invariant.
func finding(f check.Finding) string {
	out := f.ID + " " + string(f.Status)
	switch {
	case f.Status == check.Failed:
		return fmt.Sprintf("%s FAILED %s", f.ID, times(f.Violations))
	case f.Status == check.Undecided:
		return fmt.Sprintf("%s UNDECIDED %s", f.ID, times(f.Undecided))
	case f.ID == "S13":
		return fmt.Sprintf("%s (undecided %d)", out, f.Undecided)
	case f.Figure != "" && strings.HasPrefix(f.ID, "L"):
		return f.ID + " " + f.Figure
	case f.Checked > 0 && f.Unit != "":
		return out + " " + number(int64(f.Checked)) + " " + f.Unit
	}
	return out
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// skippedText prints the invariants and faults that were skipped.
func (s *Summary) skippedText(p *printer) {
	var skipped, kinds []string
	for _, f := range s.Verdict.Findings {
		if f.Status == check.Skipped {
			skipped = append(skipped, f.ID)
		}
	}
	for _, k := range s.Skipped {
		text := k.Kind
		if k.Why != "" {
			text += " (" + k.Why + ")"
		}
		kinds = append(kinds, text)
	}
	if len(skipped) > 0 {
		p.wrap("skipped: ", strings.Join(skipped, " "))
	}
	none := "none"
	if len(kinds) > 0 {
		none = strings.Join(kinds, ", ")
	}
	if s.Points == 0 {
		p.wrap("fault kinds skipped: ", none)
		return
	}
	p.items(fmt.Sprintf("points hit %d/%d", s.PointsHit, s.Points), "   ", "fault kinds skipped: "+none)
	if len(s.Missed) > 0 {
		p.wrap("points never hit: ", strings.Join(s.Missed, ", "))
	}
}

func (s *Summary) failure(p *printer, f Failure) {
	p.wrap("", fmt.Sprintf("FAIL seed %d: %s %s", f.Seed, f.ID, f.Text))
	if f.Again != "" {
		p.wrap("  repeat:  ", f.Again)
	}
	if f.Report != "" {
		p.wrap("  report:  ", f.Report)
	}
}

// mentions reports whether a failure already says this.
func (s *Summary) mentions(missing string) bool {
	return slices.ContainsFunc(s.Failures, func(f Failure) bool {
		return strings.HasPrefix(missing, f.ID+" failed") || strings.HasPrefix(missing, f.ID+" is undecided")
	})
}

// printer breaks lines at 80 columns.
type printer struct{ b strings.Builder }

// items prints head and items. Items that do not fit go to the next line, indented by two.
func (p *printer) items(head, gap string, items ...string) {
	line := head
	for _, item := range items {
		if utf8.RuneCountInString(line)+len(gap)+utf8.RuneCountInString(item) > lineWidth {
			p.wrap("", line)
			line = "  " + item
			continue
		}
		line += gap + item
	}
	p.wrap("", line)
}

// wrap prints head and text and breaks lines at spaces. Further lines are indented by four.
func (p *printer) wrap(head, text string) {
	rest := head + text
	for utf8.RuneCountInString(rest) > lineWidth {
		cut := lastBlank(rest)
		if cut < 0 {
			break
		}
		p.b.WriteString(strings.TrimRight(rest[:cut], " ") + "\n")
		rest = "    " + strings.TrimLeft(rest[cut:], " ")
	}
	p.b.WriteString(rest + "\n")
}

// lastBlank returns the index of the last space within a line's width, after the indentation; -1 if
// there is none.
func lastBlank(s string) int {
	out, n := -1, 0
	for i, r := range s {
		if n > lineWidth {
			break
		}
		if r == ' ' && strings.TrimSpace(s[:i]) != "" && !joined(s, i) {
			out = i
		}
		n++
	}
	return out
}

// joined reports whether a space is inside a number.
func joined(s string, i int) bool {
	return i > 0 && i+1 < len(s) && digit(s[i-1]) && digit(s[i+1])
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// number formats a count with spaces between thousands, and from 1e9 on with two digits.
func number(n int64) string {
	if n >= 1e9 {
		return strings.NewReplacer("e+0", "e", "e+", "e").Replace(fmt.Sprintf("%.1e", float64(n)))
	}
	s := fmt.Sprint(n)
	var out []byte
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			out = append(out, ' ')
		}
		out = append(out, s[i])
	}
	return string(out)
}

// span formats a duration in a suitable unit.
func span(d time.Duration) string {
	switch {
	case d >= 10*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	case d >= 10*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
