package report

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/history"
)

func sample() *Summary {
	return &Summary{
		Name: "tier1 native", Commit: "3f2a91c", Go: "go1.26.8", From: 1000, To: 1999, ClusterTime: 412 * time.Hour,
		Faults: []Count{{"crash", 21044}, {"partition", 18320}, {"one-way", 9118}, {"pause", 8774}, {"disk", 22901},
			{"clock", 6402}, {"member", 11752}},
		Operations: 41220310, Acked: 39802117, Refused: 1203441, Unknown: 214752, PointsHit: 212, Points: 212,
		Verdict: check.Verdict{Findings: []check.Finding{
			{ID: "S1", Status: check.OK, Checked: 1234567890, Unit: "digests"},
			{ID: "S2", Status: check.OK, Checked: 301222, Unit: "terms"},
			{ID: "S4", Status: check.OK}, {ID: "S6", Status: check.Failed, Violations: 1,
				Text: "container_1780000000000_0012_01_000044 given twice at index 8812 (term 14) and 8960 (term 15)"},
			{ID: "S13", Status: check.OK, Checked: 7}, {ID: "S16", Status: check.Skipped, Why: "no damage"},
			{ID: "L1", Status: check.OK, Figure: "max 3.1 s"}, {ID: "L2", Status: check.OK, Figure: "max 14 s"}}},
	}
}

// TestText checks the whole text of a summary.
func TestText(t *testing.T) {
	s := sample()
	s.Fail(1411, &s.Verdict, "make sim SEED=1411", "out/1411/index.html")
	const want = `jepsen-lite tier1 native  commit 3f2a91c  go1.26.8  seeds 1000–1999
cluster time 412 h
  faults 98 311 (crash 21 044, partition 18 320, one-way 9 118, pause 8 774,
    disk 22 901, clock 6 402, member 11 752)
operations 41 220 310   acked 39 802 117   refused 1 203 441   unknown 214 752
S1 ok 1.2e9 digests   S2 ok 301 222 terms   S4 ok   S6 FAILED once
  S13 ok (undecided 0)   L1 max 3.1 s   L2 max 14 s
skipped: S16
points hit 212/212   fault kinds skipped: none
FAIL seed 1411: S6 container_1780000000000_0012_01_000044 given twice at index
    8812 (term 14) and 8960 (term 15)
  repeat:  make sim SEED=1411
  report:  out/1411/index.html
`
	var b strings.Builder
	if err := s.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if utf8.RuneCountInString(line) > lineWidth {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

// TestPass checks that a summary passes only if nothing failed, nothing is undecided, and nothing
// required was skipped.
func TestPass(t *testing.T) {
	good := func() *Summary {
		s := sample()
		s.Verdict.Findings[3].Status = check.OK
		return s
	}
	if s := good(); !s.Pass() {
		t.Errorf("all holds: %v", s.Missing())
	}
	for name, spoil := range map[string]func(s *Summary){
		"failed":            func(s *Summary) { s.Verdict.Findings[0].Status = check.Failed },
		"undecided":         func(s *Summary) { s.Verdict.Findings[4].Status = check.Undecided },
		"an invariant":      func(s *Summary) { s.Required = []string{"S16"} },
		"a kind of fault":   func(s *Summary) { s.RequiredFaults = []string{"power-cut"} },
		"a failure of mine": func(s *Summary) { s.Failures = []Failure{{ID: "S2"}} },
	} {
		s := good()
		spoil(s)
		if s.Pass() {
			t.Errorf("%s: it passes", name)
		}
		var b strings.Builder
		if err := s.WriteText(&b); err != nil || !strings.Contains(b.String(), "FAIL") {
			t.Errorf("%s: and the text does not say it:\n%s", name, b.String())
		}
	}
}

// TestAdd checks that Add counts the operations and faults of a history.
func TestAdd(t *testing.T) {
	h := history.New()
	r := history.NewRecorder(h, func() int64 { return int64(len(h.Ops)+1) * int64(time.Second) })
	c := r.Client("c1")
	for range 2 {
		c.Invoke(history.Submit, history.Value{Name: "a"})
		c.OK(history.Value{App: "application_1_0001"})
	}
	c.Invoke(history.Kill, history.Value{})
	c.Fail(history.NotFound)
	c.Invoke(history.Kill, history.Value{})
	r.Note(&history.Fault{Kind: "crash", When: history.Begin, ID: 1})
	r.Note(&history.Fault{Kind: "crash", When: history.End, ID: 1})
	r.Note(&history.Fault{Kind: "transfer", When: history.Once})
	v, err := check.Judge(h, check.DefaultOptions(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	var s Summary
	s.Add(h, v)
	if s.Operations != 4 || s.Acked != 2 || s.Refused != 1 || s.Unknown != 1 ||
		s.faults() != "faults 2 (crash 1, transfer 1)" || s.ClusterTime != 7*time.Second {
		t.Errorf("%+v with %s, want 4 operations (2 acked, 1 refused, 1 unknown), faults 2 (crash 1, transfer 1), 7 s",
			s, s.faults())
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 000", 41220310: "41 220 310",
		999999999: "999 999 999", 1.2e9: "1.2e9", 3e11: "3.0e11"} {
		if got := number(n); got != want {
			t.Errorf("%d is written %s, want %s", n, got, want)
		}
	}
}
