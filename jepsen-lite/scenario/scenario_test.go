package scenario

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/nemesis"
)

// TestScenarios checks that every scenario uses existing faults and has what they need.
func TestScenarios(t *testing.T) {
	names := map[string]bool{}
	for _, s := range All() {
		if names[s.Name] {
			t.Errorf("there are two scenarios %s", s.Name)
		}
		names[s.Name] = true
		if s.Text == "" || s.Duration <= 0 || s.Scale <= 0 || s.Pause <= 0 || len(s.Faults) == 0 {
			t.Errorf("%s is not complete: %+v", s.Name, s)
		}
		for _, name := range slices.Concat(s.Faults, s.Finale) {
			f, ok := nemesis.Find(name)
			if !ok {
				t.Errorf("%s: there is no fault %s", s.Name, name)
			}
			needSpare := []string{"grow-shrink", "join-kill", "replayed-token", "removed-returns", "crash-members",
				"hold-members"}
			if slices.Contains(needSpare, name) && s.Spare == 0 {
				t.Errorf("%s: %s needs a spare replica", s.Name, name)
			}
			_ = f
		}
	}
	if s, ok := Find("smoke"); !ok || s.Duration > 30*time.Second {
		t.Error("the smoke does not fit into a minute")
	}
	if _, ok := Find("none"); ok {
		t.Error("a scenario that there is not is found")
	}
}

// TestFaults checks that every fault is complete and occurs in a scenario.
func TestFaults(t *testing.T) {
	occurs := map[string]bool{}
	for _, s := range All() {
		for _, name := range slices.Concat(s.Faults, s.Finale) {
			occurs[name] = true
		}
	}
	names := map[string]bool{}
	for _, f := range nemesis.All() {
		if !occurs[f.Name] {
			t.Errorf("no scenario has the fault %s", f.Name)
		}
		if names[f.Name] || f.Name == "" || f.Kind == "" || f.Text == "" || f.Inject == nil {
			t.Errorf("fault %+v is not complete, or there twice", f)
		}
		names[f.Name] = true
	}
}

// TestBag checks that each fault occurs once before any occurs again.
func TestBag(t *testing.T) {
	all := nemesis.Links()
	b := &bag{all: all}
	rng := rand.New(rand.NewPCG(1, 2))
	var first []string
	for round := range 3 {
		seen := map[string]bool{}
		var order []string
		for range all {
			f := b.next(rng)
			seen[f.Name] = true
			order = append(order, f.Name)
		}
		if len(seen) != len(all) {
			t.Errorf("round %d has %d of %d faults", round, len(seen), len(all))
		}
		if round == 0 {
			first = order
		} else if slices.Equal(first, order) {
			t.Error("two rounds have one order")
		}
	}
	o := &bag{all: all, ordered: true}
	for i := range all {
		if f := o.next(rng); f.Name != all[i].Name {
			t.Errorf("%d: %s, want %s", i, f.Name, all[i].Name)
		}
	}
}

