package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"rmd/internal/quantile"
	"rmd/jepsen-lite/check"
)

// resultFile is the name of the file with a run's result for programs.
const resultFile = "result.json"

// WriteResult writes result.json into the directory of the run.
func (r *Result) WriteResult() error {
	return os.WriteFile(filepath.Join(r.Out, resultFile), append(r.JSON(), '\n'), 0o600)
}

// Sum is the sum of several runs.
type Sum struct {
	Runs       int              `json:"runs"`
	Passed     int              `json:"passed"`
	TookMillis int64            `json:"took_ms"`
	Faults     map[string]int   `json:"faults"`
	Points     map[string]int   `json:"points"`
	Missed     []string         `json:"points_missed,omitempty"` // failpoints that no run has reached
	Acked      int64            `json:"acked"`
	Unknown    int64            `json:"unknown"`
	Apps       int              `json:"apps_acked"`
	Lost       int              `json:"apps_lost"`
	Kills      int              `json:"leader_kills"`
	GapMillis  map[string]int64 `json:"gap_ms,omitempty"`
	Checks     []SumOf          `json:"checks"`
	Failed     []string         `json:"failed,omitempty"` // first error of each failed run

	gaps   []int64
	missed []string
}

// SumOf is the sum of the checks of one invariant.
type SumOf struct {
	ID      string `json:"id"`
	Unit    string `json:"unit,omitempty"`
	Checked uint64 `json:"checked"`
	OK      int    `json:"ok"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"` // or undecided
}

// SumUp reads the results of runs in dirs and adds them up.
func SumUp(dirs []string) (*Sum, error) {
	s := &Sum{Faults: map[string]int{}, Points: map[string]int{}}
	for _, id := range check.IDs {
		s.Checks = append(s.Checks, SumOf{ID: id})
	}
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, resultFile))
		if err != nil {
			return nil, err
		}
		var d document
		if err := json.Unmarshal(b, &d); err != nil {
			return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, resultFile), err)
		}
		s.add(dir, &d)
	}
	slices.Sort(s.missed)
	s.Missed = slices.DeleteFunc(slices.Compact(s.missed), func(name string) bool { return s.Points[name] > 0 })
	if len(s.gaps) > 0 {
		slices.Sort(s.gaps)
		s.GapMillis = map[string]int64{"p50": quantile.Of(s.gaps, 0.5), "p99": quantile.Of(s.gaps, 0.99),
			"max": quantile.Of(s.gaps, 1)}
	}
	return s, nil
}

func (s *Sum) add(dir string, d *document) {
	s.Runs++
	if d.OK {
		s.Passed++
	} else {
		s.Failed = append(s.Failed, failedText(dir, d))
	}
	s.TookMillis += d.TookMillis
	for name, n := range d.Faults {
		s.Faults[name] += n
	}
	for name, n := range d.Points {
		s.Points[name] += n
	}
	s.missed = append(s.missed, d.Missed...)
	s.Acked, s.Unknown, s.Apps, s.Lost, s.Kills = s.Acked+d.Acked, s.Unknown+d.Unknown, s.Apps+d.Apps, s.Lost+len(d.Lost),
		s.Kills+d.Kills
	s.gaps = append(s.gaps, d.GapsMillis...)
	if d.Verdict == nil {
		return
	}
	for i := range s.Checks {
		c := &s.Checks[i]
		f := d.Verdict.Find(c.ID)
		c.Checked += f.Checked
		if f.Unit != "" {
			c.Unit = f.Unit
		}
		switch f.Status {
		case check.OK:
			c.OK++
		case check.Failed:
			c.Failed++
		default:
			c.Skipped++
		}
	}
}

// failedText describes a failed run by its first error.
func failedText(dir string, d *document) string {
	what := "it failed"
	switch {
	case len(d.Violations) > 0:
		what = d.Violations[0].Invariant + ": " + d.Violations[0].What
	case d.Broken != "":
		what = "broken: " + d.Broken
	case len(d.Missing) > 0:
		what = "missing: " + d.Missing[0]
	case d.Verdict != nil && len(d.Verdict.Failed()) > 0:
		f := d.Verdict.Failed()[0]
		what = f.ID + ": " + f.Text
	}
	return fmt.Sprintf("%s seed %d (%s): %s", d.Scenario, d.Seed, dir, what)
}

// WriteText prints the sum for a terminal.
func (s *Sum) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "runs\t%d, %d passed, %s\n", s.Runs, s.Passed,
		(time.Duration(s.TookMillis) * time.Millisecond).Round(time.Second))
	fmt.Fprintf(t, "acknowledged\t%d operations, %d with unknown outcome; %d applications, %d lost\n", s.Acked, s.Unknown,
		s.Apps, s.Lost)
	if s.Kills > 0 {
		fmt.Fprintf(t, "leader kills\t%d; time without a committed write: p50 %d ms, p99 %d ms, max %d ms\n", s.Kills,
			s.GapMillis["p50"], s.GapMillis["p99"], s.GapMillis["max"])
	}
	fmt.Fprintln(t, "\nFAULT\tCOUNT")
	for _, name := range slices.Sorted(maps.Keys(s.Faults)) {
		fmt.Fprintf(t, "%s\t%d\n", name, s.Faults[name])
	}
	if len(s.Points) > 0 {
		fmt.Fprintln(t, "\nFAILPOINT\tREACHED")
		for _, name := range slices.Sorted(maps.Keys(s.Points)) {
			fmt.Fprintf(t, "%s\t%d\n", name, s.Points[name])
		}
		for _, name := range s.Missed {
			fmt.Fprintf(t, "%s\t0\n", name)
		}
	}
	fmt.Fprintln(t, "\nCHECK\tHELD\tFAILED\tSKIPPED\tCHECKED")
	for _, c := range s.Checks {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d %s\n", c.ID, c.OK, c.Failed, c.Skipped, c.Checked, c.Unit)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, f := range s.Failed {
		if _, err := fmt.Fprintf(w, "FAIL %s\n", f); err != nil {
			return err
		}
	}
	return nil
}
