package scenario

import (
	"fmt"
	"io"
	"strings"
	"time"

	"rmd/jepsen-lite/check"
)

// WriteText prints what a run came to.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("jepsen-lite tier2 %s  %s  seed %d  %s, %s, %s", r.Scenario, r.Commit, r.Seed, r.Took.Round(time.Second), r.Offer.Network, r.Offer.Disk)
	var counts []string
	total := 0
	for _, c := range r.Counts() {
		counts = append(counts, fmt.Sprintf("%s %d", c.Fault, c.Times))
		total += c.Times
	}
	line("faults %d (%s)", total, strings.Join(counts, ", "))
	line("operations %d   acked %d   refused %d   unknown %d   containers %d", r.Asked, r.Acked, r.Refused, r.Unknown, r.Containers)
	line("applications acknowledged %d   lost %d", r.Apps, len(r.Lost))
	if len(r.Gaps) > 0 {
		line("kills of a leader %d   time without a committed write: p50 %s   p99 %s   max %s", len(r.Gaps),
			r.Percentile(0.5).Round(time.Millisecond), r.Percentile(0.99).Round(time.Millisecond), r.Percentile(1).Round(time.Millisecond))
	}
	if r.Verdict != nil {
		line("%s", verdictText(r.Verdict))
	}
	line("fault kinds skipped: %s", orNone(r.Skipped))
	for _, k := range r.Missing {
		line("MISSING %s: the scenario requires it", k)
	}
	for _, v := range r.Violations {
		line("FAIL after %s: %s %s", v.After.Round(time.Millisecond), v.Invariant, v.What)
	}
	if r.Verdict != nil {
		for _, m := range r.Verdict.Missing() {
			line("FAIL %s", m)
		}
	}
	if r.Broken != nil {
		line("BROKEN %v", r.Broken)
	}
	if !r.OK() {
		line("  again:   rmd chaos run %s --seed %d", r.Scenario, r.Seed)
	}
	line("  report:  %s/index.html", r.Out)
	_, err := io.WriteString(w, b.String())
	return err
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// verdictText is one line of all invariants.
func verdictText(v *check.Verdict) string {
	var out []string
	for _, f := range v.Findings {
		text := f.ID + " " + string(f.Status)
		if f.Checked > 0 && f.Status == check.OK {
			text += fmt.Sprintf(" %d", f.Checked)
			if f.Unit != "" {
				text += " " + f.Unit
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "   ")
}
