package check

import (
	"testing"

	"rmd/jepsen-lite/history"
)

// start begins a life of a replica with the term and index on its disk.
func (r *run) start(id string, life int, term, index uint64, disk string) *run {
	return r.add(&history.Replica{ID: id, Kind: history.Start, Incarnation: life, Term: term, Index: index, Disk: disk})
}

func (r *run) restore(id string, index, digest uint64) *run {
	return r.add(&history.Replica{ID: id, Kind: history.Restore, Index: index, Digest: digest})
}

func (r *run) vote(id string, term uint64, to string) *run {
	return r.add(&history.Replica{ID: id, Kind: history.Vote, Term: term, For: to})
}

// steadyRun is a history of three replicas. They elect r1, replicate, crash r3 and restore it from
// a snapshot, elect r2 and continue.
func steadyRun() *run {
	r := newRun().at(1)
	for _, id := range []string{"r1", "r2", "r3"} {
		r.start(id, 1, 0, 0, "d-"+id).members(id, 1, "r1", "r2", "r3")
	}
	r.at(2).vote("r1", 1, "r1").vote("r2", 1, "r1").event("r1", history.Lead, 1)
	for i := uint64(2); i <= 5; i++ {
		r.at(int64(i)+1).apply("r1", i, 1, 100+i).apply("r2", i, 1, 100+i)
	}
	r.at(7).event("r3", history.Stop, 0).add(&history.Replica{ID: "r1", Kind: history.Snapshot, Index: 5, Digest: 105})
	r.at(8).start("r3", 2, 1, 0, "d-r3").restore("r3", 5, 105).members("r3", 1, "r1", "r2", "r3")
	r.at(9).event("r1", history.Follow, 2).vote("r2", 2, "r2").vote("r3", 2, "r2").event("r2", history.Lead, 2)
	for _, id := range []string{"r1", "r2", "r3"} {
		r.at(10).apply(id, 6, 2, 106)
	}
	return r
}

func TestStreamInvariantsHold(t *testing.T) {
	v := steadyRun().judge(t, DefaultOptions(timeout))
	for _, id := range []string{"S1", "S2", "S3", "S14", "S15"} {
		checkHolds(t, v, id)
	}
	if f := v.Find("S2"); f.Checked != 2 || f.Unit != "terms" {
		t.Errorf("S2: %+v, want 2 terms checked", f)
	}
	if !v.Holds("S1", "S2") || v.Holds("S7") {
		t.Errorf("required: %v", v.Missing("S7"))
	}
}

func TestStreamViolations(t *testing.T) {
	tests := []struct {
		name, id, text string
		do             func(r *run)
	}{
		{"another digest", "S1", "at index 6 r1 has digest 000000000000006a (term 2), r4 has 0000000000000063", func(r *run) {
			r.start("r4", 1, 0, 0, "d4").apply("r4", 6, 2, 99)
		}},
		{"an entry of another term", "S1", "at index 6",
			func(r *run) { r.start("r4", 1, 0, 0, "d4").apply("r4", 6, 1, 106) }},
		{"two leaders", "S2", "term 2 has two leaders: r2 and r3", func(r *run) { r.event("r3", history.Propose, 2) }},
		{"two votes in a term", "S2", "r3 votes twice in term 2: for r2 and for r1", func(r *run) { r.vote("r3", 2, "r1") }},
		{"a term that goes back", "S3", "goes back from term 2 to 1", func(r *run) { r.event("r2", history.Campaign, 1) }},
		{"an index that goes back", "S3", "applies index 4 after 6", func(r *run) { r.apply("r1", 4, 1, 104) }},
		{"an old copy of a disk: the log", "S3", "starts with a log that ends at index 3, but had applied index 6",
			func(r *run) { r.start("r1", 2, 2, 3, "d-r1") }},
		{"an old copy of a disk: the term", "S3", "starts in term 1, but was in term 2",
			func(r *run) { r.start("r2", 2, 1, 6, "d-r2") }},
		{"a snapshot of the past", "S3", "goes back from index 6 to 5 by a snapshot",
			func(r *run) { r.restore("r1", 5, 105) }},
		{"disjoint majorities", "S14", "may have no replica in common",
			func(r *run) { r.members("r2", 7, "r3", "r4", "r5") }},
		{"two memberships at one index", "S14", "at index 1", func(r *run) { r.members("r2", 1, "r1", "r2") }},
		{"a removed replica votes", "S14", "was removed at index 7 but votes for r2", func(r *run) {
			r.members("r2", 7, "r1", "r2").members("r3", 7, "r1", "r2").at(20).vote("r3", 3, "r2").vote("r1", 3,
				"r2").event("r2", history.Lead, 3)
		}},
		{"a vote of nobody is counted", "S14", "r2 leads term 3 without votes of a majority", func(r *run) {
			r.vote("r2", 3, "r2").vote("r9", 3, "r2").event("r2", history.Lead, 3)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := steadyRun().at(15)
			tt.do(r)
			breaks(t, r.judge(t, DefaultOptions(timeout)), tt.id, tt.text)
		})
	}
}

