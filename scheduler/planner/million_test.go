package planner

import (
	"testing"

	"rmd/yarn"
)

// BenchmarkNewMillion measures how long a new leader takes to build its planner for the largest
// cluster that rmd supports: 1,000,000 containers, 10,000 nodes, 100,000 applications. The budget
// is 300 ms.
func BenchmarkNewMillion(b *testing.B) {
	w := newPlant(b, plantSize{10_000, 100, 100_000, 100, false, 0}, Options{})
	w.demand(b, yarn.NewResource(2048, 1))
	for range w.nodes {
		w.turn(b)
	}
	b.ReportMetric(float64(w.p.st.Containers.Len()), "containers")
	for b.Loop() {
		must(New(w.p.st, Options{}))
	}
}
