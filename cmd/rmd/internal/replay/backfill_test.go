package replay

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"rmd/workload/report"
	"rmd/workload/trace"
)

// TestCompareBackfill replays a part of the demo trace on fewer nodes than it was made for. It
// checks that equal options give equal results, that settings without backfill lend nothing, that
// every container runs in each copy, and that an ended container runs again.
func TestCompareBackfill(t *testing.T) {
	tr, err := trace.Read(trace.Demo, trace.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := NodesFor("2", trace.Demo, tr)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Trace: tr, Nodes: nodes, Scheduling: "eager", AM: true, Seed: 1, Limit: 200, Copies: 2}
	all, err := CompareBackfill(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]report.Backfill{}
	for _, b := range all {
		byName[b.Name] = b
		if len(b.Copies) != 2 {
			t.Fatalf("%s: %d copies", b.Name, len(b.Copies))
		}
		for i, r := range b.Copies {
			if n := r.Summary.Large.Containers + r.Summary.Small.Containers; n != 200+r.Ended ||
				r.Summary.Large.Unserved+r.Summary.Small.Unserved != 0 {
				t.Errorf("%s, copy %d: %d containers, large %+v, small %+v", b.Name, i, n, r.Summary.Large, r.Summary.Small)
			}
		}
	}
	figures := func(name string) map[string]report.Spread { b := byName[name]; return b.Figures() }
	for _, name := range []string{"no reservations", "off", "off, earliest"} {
		if f := figures(name); f["lent"].Mean != 0 || f["ended"].Mean != 0 {
			t.Errorf("setting %q: mean of lent %v, of ended %v, want 0 of both", name, f["lent"].Mean, f["ended"].Mean)
		}
	}
	if f := figures("no reservations"); f["reserved_idle"].Mean != 0 {
		t.Errorf("without reservations: %+v", f)
	}
	if f := figures("preemptable"); f["lent"].Mean == 0 || f["wanted"].Mean >= figures("off")["wanted"].Mean/2 ||
		f["large_mean_ms"].Deviation == 0 || f["reserved_idle"].Mean >= figures("off")["reserved_idle"].Mean {
		t.Errorf("preemptable: %+v", f)
	}
	again, err := o.copied(1).backfilling(t.Context(), "off", nil)
	if err != nil {
		t.Fatal(err)
	}
	first := byName["off"].Copies[1]
	again.Summary.Run.Elapsed, first.Summary.Run.Elapsed = 0, 0
	if !reflect.DeepEqual(again, first) {
		t.Errorf("once more: %+v; the first time %+v", again.Summary, first.Summary)
	}
}

// TestShifted checks that a copy has the same applications in order of arrival, each at most some
// seconds later.
func TestShifted(t *testing.T) {
	tr, err := trace.Read(trace.Demo, trace.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	was := map[string]time.Duration{}
	for _, j := range tr.Jobs {
		was[j.Name] = j.Submit
	}
	one, same, other := shifted(tr, 1, 1), shifted(tr, 1, 1), shifted(tr, 1, 2)
	if !reflect.DeepEqual(one.Jobs, same.Jobs) || reflect.DeepEqual(one.Jobs, other.Jobs) {
		t.Error("equal numbers do not give equal copies, or others do")
	}
	if len(one.Jobs) != len(tr.Jobs) || !slices.IsSortedFunc(one.Jobs,
		func(a, b trace.Job) int { return int(a.Submit - b.Submit) }) {
		t.Errorf("%d applications of %d, or not in order", len(one.Jobs), len(tr.Jobs))
	}
	later := 0
	for _, j := range one.Jobs {
		if by := j.Submit - was[j.Name]; by < 0 || by >= copyShift {
			t.Errorf("%s arrives %s later", j.Name, by)
		} else if by > 0 {
			later++
		}
	}
	if 2*later < len(tr.Jobs) {
		t.Errorf("only %d applications arrive later", later)
	}
	if tr.Jobs[0].Submit != was[tr.Jobs[0].Name] {
		t.Error("the trace itself has changed")
	}
}
