package replay

import (
	"testing"

	"rmd/api"
	"rmd/scheduler/capacity"
	"rmd/workload/trace"
)

// TestMeasureShadow replays the day of the demo trace. It checks that a shadow with the same queues
// stays in step. It checks on copies of the trace that shadows without reservations predict the mean
// wait of the large containers to within a factor of two: the wait of a few dozen containers differs
// by more than that between two copies.
func TestMeasureShadow(t *testing.T) {
	tr, err := trace.Read(trace.Demo, trace.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := NodesFor("", trace.Demo, tr)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Trace: tr, Nodes: nodes, Scheduling: "eager", AM: true, Seed: 1}
	same, err := MeasureShadow(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := same.Beside; d.State != api.ShadowInStep || d.Digest != d.ClusterDigest ||
		d.AtMillis-d.BeganMillis < 24*3600*1000 || d.Decided < 3500 || same.Actual != nil {
		t.Errorf("shadow without changes: state %s, digests %s and %s, %d ms long, %d decided, actual %+v; "+
			"want %s, equal digests, at least 24 h and 3500 decided, actual nil",
			d.State, d.Digest, d.ClusterDigest, d.AtMillis-d.BeganMillis, d.Decided, same.Actual, api.ShadowInStep)
	}
	var saidAll, thenAll float64
	for k := range 6 {
		other, err := MeasureShadow(t.Context(), o.copied(k), []capacity.Property{{Name: noReservations, Value: "0"}})
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range other.Beside.Queues {
			cluster, said, then := q.Cluster.Waits, q.Shadow.Waits, other.Actual.Queues[i].Cluster.Waits
			t.Logf("copy %d, %s: mean wait %d ms, said %d, then %d", k, q.Path, cluster.MeanMillis, said.MeanMillis,
				then.MeanMillis)
			if said.Count != then.Count {
				t.Errorf("copy %d, %s: %d containers start, and then %d", k, q.Path, said.Count, then.Count)
			}
			if q.Path == "root.train" {
				saidAll, thenAll = saidAll+float64(said.MeanMillis), thenAll+float64(then.MeanMillis)
			}
		}
	}
	if far := saidAll / thenAll; far < 0.5 || far > 2 {
		t.Errorf("root.train is said to wait %.2f times as long as then", far)
	}
}
