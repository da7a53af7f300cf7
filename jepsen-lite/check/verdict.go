package check

import (
	"fmt"
	"slices"
	"strings"
)

// Status is the result for one invariant.
type Status string

// The values of Status.
const (
	OK        Status = "ok"
	Failed    Status = "failed"
	Undecided Status = "undecided"
	Skipped   Status = "skipped"
)

// IDs are the invariants in the order of a report.
var IDs = []string{"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "S12", "S13",
	"S14", "S15", "S16",
	"S17", "S18", "S20", "audit", "L1", "L2", "L3", "L4", "L5", "L7"}

// Link is one event of the chain that leads to a violation.
type Link struct {
	NS    int64  `json:"ns"`
	Lane  string `json:"lane,omitempty"` // the origin: a replica, node or client, or "log"
	Index uint64 `json:"index,omitempty"`
	Text  string `json:"text"`
}

// Finding is the result for one invariant.
type Finding struct {
	ID         string `json:"id"`
	Status     Status `json:"status"`
	Checked    uint64 `json:"checked"`
	Unit       string `json:"unit,omitempty"` // the unit of Checked: digests, terms
	Figure     string `json:"figure,omitempty"`
	Violations int    `json:"violations,omitempty"`
	Undecided  int    `json:"undecided,omitempty"`
	Text       string `json:"text,omitempty"` // the first violation
	NS         int64  `json:"ns,omitempty"`   // time of the first violation
	Chain      []Link `json:"chain,omitempty"`
	Why        string `json:"why,omitempty"` // the reason for skipped or undecided
	// Max is the worst time that L1, L2 or L5 measured, in nanoseconds.
	Max int64 `json:"max,omitempty"`
}

// fail counts a violation and keeps the first one.
func (f *Finding) fail(ns int64, chain []Link, format string, args ...any) {
	f.Violations++
	if f.Violations == 1 {
		f.Text, f.NS, f.Chain = fmt.Sprintf(format, args...), ns, chain
	}
}

// Verdict is the result for all invariants.
type Verdict struct {
	Findings []Finding `json:"findings"`
	Notes    []string  `json:"notes,omitempty"` // decisions that are legal but unusual
}

// findings are the findings by invariant while the checks run.
type findings map[string]*Finding

func newFindings() findings {
	out := findings{}
	for _, id := range IDs {
		out[id] = &Finding{ID: id}
	}
	return out
}

// verdict sets the status of each finding. An invariant that was not checked is skipped.
func (f findings) verdict() *Verdict {
	v := &Verdict{}
	for _, id := range IDs {
		x := *f[id]
		switch {
		case x.Violations > 0:
			x.Status = Failed
		case x.Undecided > 0:
			x.Status = Undecided
		case x.Checked > 0:
			x.Status, x.Why = OK, ""
		default:
			x.Status = Skipped
			if x.Why == "" {
				x.Why = "the history has no data for it"
			}
		}
		v.Findings = append(v.Findings, x)
	}
	return v
}

// Find returns the finding of an invariant, or a skipped one if there is none.
func (v *Verdict) Find(id string) Finding {
	for _, f := range v.Findings {
		if f.ID == id {
			return f
		}
	}
	return Finding{ID: id, Status: Skipped}
}

// Failed returns the violated invariants in the order of their first violations. Begin to read with
// the first one.
func (v *Verdict) Failed() []Finding {
	var out []Finding
	for _, f := range v.Findings {
		if f.Status == Failed {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		switch {
		case a.NS < b.NS:
			return -1
		case a.NS > b.NS:
			return 1
		}
		return 0
	})
	return out
}

// Holds reports whether nothing failed, nothing is undecided, and no required invariant was
// skipped.
func (v *Verdict) Holds(required ...string) bool { return len(v.Missing(required...)) == 0 }

// Missing returns the reasons why Holds is false.
func (v *Verdict) Missing(required ...string) []string {
	var out []string
	for _, f := range v.Findings {
		switch {
		case f.Status == Failed:
			out = append(out, f.ID+" failed: "+f.Text)
		case f.Status == Undecided:
			out = append(out, f.ID+" is undecided: "+f.Why)
		case f.Status == Skipped && slices.Contains(required, f.ID):
			out = append(out, f.ID+" is required but was skipped: "+f.Why)
		}
	}
	return out
}

// String returns all statuses on one line.
func (v *Verdict) String() string {
	var out []string
	for _, f := range v.Findings {
		out = append(out, f.ID+" "+string(f.Status))
	}
	return strings.Join(out, "  ")
}

// Merge adds the findings of another run. It adds the counts, and keeps the first violation and the
// worst figure.
func (v *Verdict) Merge(o *Verdict) {
	if v.Findings == nil {
		v.Findings = slices.Clone(o.Findings)
		return
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		x := o.Find(f.ID)
		f.Checked += x.Checked
		f.Undecided += x.Undecided
		if f.Violations == 0 && x.Violations > 0 {
			f.Text, f.NS, f.Chain = x.Text, x.NS, x.Chain
		}
		f.Violations += x.Violations
		if x.Max > f.Max {
			f.Max, f.Figure = x.Max, x.Figure
		}
		if severity(x.Status) > severity(f.Status) {
			f.Status, f.Why = x.Status, x.Why
		}
		if f.Unit == "" {
			f.Unit = x.Unit
		}
	}
}

// severity orders statuses, so that Merge keeps the worst.
func severity(s Status) int {
	switch s {
	case Failed:
		return 3
	case Undecided:
		return 2
	case OK:
		return 1
	}
	return 0
}
