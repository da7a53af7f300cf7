package planner

import (
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// BenchmarkLabelNodes changes the label of 10,000 nodes in one command, through the planner and the
// state. The nodes run 80,000 containers of 1,000 applications. The budget is 100 ms.
func BenchmarkLabelNodes(b *testing.B) {
	w := newPlant(b, plantSize{10_000, 100, 1000, 8, false, 0}, Options{})
	props := []input.Property{{Name: "yarn.node-labels.enabled", Value: "true"}}
	for _, q := range w.p.Config().Properties() {
		props = append(props, input.Property{Name: q.Name, Value: q.Value})
		if path, ok := strings.CutSuffix(q.Name, ".capacity"); ok {
			props = append(props, input.Property{Name: path + ".accessible-node-labels.x.capacity", Value: q.Value})
		}
	}
	w.must(b, &input.SetQueues{Properties: props})
	w.must(b, &input.SetLabels{Labels: []input.Label{{Name: "x", Exclusive: true}}})
	w.demand(b, yarn.NewResource(2048, 1))
	for range w.nodes {
		w.turn(b)
	}
	in := &input.LabelNodes{}
	for _, id := range w.nodes {
		in.Nodes = append(in.Nodes, input.LabelledNode{ID: id})
	}
	label := []string{"x"}
	b.ReportAllocs()
	for b.Loop() {
		for i := range in.Nodes {
			in.Nodes[i].Labels = label
		}
		w.must(b, in)
		if len(label) > 0 {
			label = nil
		} else {
			label = []string{"x"}
		}
	}
	b.ReportMetric(float64(w.p.st.Containers.Len()), "containers")
}
