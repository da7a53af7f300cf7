package planner

import (
	"runtime"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// BenchmarkPreemptionRound is a round on 10,000 nodes, 1,000 leaves and 10,000 applications: the first
// with half of the leaves owed everything, one later with the sets of the first standing, and one
// that finds nothing to do. The budget is 20 ms.
func BenchmarkPreemptionRound(b *testing.B) {
	w := newPlant(b, plantSize{10_000, 1000, 10_000, 8, false, 0}, Options{})
	w.enablePreemption(b)
	ask := func(which int, count int64) {
		for i, at := range w.apps {
			if i%2 == which {
				w.must(b, &input.Allocate{Attempt: at, Response: w.p.st.Apps.Get(w.p.st.AppByID(at.App)).Response, Asks: []input.Ask{{Key: yarn.SchedulerKey{Priority: 1},
					Name: yarn.Any, Count: count, Size: yarn.NewResource(2048, 1), Relax: true}}})
			}
		}
	}
	ask(0, 16)
	for range 2 {
		for _, id := range w.nodes {
			w.must(b, &input.NodeHeartbeat{ID: id})
		}
	}
	w.now += 3_600_000
	b.Run("idle", func(b *testing.B) { w.rounds(b, 0) })
	ask(1, 16)
	b.Run("first", func(b *testing.B) { w.rounds(b, 0) })
	b.Run("later", func(b *testing.B) { w.rounds(b, 3) })
}

func (w *plant) enablePreemption(tb testing.TB) {
	in := &input.SetQueues{Properties: []input.Property{{Name: "yarn.resourcemanager.scheduler.monitor.enable", Value: "true"}}}
	for _, q := range w.p.Config().Properties() {
		in.Properties = append(in.Properties, input.Property{Name: q.Name, Value: q.Value})
	}
	w.must(tb, in)
}

// rounds measures a round after some others, each time on the same state.
func (w *plant) rounds(b *testing.B, after int) {
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		b.StopTimer()
		p := must(New(w.p.st.Fork(), Options{}))
		now := w.now
		for range after {
			now += 3000
			p.Plan(now, input.Request{Input: &input.PreemptionRound{}})
		}
		runtime.GC() // what was left by the rounds that are not measured
		b.StartTimer()
		_, list := p.Plan(now+3000, input.Request{Input: &input.PreemptionRound{}})
		events = len(list)
	}
	b.ReportMetric(float64(events), "events")
}
