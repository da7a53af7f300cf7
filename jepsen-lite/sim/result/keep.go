package result

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/report"
)

// Keep writes the results of a failing seed to files: its history as text and as JSON lines, and
// the page.
func (r Result) Keep(t testing.TB, out string) {
	dir := filepath.Join(out, fmt.Sprint(r.Seed))
	text := fmt.Sprintf("seed %d\nsettings %s\nfaults %v\n\n%s\n", r.Seed, r.Settings, r.Kinds, r.History)
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "history.txt"), []byte(text), 0o644)
	}
	if err == nil {
		err = r.keepLines(filepath.Join(dir, "history.jsonl"))
	}
	if err == nil {
		err = r.keepPage(filepath.Join(dir, "index.html"))
	}
	if err != nil {
		t.Logf("not all of seed %d is kept: %v", r.Seed, err)
	}
}

func (r Result) keepLines(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	w, err := history.Open(path)
	if err != nil {
		return err
	}
	for _, l := range r.Lines {
		w.Add(l)
	}
	return w.Close()
}

func (r Result) keepPage(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return report.WritePage(f, report.Page{Title: fmt.Sprintf("jepsen-lite tier1 native, seed %d", r.Seed),
		Lead:  fmt.Sprintf("commit %s, %s, %s", commit(), runtime.Version(), r.Settings),
		Again: fmt.Sprintf("make sim SEED=%d", r.Seed), History: history.Of(r.Lines...), Verdict: r.verdict()})
}

// verdict returns the violations that the run itself found, for the page.
func (r Result) verdict() *check.Verdict {
	v := &check.Verdict{}
	for _, id := range append(slices.Clone(check.IDs), "") {
		f := check.Finding{ID: id, Status: check.OK, Checked: 1}
		for _, text := range r.Violations {
			head, what, named := strings.Cut(text, ": ")
			if named = named && slices.Contains(check.IDs, head); !named {
				head, what = "", text
			}
			if head == id {
				f.Violations++
				f.Status = check.Failed
				if f.Text == "" {
					f.Text = what
				}
			}
		}
		if id != "" || f.Violations > 0 {
			v.Findings = append(v.Findings, f)
		}
	}
	return v
}

// Judge lets package check judge the run afterwards, from the replicas' histories and the log
// alone. election is the election timeout of the replicas.
func (r *Result) Judge(election time.Duration) error {
	opt := check.DefaultOptions(election)
	opt.Exact, opt.Autopilot = true, true
	opt.Ceilings = check.Ceilings{}
	v, err := check.Judge(history.Of(r.Lines...), opt)
	if err != nil {
		return err
	}
	for _, f := range v.Findings {
		switch f.Status {
		case check.Failed:
			r.Violations = append(r.Violations, fmt.Sprintf("%s: by the streams: %s", f.ID, f.Text))
		case check.Undecided:
			r.undecided++
		}
	}
	return nil
}
