package replay

import (
	"testing"

	"rmd/scheduler/capacity"
	"rmd/transport/http/v1/api"
	"rmd/workload/trace"
)

// TestMeasureShadow replays the day of the demo trace. It checks that a shadow with the same queues
// stays in step, and that a shadow without reservations predicts the waits of the large containers
// to within a tenth.
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
	if d := same.Beside; d.State != api.ShadowInStep || d.Digest != d.ClusterDigest || d.AtMillis-d.BeganMillis < 24*3600*1000 || d.Decided < 4000 || same.Actual != nil {
		t.Errorf("shadow without changes: state %s, digests %s and %s, %d ms long, %d decided, actual %+v; "+
			"want %s, equal digests, at least 24 h and 4000 decided, actual nil",
			d.State, d.Digest, d.ClusterDigest, d.AtMillis-d.BeganMillis, d.Decided, same.Actual, api.ShadowInStep)
	}
	other, err := MeasureShadow(t.Context(), o, []capacity.Property{{Name: noReservations, Value: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range other.Beside.Queues {
		cluster, said, then := q.Cluster.Waits, q.Shadow.Waits, other.Actual.Queues[i].Cluster.Waits
		t.Logf("%s: mean wait %d ms, said %d, then %d", q.Path, cluster.MeanMillis, said.MeanMillis, then.MeanMillis)
		if said.Count != then.Count {
			t.Errorf("%s: %d containers start, and then %d", q.Path, said.Count, then.Count)
		}
		if far := float64(said.MeanMillis) / float64(then.MeanMillis); q.Path == "root.train" && (far < 0.9 || far > 1.1) {
			t.Errorf("%s waits %d ms, and then %d", q.Path, said.MeanMillis, then.MeanMillis)
		}
	}
}
