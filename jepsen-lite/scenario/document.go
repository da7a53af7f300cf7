package scenario

import (
	"encoding/json"

	"rmd/jepsen-lite/check"
)

// document is the result for programs. Times are in milliseconds.
type document struct {
	Scenario   string           `json:"scenario"`
	Seed       uint64           `json:"seed"`
	Commit     string           `json:"commit,omitempty"`
	OK         bool             `json:"ok"`
	TookMillis int64            `json:"took_ms"`
	Network    string           `json:"network"`
	Disk       string           `json:"disk"`
	Faults     map[string]int   `json:"faults"`
	Skipped    []string         `json:"skipped"`
	Missing    []string         `json:"missing,omitempty"`
	Asked      int64            `json:"asked"`
	Acked      int64            `json:"acked"`
	Refused    int64            `json:"refused"`
	Unknown    int64            `json:"unknown"`
	Containers int64            `json:"containers"`
	Beats      int64            `json:"hadoop_beats"`
	Apps       int              `json:"apps_acked"`
	Lost       []string         `json:"lost"`
	Kills      int              `json:"leader_kills"`
	GapMillis  map[string]int64 `json:"gap_ms,omitempty"`
	GapsMillis []int64          `json:"gaps_ms,omitempty"`       // of each kill
	Points     map[string]int   `json:"points,omitempty"`        // failpoints that were reached
	Missed     []string         `json:"points_missed,omitempty"` // failpoints that were not reached, if any was
	Violations []violation      `json:"violations"`
	Broken     string           `json:"broken,omitempty"`
	Verdict    *check.Verdict   `json:"verdict,omitempty"`
	Out        string           `json:"out"`
}

type violation struct {
	Invariant   string `json:"invariant"`
	What        string `json:"what"`
	AfterMillis int64  `json:"after_ms"`
}

// JSON returns the result as a document.
func (r *Result) JSON() []byte {
	d := document{
		Scenario: r.Scenario, Seed: r.Seed, Commit: r.Commit, OK: r.OK(), TookMillis: r.Took.Milliseconds(),
		Network: r.Offer.Network, Disk: r.Offer.Disk,
		Faults: map[string]int{}, Skipped: append([]string{}, r.Skipped...), Missing: r.Missing,
		Asked: r.Asked, Acked: r.Acked, Refused: r.Refused, Unknown: r.Unknown, Containers: r.Containers, Beats: r.Beats,
		Apps: r.Apps, Lost: append([]string{}, r.Lost...),
		Kills: len(r.Gaps), Violations: []violation{}, Verdict: r.Verdict, Out: r.Out,
	}
	for _, c := range r.Counts() {
		d.Faults[c.Fault] = c.Times
	}
	if len(r.Gaps) > 0 {
		d.GapMillis = map[string]int64{"p50": r.Percentile(0.5).Milliseconds(), "p99": r.Percentile(0.99).Milliseconds(),
			"max": r.Percentile(1).Milliseconds()}
	}
	for _, g := range r.Gaps {
		d.GapsMillis = append(d.GapsMillis, g.Milliseconds())
	}
	if d.Points = r.Reached; len(r.Reached) > 0 {
		d.Missed = r.Missed()
	}
	for _, v := range r.Violations {
		d.Violations = append(d.Violations, violation{v.Invariant, v.What, v.After.Milliseconds()})
	}
	if r.Broken != nil {
		d.Broken = r.Broken.Error()
	}
	b, err := json.Marshal(d)
	if err != nil {
		return []byte(`{}`) // Marshal cannot fail on these values
	}
	return b
}
