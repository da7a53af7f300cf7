package scenario

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/nemesis"
)

// TestSumUp checks that the results of passed and failed runs are added up.
func TestSumUp(t *testing.T) {
	write := func(r Result) string {
		r.Out = t.TempDir()
		if err := r.WriteResult(); err != nil {
			t.Fatal(err)
		}
		return r.Out
	}
	now := time.Now()
	one := write(Result{Scenario: "smoke", Seed: 1, Acked: 5, Apps: 2,
		Gaps: []time.Duration{20 * time.Millisecond, 40 * time.Millisecond}, Reached: map[string]int{"batch.closed": 2},
		Failpoints: []string{"batch.closed", "leadership.ended", "member.left"},
		Moments:    []nemesis.Moment{{Fault: "kill", Ended: now}, {Fault: "pause", Ended: now}},
		Verdict:    &check.Verdict{Findings: []check.Finding{{ID: "S1", Status: check.OK, Checked: 3, Unit: "digests"}}}})
	two := write(Result{Scenario: "smoke", Seed: 2, Acked: 7, Apps: 1, Lost: []string{"a"},
		Gaps: []time.Duration{90 * time.Millisecond}, Broken: errors.New("no leader"),
		Reached:    map[string]int{"leadership.ended": 1},
		Failpoints: []string{"batch.closed", "leadership.ended", "member.left"},
		Moments:    []nemesis.Moment{{Fault: "kill", Ended: now}},
		Verdict:    &check.Verdict{Findings: []check.Finding{{ID: "S1", Status: check.Failed, Checked: 4}}}})
	s, err := SumUp([]string{one, two})
	if err != nil {
		t.Fatal(err)
	}
	if s.Runs != 2 || s.Passed != 1 || s.Acked != 12 || s.Apps != 3 || s.Lost != 1 || s.Kills != 3 ||
		s.Faults["kill"] != 2 || s.Faults["pause"] != 1 || s.Points["batch.closed"] != 2 {
		t.Errorf("%d runs, %d passed, %d acked, %d apps, %d lost, kills %d, faults %v, points %v; "+
			"want 2, 1, 12, 3, 1, 3, kill 2 and pause 1, batch.closed 2",
			s.Runs, s.Passed, s.Acked, s.Apps, s.Lost, s.Kills, s.Faults, s.Points)
	}
	if !slices.Equal(s.Missed, []string{"member.left"}) {
		t.Errorf("nobody came to %v; want member.left alone, which neither run came to", s.Missed)
	}
	if s.GapMillis["p50"] != 40 || s.GapMillis["max"] != 90 {
		t.Errorf("gaps %v ms, want p50 40 and max 90", s.GapMillis)
	}
	if c := s.Checks[0]; c.ID != "S1" || c.Checked != 7 || c.OK != 1 || c.Failed != 1 || c.Unit != "digests" {
		t.Errorf("first check %+v, want S1 with 7 digests checked, once OK and once failed", c)
	}
	var text strings.Builder
	if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), "2, 1 passed") ||
		!strings.Contains(text.String(), "FAIL smoke seed 2") || !strings.Contains(text.String(), "no leader") ||
		!strings.Contains(text.String(), "member.left       0") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if _, err := SumUp([]string{t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory without a run: %v", err)
	}
}

// TestUntil checks that until returns the lines and entries up to a moment.
func TestUntil(t *testing.T) {
	h := history.Of(
		&history.Entry{Kind: history.Command, Index: 1, NS: 100}, &history.Entry{Kind: history.Command, Index: 2, NS: 101},
		&history.Entry{Kind: history.Command, Index: 3, NS: 102},
		&history.Order{Node: "n", NS: 5}, &history.Order{Node: "n", NS: 50},
		&history.Replica{ID: "rm1", Kind: history.Start, NS: 1},
		&history.Replica{ID: "rm1", Kind: history.Start, Fresh: true, NS: 60},
	)
	got := historyUntil(h, moment{ns: 40, index: 2})
	if len(got.Entries) != 2 || len(got.Orders) != 1 || len(got.Replicas) != 1 || got.Replicas[0].Fresh {
		t.Errorf("%d entries, %d orders, %d replica events, want 2, 1 and 1 that is not fresh: %+v",
			len(got.Entries), len(got.Orders), len(got.Replicas), got)
	}
}
