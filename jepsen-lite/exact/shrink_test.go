package exact

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"rmd/jepsen-lite/sim/script"
)

const second = script.Duration(time.Second)

// bug plays a script on a program with an invented bug: it appears if a kill comes before a cut,
// there are two clients, and the schedule is odd.
func bug(s script.Script) Finding {
	f := Finding{Outcome: script.Outcome{Script: s, Virtual: s.Length}}
	var at script.Duration
	killed := false
	for _, x := range s.Faults {
		if at += x.After; at > s.Length {
			break
		}
		f.Played = append(f.Played, script.Played{Kind: x.Kind, At: at, Took: second / 10})
		at += second / 10
		if x.Kind == "cut" && killed && s.Load.Clients >= 2 && s.Schedule%2 == 1 {
			f.Began, f.BrokeAt = 7*second, 7*second+at
			f.Violations = []string{"S4: an acked submission of 17 is gone"}
			return f
		}
		killed = killed || x.Kind == "kill"
	}
	if len(s.Faults) == 3 { // another bug, which must not replace the first one
		f.Violations = []string{"L1: no leader"}
	}
	return f
}

func drawn() script.Script {
	s := script.Script{Seed: 9, Schedule: 9, Length: 600 * second, Load: script.Load{Nodes: 4, Clients: 4, Readers: 2},
		Cluster: script.Cluster{Replicas: 5, InFlight: 1, SnapshotAfter: 7, Yields: 2, Queues: []script.Queue{{Name: "a", Capacity: "50"}, {Name: "b", Capacity: "50"}}}}
	for i := range 40 {
		kind := "loss"
		switch {
		case i == 11 || i == 30:
			kind = "kill"
		case i == 23:
			kind = "cut"
		}
		s.Faults = append(s.Faults, script.Fault{After: 2 * second, Kind: kind, Draw: int64(i)})
	}
	return s
}

// TestShrink checks that only what the bug needs remains.
func TestShrink(t *testing.T) {
	failed := bug(drawn())
	plays, told := 0, 0
	k := &Shrinker{Schedules: 2, Tell: func(Finding, int) { told++ }, Play: func(_ context.Context, s script.Script) (Finding, error) {
		plays++
		return bug(s), nil
	}}
	small, err := k.Shrink(t.Context(), failed)
	if err != nil {
		t.Fatal(err)
	}
	s := small.Script
	var kinds []string
	for _, f := range s.Faults {
		kinds = append(kinds, f.Kind)
		if f.After > shortest {
			t.Errorf("%s waits for %s", f.Kind, f.After)
		}
	}
	if !slices.Equal(kinds, []string{"kill", "cut"}) || s.Faults[0].Draw != 11 || s.Faults[1].Draw != 23 {
		t.Errorf("left are %+v", s.Faults)
	}
	if s.Load != (script.Load{Nodes: 1, Clients: 2}) || s.Cluster.Replicas != 3 || s.Cluster.Yields != 0 || len(s.Cluster.Queues) != 1 {
		t.Errorf("left are %+v, %+v", s.Load, s.Cluster)
	}
	if s.Length > second || Invariant(small.Outcome) != "S4" || told == 0 {
		t.Errorf("%s of time, %v, told %d times", s.Length, small.Violations, told)
	}
	if plays > 400 {
		t.Errorf("it took %d runs", plays)
	}
	if drawn := drawn(); !slices.Equal(failed.Script.Faults, drawn.Faults) {
		t.Error("the script that it began with has changed")
	}
}

// TestShrinkEnds checks that Shrink keeps its limits, and that it returns the best run so far if a
// run returns an error.
func TestShrinkEnds(t *testing.T) {
	plays := 0
	k := &Shrinker{Plays: 5, Play: func(_ context.Context, s script.Script) (Finding, error) {
		plays++
		return bug(s), nil
	}}
	if small, err := k.Shrink(t.Context(), bug(drawn())); err != nil || plays > 5 || len(small.Script.Faults) >= 40 {
		t.Errorf("Shrink with a limit of 5: %v after %d runs, want at most 5 runs and fewer than 40 faults: %s",
			err, plays, Describe(small.Script))
	}
	broken := errors.New("no memory")
	k = &Shrinker{Play: func(context.Context, script.Script) (Finding, error) { return Finding{}, broken }}
	if small, err := k.Shrink(t.Context(), bug(drawn())); !errors.Is(err, broken) || !small.Failed() {
		t.Errorf("Shrink whose runs break: %v, %s, want %v and the script that failed",
			err, small.Line(), broken)
	}
}

// TestWithout checks that the faults after a removed fault keep their times.
func TestWithout(t *testing.T) {
	f := bug(drawn())
	s := withoutFaults(f, 1, 3)
	if len(s.Faults) != 38 || s.Faults[1].Draw != 3 || s.Faults[1].After != 6*second+second/5 {
		t.Errorf("withoutFaults(f, 1, 3): %d faults, the second %+v, want 38, with draw 3 after 6.2 s",
			len(s.Faults), s.Faults[1])
	}
}

// TestInvariant checks the names of violations.
func TestInvariant(t *testing.T) {
	for text, want := range map[string]string{"S1: a sees 3": "S1", "L3: still there": "L3", "crash: panic: boom": "crash: panic: boom",
		"index 17: node n3 gives too much": "index node gives too much", "replica b stopped itself with code 74: x": "replica stopped itself with code"} {
		if got := Invariant(script.Outcome{Violations: []string{text}}); got != want {
			t.Errorf("%q is named %q, not %q", text, got, want)
		}
	}
	if got := Invariant(script.Outcome{}); got != "" {
		t.Errorf("no violation is named %q", got)
	}
}

// TestKeep checks that Keep writes a script that can be read.
func TestKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	f := bug(drawn())
	path, err := f.Keep(dir, "seed-9", "a story")
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Read(path)
	if err != nil || s.Name != "seed-9" || s.Story != "a story" || s.Invariant != "S4" || !slices.Equal(s.Faults, f.Script.Faults) {
		t.Errorf("Read of the kept script: %v, want seed-9 for S4 with its story and faults: %+v",
			err, s)
	}
}
