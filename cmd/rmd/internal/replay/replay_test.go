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
	with, without, err := Run(t.Context(), Options{Trace: tr, Nodes: nodes, Without: true, Scheduling: "eager", AM: true,
		Seed: 1, Replicas: 1,
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
	if with.Large.MaxMillis >= without.Large.MaxMillis {
		t.Errorf("a large container waits %d ms with reservations, %d without", with.Large.MaxMillis, without.Large.MaxMillis)
	}
	for _, c := range []struct {
		what        string
		millis      float64
		least, most time.Duration
	}{
		{"large containers with reservations", with.Large.MeanMillis, 5 * time.Minute, 7 * time.Minute},
		{"large containers without", without.Large.MeanMillis, 4 * time.Minute, 6 * time.Minute},
		{"small containers with reservations", with.Small.MeanMillis, 14 * time.Second, 22 * time.Second},
		{"small containers without", without.Small.MeanMillis, 4 * time.Second, 7 * time.Second},
	} {
		if d := time.Duration(c.millis * float64(time.Millisecond)); d < c.least || d > c.most {
			t.Errorf("%s wait %s on average, not %s to %s; docs/operations/replay.md shows the figure", c.what, d,
				c.least, c.most)
		}
	}
}
