package hadoop

import (
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// TestQueueLabels checks the labels of a queue and its shares of their nodes, before and after a
// node gets a label.
func TestQueueLabels(t *testing.T) {
	p, err := planner.New(state.New(), planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := int64(1_780_000_000_000)
	do := func(in input.Input) {
		t.Helper()
		now++
		if reply, _ := p.Plan(now, input.Request{Input: in}); reply.Refused() != nil {
			t.Fatalf("%T was refused: %v", in, reply.Refused())
		}
	}
	const root = "yarn.scheduler.capacity.root."
	do(&input.InitCluster{ClusterID: "c", ClusterTimestamp: now,
		Properties: []input.Property{{Name: "yarn.node-labels.enabled", Value: "true"},
			{Name: root + "queues", Value: "a,b"}, {Name: root + "a.capacity", Value: "50"},
			{Name: root + "b.capacity", Value: "50"},
			{Name: root + "accessible-node-labels.gpu.capacity", Value: "100"},
			{Name: root + "a.accessible-node-labels", Value: "gpu"}, {Name: root + "b.accessible-node-labels", Value: " "},
			{Name: root + "a.accessible-node-labels.gpu.capacity", Value: "100"},
			{Name: root + "a.accessible-node-labels.gpu.maximum-am-resource-percent", Value: "0.25"}}})
	do(&input.SetLabels{Labels: []input.Label{{Name: "gpu"}, {Name: "spot"}}})
	for _, host := range []string{"n1", "n2"} {
		do(&input.RegisterNode{ID: yarn.NodeID{Host: host, Port: 1}, Rack: "/r", Total: yarn.NewResource(8192, 8)})
	}
	q := new(queueView)
	show := func(path string) (labels int, usual, gpu yarn.Resource) {
		t.Helper()
		st := p.State().Fork()
		d, ok := q.Queue(st, st.Queues.Find(path))
		if !ok {
			t.Fatalf("there is no %s", path)
		}
		if len(d.Labels) > 0 {
			if l := d.Labels[0]; l.Label != "gpu" || l.Capacity != 1 || l.MaxAMShare != 0.25 {
				t.Errorf("%s has %+v", path, l)
			}
			gpu = d.Labels[0].EffectiveMin
		}
		return len(d.Labels), d.EffectiveMin, gpu
	}
	if n, usual, gpu := show("root.a"); n != 1 || usual != yarn.NewResource(8192, 8) || !gpu.IsZero() {
		t.Errorf("without nodes of the label: %d, %v, %v", n, usual, gpu)
	}
	do(&input.LabelNodes{Nodes: []input.LabelledNode{{ID: yarn.NodeID{Host: "n1"}, Labels: []string{"gpu"}}}})
	if n, usual, gpu := show("root.a"); n != 1 || usual != yarn.NewResource(4096, 4) || gpu != yarn.NewResource(8192, 8) {
		t.Errorf("with a node of the label: %d, %v, %v", n, usual, gpu)
	}
	if n, _, _ := show("root.b"); n != 0 {
		t.Errorf("a queue that may use none shows %d", n)
	}
}
