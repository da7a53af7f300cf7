package replay

import (
	"os"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/workload/report"
	"rmd/workload/trace"
)

// TestDemo replays the demo trace with and without reservations.
func TestDemo(t *testing.T) {
	tr, err := trace.Read(trace.Demo, trace.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := NodesFor("", trace.Demo, tr)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	with, without, err := Run(t.Context(), Options{Trace: tr, Nodes: nodes, Without: true, Scheduling: "eager", AM: true, Seed: 1, Replicas: 3,
		Dir: t.TempDir(), Version: "test", Logger: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("both runs took %s", time.Since(began))
	if err := report.WriteText(os.Stdout, with, without); err != nil {
		t.Fatal(err)
	}
	if with.Reservations.Fulfilled == 0 || without.Reservations.Made != 0 {
		t.Fatalf("reservations fulfilled with: %d, made without: %d", with.Reservations.Fulfilled, without.Reservations.Made)
	}
	if with.Large.P95Millis >= without.Large.P95Millis {
		t.Errorf("large containers wait %d ms (p95) with reservations, %d without", with.Large.P95Millis, without.Large.P95Millis)
	}
	for _, c := range []struct {
		what        string
		millis      float64
		least, most time.Duration
	}{
		{"large containers with reservations", with.Large.MeanMillis, 12 * time.Minute, 16 * time.Minute},
		{"large containers without", without.Large.MeanMillis, 35 * time.Minute, 41 * time.Minute},
		{"small containers with reservations", with.Small.MeanMillis, 24 * time.Second, 34 * time.Second},
		{"small containers without", without.Small.MeanMillis, 4 * time.Second, 6 * time.Second},
	} {
		if d := time.Duration(c.millis * float64(time.Millisecond)); d < c.least || d > c.most {
			t.Errorf("%s wait %s on average, not %s to %s; README.md shows the figure", c.what, d, c.least, c.most)
		}
	}
}
