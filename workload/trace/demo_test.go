package trace

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestDemo checks that the demo trace requests 53 % of the GPU time, 49 % of the CPU time and 44 %
// of the memory of its nodes.
func TestDemo(t *testing.T) {
	tr, err := Read(Demo, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "format", tr.Format, FormatRMD)
	want(t, "rows", tr.Rows, 1192)
	want(t, "jobs", len(tr.Jobs), 1192)
	want(t, "containers", containers(tr), 1192)
	want(t, "nodes", len(tr.Nodes), 4)
	sound(t, tr)
	var have, offered [3]float64
	for _, n := range tr.Nodes {
		have[0], have[1], have[2] = have[0]+float64(n.GPUs), have[1]+float64(n.VCores), have[2]+float64(n.MemoryMB)
	}
	large := 0
	for _, j := range tr.Jobs {
		g := j.Tasks[0]
		s := g.Duration.Seconds() * float64(g.Count)
		offered[0], offered[1], offered[2] = offered[0]+float64(g.GPUs)*s, offered[1]+float64(g.VCores)*s,
			offered[2]+float64(g.MemoryMB)*s
		if g.GPUs >= 4 {
			large++
		}
	}
	want(t, "tasks with 4 GPUs and more", large, 54)
	for i, expected := range []float64{0.53, 0.49, 0.44} {
		if got := offered[i] / have[i] / 86400; math.Abs(got-expected) > 0.01 {
			t.Errorf("resource %d: %.3f offered, want %.2f", i, got, expected)
		}
	}
}

// TestDemoNodes checks that a list of nodes replaces the demo's nodes.
func TestDemoNodes(t *testing.T) {
	tr, err := Read(Demo, Options{Nodes: filepath.Join("testdata", "nodes.csv")})
	if err != nil {
		t.Fatal(err)
	}
	named, err := ReadNodes(filepath.Join("testdata", "nodes.csv"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "first node", tr.Nodes[0].Name, named[0].Name)
}

// TestFileNamedDemo checks that ./demo is a file.
func TestFileNamedDemo(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "rmd.csv"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile(Demo, data, 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := Read("./"+Demo, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Jobs) == 1192 {
		t.Error("./demo was read as the demo")
	}
}
