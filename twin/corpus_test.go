package twin

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var record = flag.String("record", "",
	"folder of interop/fetch: play testdata again into Hadoop's scheduler and record what it holds")

// TestCorpus plays the histories that once showed a difference, and compares the result with the
// recorded observations of Hadoop's scheduler. It needs no Java.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { replay(t, path) })
	}
}

func replay(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := ParseRecording(filepath.Base(path), string(text))
	if *record != "" {
		hadoop, err := StartHadoop(*record)
		if err != nil {
			t.Fatal(err)
		}
		defer hadoop.Close()
		if r.Hadoop, err = hadoop.Play(r.History); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(r.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rmd, err := Play(r.History)
	if err != nil {
		t.Fatal(err)
	}
	if d := Compare(r.History, rmd, r.Hadoop); d != nil {
		t.Errorf("rmd differs from what Hadoop's CapacityScheduler held:\n%s", d.Report(r.History))
	}
}

// TestRecordingRoundTrip checks that a written recording is read back.
func TestRecordingRoundTrip(t *testing.T) {
	h := Parse("h", "set a b\nstart\nnode h0 /r0 1024,1\nbeat h0\n")
	r := &Recording{About: []string{"# why"}, History: h,
		Hadoop: []Observation{nil, {"cluster 0", "queue root"}, {"cluster 1", "queue root"}, {"cluster 1"}}}
	again := ParseRecording("h", r.String())
	if again.String() != r.String() || Compare(h, again.Hadoop, r.Hadoop) != nil {
		t.Errorf("wrote\n%s\nread\n%s", r, again)
	}
}

// TestShrinkKeepsTheDifference checks that the result of Shrink shows the same difference, and that
// no step or word of it is superfluous.
func TestShrinkKeepsTheDifference(t *testing.T) {
	h := Parse("h", "start\nnode a\nbeat a run=1.1 done=1.2\nnode b\nbeat b\nlose a\n")
	differs := func(h *History) *Difference {
		var a bool
		for i, s := range h.Steps {
			a = a || s.String() == "node a"
			if a && s.Is("beat") && strings.Contains(s.String(), "done=1.2") {
				return &Difference{Step: i, After: "beat", Rmd: []string{"node x"}}
			}
		}
		return nil
	}
	small, d := Shrink(h, differs(h), differs)
	if small.String() != "node a\nbeat a done=1.2\n" {
		t.Errorf("left %v:\n%s", d, small)
	}
}

// TestGenerateIsTheSameForASeed checks that a seed always gives the same history, and that rmd's
// planner decides by the history alone.
func TestGenerateIsTheSameForASeed(t *testing.T) {
	for seed := range uint64(20) {
		generate := func() (*History, []Observation, error) {
			if seed%5 == 0 {
				return GenerateQuiet(seed)
			}
			return Generate(seed, nil, seed%2 == 0, seed%4 == 0)
		}
		a, held, err := generate()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		b, _, _ := generate()
		if a.String() != b.String() {
			t.Errorf("seed %d gives two histories", seed)
		}
		again, err := Play(a)
		if d := Compare(a, held, again); d != nil || err != nil {
			t.Errorf("seed %d: rmd's planner held something else when the history was played again: %v, %v", seed, d, err)
		}
	}
}