func TestOnly(t *testing.T) {
	s, _ := Find("restore")
	few, err := s.Only([]string{"pause", "recover"})
	if err != nil || !slices.Equal(few.Faults, []string{"pause"}) || !slices.Equal(few.Finale, []string{"recover"}) {
		t.Errorf("Only(pause, recover): faults %v, finale %v, %v, want [pause] and [recover]",
			few.Faults, few.Finale, err)
	}
	if all, _ := Find("restore"); len(all.Faults) != len(s.Faults) || len(s.Faults) < 2 {
		t.Errorf("the scenario itself has %v", s.Faults)
	}
	for _, bad := range [][]string{{"recover"}, {"no-such", "pause"}, {"power-cut"}} {
		if _, err := s.Only(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

func TestSplit(t *testing.T) {
	offer := harness.Offer{All: []harness.Capability{{Fault: harness.Crash, Answer: harness.Yes},
		{Fault: harness.Delay, Answer: harness.Fallback}, {Fault: harness.PowerLoss, Answer: harness.No}}}
	can, cannot := split([]string{"kill", "delay", "power-cut", "no-such"}, offer)
	if len(can) != 2 || !slices.Equal(cannot, []string{"power-cut", "no-such"}) {
		t.Errorf("%d can, %v cannot", len(can), cannot)
	}
}

func TestResult(t *testing.T) {
	ok := Result{Scenario: "smoke", Seed: 3,
		Verdict: &check.Verdict{Findings: []check.Finding{{ID: "S1", Status: check.OK, Checked: 9, Unit: "digests"}}}}
	for _, ms := range []int{300, 100, 200} {
		ok.Gaps = append(ok.Gaps, time.Duration(ms)*time.Millisecond)
	}
	if !ok.OK() || ok.Percentile(0.5) != 200*time.Millisecond || ok.Percentile(1) != 300*time.Millisecond {
		t.Errorf("OK() = %v, median %s, maximum %s, want true, 200ms, 300ms",
			ok.OK(), ok.Percentile(0.5), ok.Percentile(1))
	}
	var text strings.Builder
	if err := ok.WriteText(&text); err != nil || strings.Contains(text.String(), "FAIL") ||
		!strings.Contains(text.String(), "S1 ok 9 digests") {
		t.Errorf("%v\n%s", err, text.String())
	}
	for name, bad := range map[string]func(*Result){
		"S4": func(r *Result) { r.Violations = []Violation{{Invariant: "S4", What: "lost"}} },
		"S1": func(r *Result) {
			r.Verdict = &check.Verdict{Findings: []check.Finding{{ID: "S1", Status: check.Failed, Text: "differ"}}}
		},
		"broken":  func(r *Result) { r.Broken = errors.New("no leader") },
		"missing": func(r *Result) { r.Missing = []string{"power-cut"} },
	} {
		r := ok
		bad(&r)
		var text strings.Builder
		if err := r.WriteText(&text); err != nil || r.OK() || !strings.Contains(text.String(), "FAIL seed 3: "+name) ||
			!strings.Contains(text.String(), "rmd-chaos run smoke --seed 3") {
			t.Errorf("%s: %v %v\n%s", name, r.OK(), err, text.String())
		}
		var doc struct{ OK bool }
		if err := json.Unmarshal(r.JSON(), &doc); err != nil || doc.OK {
			t.Errorf("JSON of a failed run (%s): %v, OK %v, want false", name, err, doc.OK)
		}
	}
}

// TestTotalsOfPageAndTerminal checks that page and terminal print the same totals, those that the
// run counted. The history lacks calls without an answer at its end, so the page must not count
// them itself.
func TestTotalsOfPageAndTerminal(t *testing.T) {
	at := time.Now()
	r := Result{Scenario: "smoke", Seed: 3, Out: t.TempDir(), Took: 42 * time.Second, Asked: 1234, Acked: 1200,
		Refused: 30, Unknown: 4,
		Moments: []nemesis.Moment{{Fault: "kill", Ended: at}, {Fault: "kill", Ended: at}, {Fault: "pause", Ended: at}},
		Verdict: &check.Verdict{}, History: &history.History{}}
	if err := r.WritePage(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(r.Out, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(b), "\u00a0", " ")
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, total := range []struct{ terminal, page string }{
		{"cluster time 42.0 s", "<dt>cluster time</dt><dd>42.0 s</dd>"},
		{"operations 1 234", "<dt>operations</dt><dd>1 234</dd>"},
		{"acked 1 200   refused 30   unknown 4", "acked 1 200, refused 30, unknown 4"},
		{"faults 3 (kill 2, pause 1)", "<dt>faults</dt><dd>3</dd>"},
	} {
		if !strings.Contains(text.String(), total.terminal) || !strings.Contains(page, total.page) {
			t.Errorf("%q or %q is missing:\n%s", total.terminal, total.page, text.String())
		}
	}
}
