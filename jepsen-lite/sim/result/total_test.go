package result

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/sim/checker"
)

// TestTotals prints the sum of all runs in the folder that RMD_SIM_SUM names.
func TestTotals(t *testing.T) {
	dir := os.Getenv("RMD_SIM_SUM")
	if dir == "" {
		t.Skip("RMD_SIM_SUM names no folder")
	}
	all, err := SumUp(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteTotals(os.Stdout, all); err != nil {
		t.Error(err)
	}
}

// TestSumUp checks that runs are added up by commit and profile.
func TestSumUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sim")
	if all, err := SumUp(dir); len(all) != 0 || err != nil {
		t.Errorf("before the first run: %v, %v", all, err)
	}
	s := NewSummary(nil)
	s.Add(Result{Seed: 8, Virtual: time.Hour, Kinds: map[string]int{"kill": 2, "cut": 1},
		Counts: checker.Counts{Entries: 5, Acked: 9, Refused: 2}, undecided: 1})
	s.Add(Result{Seed: 7, Virtual: time.Hour, Violations: []string{"S1: one", "S2: two"}, Kinds: map[string]int{"cut": 4}})
	one := s.Total("all", time.Minute)
	if one.CPUSeconds <= 0 || one.MemoryMax <= 0 {
		t.Errorf("the run has used %+v", one)
	}
	one.Commit, one.CPUSeconds, one.MemoryMax = "c1", 30, 100
	two := one
	two.Commit = "c2"
	three := one
	three.First, three.Last, three.MemoryMax, three.Failed, three.Violations = 20, 30, 300, []int64{21}, 1
	four := one
	four.Profile = "disk"
	for _, l := range []Total{one, two, three, four} {
		if err := l.Append(dir); err != nil {
			t.Fatal(err)
		}
	}
	all, err := SumUp(dir)
	if err != nil || len(all) != 3 {
		t.Fatalf("SumUp = %+v, %v, want three totals", all, err)
	}
	want := Total{Commit: "c1", Go: one.Go, Profile: "all", Runs: 2, Seeds: 4, First: 7, Last: 30, ClusterHours: 4,
		Hours: one.Hours * 2, CPUSeconds: 60, MemoryMax: 300,
		Faults: 14, Entries: 10, Acked: 14, Violations: 3, Failed: []int64{7, 21}, Undecided: 2}
	if !reflect.DeepEqual(all[0], want) || !reflect.DeepEqual(all[1], two) || !reflect.DeepEqual(all[2], four) {
		t.Errorf("%+v\nwant %+v and the others as they were", all, want)
	}
	var out strings.Builder
	if err := WriteTotals(&out, all); err != nil || !strings.Contains(out.String(), "15.0") ||
		!strings.Contains(out.String(), "[7 21]") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := os.WriteFile(filepath.Join(dir, totalFile), []byte("{}\nhalf a"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := SumUp(dir); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("half a line: %v", err)
	}
}
