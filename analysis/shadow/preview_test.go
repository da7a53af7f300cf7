package shadow

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
)

// recorded runs a workload on a cluster with additional keys, and returns the log of the run.
func recorded(t *testing.T, seed uint64, keys ...string) (Stretch, *cluster) {
	c := newCluster(t, keys...)
	c.flush()
	s := Stretch{State: c.p.State().Fork(), Index: c.index}
	c.tap = func(events []event.Event) { s.Entries = append(s.Entries, Entry{c.index, slices.Clone(events)}) }
	c.run(seed, 100)
	s.ToMillis = epoch + c.now.Milliseconds()
	return s, c
}

func previewed(t *testing.T, s Stretch) map[string]api.PreviewRun {
	t.Helper()
	d, err := Preview(s, DefaultOptions(), func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]api.PreviewRun{}
	for _, r := range d.Runs {
		out[r.Name] = r
	}
	return out
}

// TestPreview compares the preview of preemption with what happens when preemption is on. The
// results must be similar. For the configuration of the cluster itself the preview must be exact.
func TestPreview(t *testing.T) {
	// All keys except the one that turns preemption on, and no limit on the lost work.
	keys := append(slices.Clone(preemption[1:]), "yarn.scheduler.capacity.preemption.max-lost-work-ms=-1")
	var said, then struct{ killed, waited, waits int64 }
	for _, seed := range []uint64{0, 3} {
		without, c := recorded(t, seed, keys...)
		digest := c.p.State().Digest()
		runs := previewed(t, without)
		if c.p.State().Digest() != digest {
			t.Error("it has changed the cluster")
		}
		if again := previewed(t, without); seed == 0 && !reflect.DeepEqual(runs, again) {
			t.Error("once more it differs")
		}
		with, _ := recorded(t, seed, append(slices.Clone(keys), preemption[0])...)
		off, planned, happened := runs[api.PreviewOff], runs[api.PreviewPlanned], previewed(t, with)[api.PreviewPlanned]
		if _, more := runs[api.PreviewCluster]; more || !off.Exact || off.Killed+off.Warned+off.LostMillis != 0 ||
			off.Owed.Count == 0 {
			t.Errorf("as it was: %+v", off)
		}
		if planned.Exact || planned.LostMillis == 0 || planned.Lost["memory-mb"] == 0 || runs[api.PreviewYARN].Killed == 0 {
			t.Errorf("planned: %+v", planned)
		}
		if !happened.Exact {
			t.Errorf("with preemption: %+v", happened)
		}
		if planned.Owed.MeanMillis >= off.Owed.MeanMillis {
			t.Errorf("it waits no less with preemption: %+v, without %+v", planned.Owed, off.Owed)
		}
		said.killed, said.waited, said.waits = said.killed+planned.Killed,
			said.waited+planned.Owed.MeanMillis*planned.Owed.Count, said.waits+planned.Owed.Count
		then.killed, then.waited, then.waits = then.killed+happened.Killed,
			then.waited+happened.Owed.MeanMillis*happened.Owed.Count, then.waits+happened.Owed.Count
	}
	t.Logf("said %+v, then %+v", said, then)
	if said.killed == 0 || then.killed == 0 { // too few kills to compare their numbers
		t.Errorf("it said that %d are killed, and then %d were", said.killed, then.killed)
	}
	if a, b := said.waited/said.waits, then.waited/then.waits; 2*a < b || a > 2*b {
		t.Errorf("it said that a queue waits for %d ms, and then %d", a, b)
	}
}

// TestPreviewRoundsWithoutEntries checks that rounds of preemption run in a time without log
// entries.
func TestPreviewRoundsWithoutEntries(t *testing.T) {
	s, _ := recorded(t, 2, preemption[1:]...)
	last := slices.IndexFunc(s.Entries, func(e Entry) bool { return e.Index > s.Index+200 })
	st := s.State.Fork()
	for _, e := range s.Entries[:last] {
		for _, x := range e.Events {
			if err := st.Apply(x); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Entries, s.ToMillis = s.Entries[:last], st.Meta.NowMillis+60_000
	if planned := previewed(t, s)[api.PreviewPlanned]; planned.Killed == 0 {
		t.Errorf("planned preview = %+v, want containers killed", planned)
	}
}

// TestPreviewNotFollowed checks that the text does not deny the containers that the cluster started.
func TestPreviewNotFollowed(t *testing.T) {
	d := &api.PreemptionPreview{Runs: []api.PreviewRun{{Name: api.PreviewCluster, Started: 354}, {Name: api.PreviewOff}}}
	if got := previewText(d); !strings.Contains(got, "started no container, the cluster 354") {
		t.Errorf("text %q", got)
	}
	d.Runs[0].Started = 0
	if got := previewText(d); got != "No container started in this time." {
		t.Errorf("text %q without containers", got)
	}
}

// TestPreviewRefuses checks that Preview refuses a state without queues, and stops when stop
// returns true.
func TestPreviewRefuses(t *testing.T) {
	never := func() bool { return false }
	if _, err := Preview(Stretch{State: state.New()}, DefaultOptions(), never); err == nil {
		t.Error("a state without queues is played")
	}
	s, _ := recorded(t, 1, preemption[1:]...)
	if _, err := Preview(s, DefaultOptions(), func() bool { return true }); !errors.Is(err, ErrStopped) {
		t.Errorf("Preview when it shall stop = %v, want ErrStopped", err)
	}
}
