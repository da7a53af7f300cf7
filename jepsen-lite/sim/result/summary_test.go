package result

import (
	"strings"
	"testing"
	"time"
)

// TestSummary checks that the report counts a violation under its invariant and says how to run the
// seed again.
func TestSummary(t *testing.T) {
	s := NewSummary([]string{"kill"})
	s.Add(Result{Seed: 3, Virtual: time.Hour, Real: time.Minute})
	s.Add(Result{Seed: 4, Virtual: time.Hour, Real: time.Minute, Violations: []string{"S2: two leaders", "odd"}})
	got := s.Report(time.Minute)
	for _, want := range []string{"seeds 2 (3 to 4)",
		"cluster time 2.00 h in 1m0s: 120 cluster-hours per machine-hour, 60 per core-hour",
		"S1 ok", "S2 FAILED 1 times", "others FAILED 1 times", "FAIL seed 4: S2: two leaders", "make sim SEED=4",
		"fault kinds that never ran: kill"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if !s.Failed() {
		t.Error("it does not say that something failed")
	}
}
