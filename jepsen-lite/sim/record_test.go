package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/sim/checker"
)

// TestKeep checks that a failing seed leaves its history as text and as JSON lines, and a page.
func TestKeep(t *testing.T) {
	opt := DefaultOptions()
	opt.Faults = 10 * time.Second
	res := Run(t, 77, opt)
	if len(res.Violations) > 0 {
		t.Fatalf("%v\n%s", res.Violations, tail(res.History, checker.ReportLines))
	}
	res.Violations = []string{"S6: a container is given twice"}
	out := t.TempDir()
	res.keep(t, out)
	h, err := history.ReadFiles(filepath.Join(out, "77", "history.jsonl"))
	if err != nil || len(h.Entries) < 10 || len(h.Replicas) < 30 {
		t.Errorf("%v, history %d entries, %d lines of replicas", err, len(h.Entries), len(h.Replicas))
	}
	for name, want := range map[string]string{"history.txt": "seed 77", "index.html": "a container is given twice"} {
		if b, err := os.ReadFile(filepath.Join(out, "77", name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, %d bytes without %q", name, err, len(b), want)
		}
	}
}

// TestSummary checks that the report counts a violation under its invariant and says how to run the
// seed again.
func TestSummary(t *testing.T) {
	s := NewSummary()
	s.Add(Result{Seed: 3, Virtual: time.Hour, Real: time.Minute})
	s.Add(Result{Seed: 4, Virtual: time.Hour, Real: time.Minute, Violations: []string{"S2: two leaders", "odd"}})
	got := s.Report(time.Minute)
	for _, want := range []string{"seeds 2 (3 to 4)", "cluster time 2.00 h in 1m0s: 120 cluster-hours per machine-hour, 60 per core-hour",
		"S1 ok", "S2 FAILED 1 times", "others FAILED 1 times", "FAIL seed 4: S2: two leaders", "make sim SEED=4"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if !s.Failed() {
		t.Error("it does not say that something failed")
	}
}

// TestProfile checks that a profile selects kinds and groups by name and refuses unknown names.
func TestProfile(t *testing.T) {
	for p, want := range map[Profile]int{"all": len(kinds()), "calm": 0, "clock": 2, "kill,disk": 13, "bit-rot": 1} {
		n := 0
		for _, k := range kinds() {
			if p.has(k) {
				n++
			}
		}
		if err := p.Validate(); err != nil || n != want {
			t.Errorf("%s: %d kinds, %v", p, n, err)
		}
	}
	if Profile("disk,kil").Validate() == nil {
		t.Error("a name that is none is taken")
	}
}
