package scenario

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/report"
)

// pageFile is the file name of the report.
const pageFile = "index.html"

// rerunCommand returns the command that repeats a run.
func (r *Result) rerunCommand() string {
	return fmt.Sprintf("rmd-chaos run %s --seed %d", r.Scenario, r.Seed)
}

// Summary returns the result as package report prints it.
func (r *Result) Summary() report.Summary {
	s := report.Summary{
		Name: "tier2 " + r.Scenario, Commit: r.Commit, Go: runtime.Version(), From: int64(r.Seed), To: int64(r.Seed),
		ClusterTime: r.Took, Took: r.Took,
		Operations: r.Asked, Acked: r.Acked, Refused: r.Refused, Unknown: r.Unknown, Gaps: r.Gaps,
	}
	if r.Verdict != nil {
		s.Verdict = *r.Verdict
	}
	for _, c := range r.Counts() {
		s.Count(c.Fault, int64(c.Times))
	}
	if len(r.Reached) > 0 {
		s.PointsHit, s.Points, s.Missed = len(r.Reached), len(r.Failpoints), r.Missed()
	}
	for _, name := range r.Skipped {
		s.Skipped = append(s.Skipped, report.Skip{Kind: name, Why: r.Offer.Why(r.Kinds[name])})
	}
	s.Notes = append(s.Notes,
		fmt.Sprintf(
			"network %s, disks %s; %d applications acknowledged, %d lost; %d containers; %d heartbeats over Hadoop's wire",
			r.Offer.Network, r.Offer.Disk, r.Apps, len(r.Lost), r.Containers, r.Beats))
	fail := func(id, text string) {
		s.Failures = append(s.Failures, report.Failure{Seed: int64(r.Seed), ID: id, Text: text})
	}
	for _, v := range r.Violations {
		fail(v.Invariant, fmt.Sprintf("after %s: %s", v.After.Round(time.Millisecond), v.What))
	}
	if r.Verdict != nil {
		for _, f := range r.Verdict.Findings {
			switch f.Status {
			case check.Failed:
				fail(f.ID, f.Text)
			case check.Undecided:
				fail(f.ID, "undecided: "+f.Why)
			}
		}
	}
	for _, k := range r.Missing {
		fail("missing", "the scenario requires the fault "+k+", which this machine does not support: "+r.Offer.Why(k))
	}
	if r.Broken != nil {
		fail("broken", r.Broken.Error())
	}
	if n := len(s.Failures); n > 0 {
		s.Failures[n-1].Again, s.Failures[n-1].Report = r.rerunCommand(), filepath.Join(r.Out, pageFile)
	}
	return s
}

// WriteText prints the result for a terminal.
func (r *Result) WriteText(w io.Writer) error {
	s := r.Summary()
	if err := s.WriteText(w); err != nil {
		return err
	}
	if !r.OK() {
		return nil // the last failure names the report
	}
	_, err := fmt.Fprintf(w, "  report:  %s\n", filepath.Join(r.Out, pageFile))
	return err
}

// WritePage writes index.html into the directory of the run. It does nothing if there is no
// history.
func (r *Result) WritePage() error {
	if r.History == nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(r.Out, pageFile), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	totals := r.Summary()
	err = report.WritePage(f, report.Page{
		Title: fmt.Sprintf("tier2 %s, seed %d", r.Scenario, r.Seed),
		Lead: fmt.Sprintf("%s, %s, network %s, disks %s, %s", r.Commit, runtime.Version(), r.Offer.Network, r.Offer.Disk,
			r.Took.Round(time.Second)),
		Again: r.rerunCommand(), History: r.History, Verdict: r.shown(), Totals: &totals,
	})
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// shown returns the verdict together with the violations that the run itself has found.
func (r *Result) shown() *check.Verdict {
	v := &check.Verdict{}
	if r.Verdict != nil {
		v.Notes = r.Verdict.Notes
		v.Findings = append(v.Findings, r.Verdict.Findings...)
	}
	for _, x := range r.Violations {
		found := false
		for i := range v.Findings {
			f := &v.Findings[i]
			if f.ID != x.Invariant {
				continue
			}
			found = true
			f.Violations++
			if f.Status != check.Failed {
				f.Status, f.Text, f.NS, f.Why = check.Failed, x.What, int64(x.After), ""
			}
		}
		if !found {
			v.Findings = append(v.Findings, check.Finding{ID: x.Invariant, Status: check.Failed, Violations: 1, Text: x.What,
				NS: int64(x.After)})
		}
	}
	return v
}