// TestReplacedDisk checks that a new disk with a new identity need not contain what the old one
// had, and that a restored backup begins a new age.
func TestReplacedDisk(t *testing.T) {
	r := steadyRun().at(20).start("r1", 2, 0, 0, "d-new").restore("r1", 6, 106).apply("r1", 7, 2, 107)
	checkHolds(t, r.judge(t, DefaultOptions(timeout)), "S3")
	// another identity has its own vote
	r.vote("r2", 3, "r2").vote("r1", 3, "r2").start("r1", 3, 0, 0, "d-newer").vote("r1", 3, "r3")
	checkHolds(t, r.judge(t, DefaultOptions(timeout)), "S2")
	r = steadyRun().at(20)
	for _, id := range []string{"r1", "r2", "r3"} {
		r.add(&history.Replica{ID: id, Kind: history.Restore, Index: 3, Digest: 900, Fresh: true}).apply(id, 4, 1, 901)
	}
	checkHolds(t, r.event("r3", history.Lead, 2).judge(t, DefaultOptions(timeout)), "S1")
	// recovered by hand; its log is behind
	r = steadyRun().at(20).add(&history.Replica{ID: "r1", Kind: history.Start, Incarnation: 2, Fresh: true}).apply("r1", 6,
		3, 906)
	r.start("r2", 2, 3, 0, "").apply("r2", 6, 3, 906)
	checkHolds(t, r.judge(t, DefaultOptions(timeout)), "S1")
	breaks(t, r.apply("r2", 7, 3, 1).apply("r1", 7, 3, 2).judge(t, DefaultOptions(timeout)), "S1", "at index 7")
}

// TestRestoreEqualsSnapshot checks that a restored state equals the state of the snapshot, even if
// no replica has applied that index as a command.
func TestRestoreEqualsSnapshot(t *testing.T) {
	r := steadyRun().at(15).add(&history.Replica{ID: "r1", Kind: history.Snapshot, Index: 8, Digest: 5}).start("r4", 1, 0,
		0, "d4").restore("r4", 8, 6)
	breaks(t, r.judge(t, DefaultOptions(timeout)), "S15",
		"the snapshot of index 8 has digest 0000000000000005, restored on r4 0000000000000006")
	r = steadyRun().at(15).start("r4", 1, 0, 0, "d4").restore("r4", 6, 7) // all others have applied index 6
	if v := r.judge(t, DefaultOptions(timeout)); v.Find("S1").Status != Failed || v.Find("S15").Status != Failed {
		t.Errorf("a state that differs from what was applied: %s", v)
	}
}

// TestOnline checks that Streams can judge during a run.
func TestOnline(t *testing.T) {
	s := NewStreams()
	for _, e := range steadyRun().h.Replicas {
		s.Add(e)
	}
	if s.Failing() {
		t.Errorf("a run that breaks no invariant fails: %v", s.Verdict())
	}
	s.Forget(6)
	s.Add(&history.Replica{ID: "r4", Kind: history.Start, Incarnation: 1})
	s.Add(&history.Replica{ID: "r4", Kind: history.Apply, Index: 6, Term: 2, Digest: 1})
	if !s.Failing() || s.Verdict().Find("S1").Status != Failed {
		t.Error("a difference is not seen at once")
	}
}

// TestCatchingUp checks that a replica that reads memberships from before its own counts as never
// removed, and may vote after it has joined.
func TestCatchingUp(t *testing.T) {
	four := []string{"r1", "r2", "r3", "r4"}
	r := steadyRun().at(15).start("r4", 1, 0, 0, "d4").members("r2", 7, four...).members("r4", 1, "r1", "r2",
		"r3").vote("r4", 3, "r2").members("r4", 7, four...)
	r.vote("r4", 4, "r2").start("r4", 2, 4, 6, "d4").members("r4", 1, "r1", "r2", "r3").vote("r4", 5, "r2")
	checkHolds(t, r.judge(t, DefaultOptions(timeout)), "S14")
}

func TestDisjoint(t *testing.T) {
	for _, tt := range []struct {
		a, b []string
		want bool
	}{
		{[]string{"1", "2", "3"}, []string{"1", "2", "3"}, false},
		{[]string{"1", "2", "3"}, []string{"1", "2", "3", "4"}, false},
		{[]string{"1", "2", "3", "4"}, []string{"1", "2", "3"}, false},
		{[]string{"1"}, []string{"1", "2"}, false},
		{[]string{"1", "2", "3"}, []string{"1", "2", "3", "4", "5"}, true},
		{[]string{"1", "2", "3"}, []string{"1"}, true},
		{[]string{"1", "2"}, []string{"3"}, true},
	} {
		if got := disjoint(tt.a, tt.b); got != tt.want {
			t.Errorf("%v and %v: %v", tt.a, tt.b, got)
		}
	}
}
