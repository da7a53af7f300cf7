package twin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// once plays histories on rmd's planner. The first time, its last observation is wrong.
type once struct{ played bool }

func (o *once) Play(h *History) ([]Observation, error) {
	out, err := Play(h)
	if !o.played {
		out = otherwise(out)
	}
	o.played = true
	return out, err
}

// otherwise returns out with another cluster in the last observation.
func otherwise(out []Observation) []Observation {
	last := len(out) - 1
	return append(append([]Observation{}, out[:last]...), append(Observation{"cluster 7,7 nodes=7"}, out[last][1:]...))
}

// TestUnrepeatedDifferenceFailsRun checks that a history that differs only once fails the run, and
// is printed and kept with its difference.
func TestUnrepeatedDifferenceFailsRun(t *testing.T) {
	h := Parse("seed-7",
		"set yarn.scheduler.capacity.root.queues a\nset yarn.scheduler.capacity.root.a.capacity 100\nstart\nnode h0 /r0 1024,1\nbeat h0\n")
	held, err := Play(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		hadoop scheduler
		rmd    []Observation
		want   string
	}{
		{"hadoop", &once{}, held,
			"# rmd    cluster 1024,1 nodes=1\n# Hadoop cluster 7,7 nodes=7\n# It did not differ when it was played again: Hadoop's scheduler held something else then.\n"},
		{"rmd", &once{played: true}, otherwise(held),
			"# rmd    cluster 7,7 nodes=7\n# Hadoop cluster 1024,1 nodes=1\n# It did not differ when it was played again: rmd's planner held something else then.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r := &runner{Flags: Flags{Out: t.TempDir(), Show: 1}, out: &out, intended: tally{}}
			if err := r.judge(c.hadoop, h, c.rmd, nil); err != nil {
				t.Fatal(err)
			}
			want := strings.TrimSuffix(h.String(), "\n") + "   # they differ after this step\n" + c.want
			if got := out.String(); got != "== seed-7 differs once\n"+want {
				t.Errorf("showed\n%s\nwant\n%s", got, want)
			}
			if kept, err := os.ReadFile(filepath.Join(r.Out, "seed-7.txt")); err != nil || string(kept) != want {
				t.Errorf("kept\n%s, %v\nwant\n%s", kept, err, want)
			}
			if r.differing != 1 {
				t.Errorf("%d histories differ, want 1", r.differing)
			}
		})
	}
}
