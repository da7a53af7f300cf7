package replay

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/workload/report"
	"rmd/workload/trace"
)

// TestFullDemo replays the demo trace with and without reservations. The trace
// is not part of the project: without it the test skips.
func TestFullDemo(t *testing.T) {
	dir := os.Getenv("RMD_TRACES")
	if dir == "" {
		dir = "../../../../../shared/traces"
	}
	path := filepath.Join(dir, "demo", "openb-demo.csv")
	if _, err := os.Stat(path); err != nil {
		t.Skip("the demo trace is not here; name the folder of traces in RMD_TRACES")
	}
	tr, err := trace.Read(path, trace.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := NodesFor("", path, tr)
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
}
