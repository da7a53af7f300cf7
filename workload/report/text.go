package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	labelWidth  = 24
	columnWidth = 28
	lineWidth   = 80
)

// WriteText prints one run, or two side by side: with and without reservations. without may be nil.
// No line has more than 80 characters.
func WriteText(w io.Writer, with, without *Summary) error {
	if with == nil {
		return fmt.Errorf("write report: no run to report")
	}
	p := &printer{with: with, without: without}
	p.head()
	p.row("large wait p50/p95", func(s *Summary) string { return pair(s.Large.P50Millis, s.Large.P95Millis) })
	p.row("small wait p50/p95", func(s *Summary) string { return pair(s.Small.P50Millis, s.Small.P95Millis) })
	p.row("large wait mean/max", func(s *Summary) string { return pair(int64(s.Large.MeanMillis+0.5), s.Large.MaxMillis) })
	p.row("small wait mean/max", func(s *Summary) string { return pair(int64(s.Small.MeanMillis+0.5), s.Small.MaxMillis) })
	p.row("containers large/small",
		func(s *Summary) string { return fmt.Sprintf("%d/%d", s.Large.Containers, s.Small.Containers) })
	if p.any(func(s *Summary) bool { return s.Large.Unserved+s.Small.Unserved > 0 }) {
		p.row("still waiting", func(s *Summary) string { return fmt.Sprintf("%d/%d", s.Large.Unserved, s.Small.Unserved) })
	}
	p.row("used gpu/vcore/memory", func(s *Summary) string {
		return percent(s.Utilization.GPUs) + "/" + percent(s.Utilization.VCores) + "/" + percent(s.Utilization.Memory)
	})
	p.row("reserved idle dom./mem.", func(s *Summary) string {
		return percent(s.ReservedIdle.Dominant) + "/" + percent(s.ReservedIdle.Memory)
	})
	p.outcomes("reservations", with.Reservations)
	if without != nil && without.Reservations.Made > 0 {
		p.outcomes("without: reservations", without.Reservations)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// WriteJSON writes {"with": …, "without": …}. without is null if there is no second run.
func WriteJSON(w io.Writer, with, without *Summary) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		With    *Summary `json:"with"`
		Without *Summary `json:"without"`
	}{with, without})
}

type printer struct {
	b             strings.Builder
	with, without *Summary
}

func (p *printer) any(of func(*Summary) bool) bool {
	return of(p.with) || p.without != nil && of(p.without)
}

func (p *printer) head() {
	if r := p.with.Run; r.Apps > 0 {
		elapsed := r.Elapsed
		if p.without != nil {
			elapsed += p.without.Run.Elapsed
		}
		p.wrap("", " ", []string{
			fmt.Sprintf("replayed %d apps, %s of trace, in %s", r.Apps, Duration(r.TraceMillis),
				Duration(elapsed.Milliseconds())),
			fmt.Sprintf("(%d nodes, seed %d)", r.Nodes, r.Seed)})
	}
	if p.without != nil {
		p.line("", "WITH", "WITHOUT")
	}
}

func (p *printer) row(label string, of func(*Summary) string) {
	if p.without == nil {
		p.line(label, of(p.with), "")
		return
	}
	p.line(label, of(p.with), of(p.without))
}

// line prints a row. The first column is narrow if its text fits.
func (p *printer) line(label, with, without string) {
	const narrow = 18
	width := narrow
	if len(with) >= narrow {
		width = columnWidth
	}
	text := fmt.Sprintf("%-*s%-*s%s", labelWidth, label, width, with, without)
	p.b.WriteString(strings.TrimRight(text, " ") + "\n")
}

// outcomes prints the counts, then the causes of cancellations.
func (p *printer) outcomes(label string, o Outcomes) {
	counts := []string{fmt.Sprintf("%s made %d", label, o.Made), fmt.Sprintf("fulfilled %d", o.Fulfilled),
		fmt.Sprintf("cancelled %d", o.Cancelled)}
	if o.Moved > 0 {
		counts = append(counts, fmt.Sprintf("moved %d", o.Moved))
	}
	p.wrap("", "   ", counts)
	const indent = "  cancelled by: "
	var causes []string
	for _, cause := range o.causes() {
		causes = append(causes, fmt.Sprintf("%s %d", shorten(cause, lineWidth-len(indent)-24), o.Causes[cause]))
	}
	if len(causes) > 0 {
		p.wrap(indent, ", ", causes)
	}
}

// wrap prints words after lead. Words that do not fit continue on a new line, indented by the
// length of lead.
func (p *printer) wrap(lead, between string, words []string) {
	line := lead
	for i, word := range words {
		switch {
		case i == 0:
			line += word
		case len(line)+len(between)+len(word) >= lineWidth:
			p.b.WriteString(line + strings.TrimRight(between, " ") + "\n")
			line = strings.Repeat(" ", max(len(lead), 2)) + word
		default:
			line += between + word
		}
	}
	p.b.WriteString(line + "\n")
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-3], "") + "..."
}

func pair(a, b int64) string { return Duration(a) + "/" + Duration(b) }

func percent(share float64) string {
	if share > 0 && share < 0.0995 {
		return fmt.Sprintf("%.1f%%", share*100)
	}
	return fmt.Sprintf("%.0f%%", share*100)
}

// Duration formats milliseconds in a short form: 0s, 350ms, 3.1s, 42s, 4m02s, 25m, 1h11m, 24h,
// 3d04h.
func Duration(millis int64) string {
	if millis < 0 {
		return "-" + Duration(-max(millis, -1<<62))
	}
	d := time.Duration(min(millis, int64(1<<62)/int64(time.Millisecond))) * time.Millisecond
	switch {
	case d == 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second-50*time.Millisecond:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + "s"
	case d < time.Minute-500*time.Millisecond:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 10*time.Minute-500*time.Millisecond:
		return twoUnits(d.Round(time.Second), time.Minute, "m", time.Second, "s")
	case d < time.Hour-30*time.Second:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d < 48*time.Hour-30*time.Second:
		return twoUnits(d.Round(time.Minute), time.Hour, "h", time.Minute, "m")
	}
	return twoUnits(d.Round(time.Hour), 24*time.Hour, "d", time.Hour, "h")
}

// twoUnits formats a duration in two units, or only in the larger if the rest is 0.
func twoUnits(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	if rest := d % big / small; rest > 0 {
		return fmt.Sprintf("%d%s%02d%s", d/big, bigName, rest, smallName)
	}
	return fmt.Sprintf("%d%s", d/big, bigName)
}
