package report

import (
	"slices"
	"time"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/history"
)

// Summary summarizes one run or several.
type Summary struct {
	Name        string // such as "tier1 native" or "tier2 leader-kills"
	Commit, Go  string
	From, To    int64 // seeds
	ClusterTime time.Duration
	Took        time.Duration // real time; 0 if not known
	Faults      []Count       // by kind, in the order of printing
	Operations  int64
	Acked       int64
	Refused     int64
	Unknown     int64
	Verdict     check.Verdict
	// PointsHit is the number of failpoints that were reached, and Points that of all; 0 if not
	// known.
	PointsHit, Points int
	Missed            []string // failpoints that were not reached
	Skipped           []Skip   // kinds of faults that could not run
	// Required are invariants and RequiredFaults kinds of faults that must not be skipped.
	Required, RequiredFaults []string
	Failures                 []Failure
	// Gaps are the times without a committed write after the kills of leaders.
	Gaps  []time.Duration
	Notes []string
}

// Count says how often a kind of fault was injected.
type Count struct {
	Kind string
	N    int64
}

// Skip is a kind of fault that could not run.
type Skip struct{ Kind, Why string }

// Failure is a seed or run that failed.
type Failure struct {
	Seed     int64
	ID, Text string
	Again    string // the command that repeats it
	Report   string // path of its page
}

// Add adds a run: its operations, faults and verdict.
func (s *Summary) Add(h *history.History, v *check.Verdict) {
	for _, c := range h.Calls() {
		s.Operations++
		switch c.Type {
		case history.OK:
			s.Acked++
		case history.Fail:
			s.Refused++
		default:
			s.Unknown++
		}
	}
	for _, f := range h.Faults {
		if f.When != history.End {
			s.Count(f.Kind, 1)
		}
	}
	s.ClusterTime += time.Duration(h.End() - startTime(h))
	s.Verdict.Merge(v)
}

// Count adds n faults of a kind.
func (s *Summary) Count(kind string, n int64) {
	for i := range s.Faults {
		if s.Faults[i].Kind == kind {
			s.Faults[i].N += n
			return
		}
	}
	s.Faults = append(s.Faults, Count{kind, n})
}

// faultTotal returns the number of all faults.
func (s *Summary) faultTotal() int64 {
	var n int64
	for _, c := range s.Faults {
		n += c.N
	}
	return n
}

// Fail adds the first violation of a seed's verdict to Failures; nothing if there is none.
func (s *Summary) Fail(seed int64, v *check.Verdict, again, page string) {
	for _, text := range s.problems(v) {
		s.Failures = append(s.Failures, Failure{Seed: seed, ID: text[0], Text: text[1], Again: again, Report: page})
		return
	}
}

// problems returns what failed, then what is undecided.
func (s *Summary) problems(v *check.Verdict) [][2]string {
	var out [][2]string
	for _, f := range v.Failed() {
		out = append(out, [2]string{f.ID, f.Text})
	}
	for _, f := range v.Findings {
		if f.Status == check.Undecided {
			out = append(out, [2]string{f.ID, "undecided: " + f.Why})
		}
	}
	return out
}

// Pass reports whether the exit code is 0.
func (s *Summary) Pass() bool { return len(s.Missing()) == 0 && len(s.Failures) == 0 }

// Missing returns the reasons why the summary does not pass.
func (s *Summary) Missing() []string {
	out := s.Verdict.Missing(s.Required...)
	for _, kind := range s.RequiredFaults {
		done := slices.ContainsFunc(s.Faults, func(c Count) bool { return c.Kind == kind && c.N > 0 })
		if !done {
			out = append(out, "fault "+kind+" is required but was not injected")
		}
	}
	return out
}

// startTime returns the time of the first line; 0 if there is none.
func startTime(h *history.History) int64 {
	first := int64(1<<63 - 1)
	see := func(ns int64) {
		if ns != 0 {
			first = min(first, ns)
		}
	}
	if len(h.Ops) > 0 {
		see(h.Ops[0].NS)
	}
	if len(h.Replicas) > 0 {
		see(h.Replicas[0].NS)
	}
	if len(h.Faults) > 0 {
		see(h.Faults[0].NS)
	}
	if len(h.Marks) > 0 {
		see(h.Marks[0].NS)
	}
	if len(h.Orders) > 0 {
		see(h.Orders[0].NS)
	}
	if first == 1<<63-1 {
		return 0
	}
	return first
}
