package planner

import (
	"fmt"
	"runtime"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// BenchmarkPreemptionRound measures one round on 10,000 nodes, 1,000 leaves and 10,000
// applications. idle: a round with nothing to do. first: half of the leaves have nothing and are
// owed their guarantee. later: the warnings of earlier rounds exist. limited: first, with a limit
// on lost work. ranked: later, with priorities of queues and an even share of what is left. The
// budget is 20 ms.
func BenchmarkPreemptionRound(b *testing.B) {
	w := newPlant(b, plantSize{10_000, 1000, 10_000, 8, false, 0}, Options{})
	w.enablePreemption(b)
	w.ask(b, 16, func(i int) bool { return i%2 == 0 })
	w.fill(b)
	b.Run("idle", func(b *testing.B) { w.rounds(b, 0) })
	w.ask(b, 16, func(i int) bool { return i%2 == 1 })
	b.Run("first", func(b *testing.B) { w.rounds(b, 0) })
	b.Run("later", func(b *testing.B) { w.rounds(b, 3) })
	w.set(b, input.Property{Name: confPrefix + "preemption.max-lost-work-ms", Value: "60000"})
	b.Run("limited", func(b *testing.B) { w.rounds(b, 0) })
	w.set(b, ranked(1000)...)
	b.Run("ranked", func(b *testing.B) { w.rounds(b, 3) })
}

// ranked gives the queues below root three priorities in turn, for which rounds may preempt at
// once, and lets queues that have their guarantee share evenly what is left.
func ranked(queues int) []input.Property {
	const underutilized = confPrefix + "ordering-policy.priority-utilization.underutilized-preemption."
	const balance = "yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied."
	keys := []input.Property{{Name: confPrefix + "root.ordering-policy", Value: "priority-utilization"},
		{Name: underutilized + "enabled", Value: "true"},
		{Name: underutilized + "reserved-container-delay-ms", Value: "0"},
		{Name: underutilized + "allow-move-reservation", Value: "true"},
		{Name: balance + "enabled", Value: "true"}, {Name: confPrefix + "preemption.max-lost-work-ms", Value: "-1"}}
	for i := range queues {
		keys = append(keys, input.Property{Name: fmt.Sprintf("%sroot.q%d.priority", confPrefix, i), Value: fmt.Sprint(i % 3)})
	}
	return keys
}

// BenchmarkPreemptionInside measures a round inside queues on a cluster of the same size. In each
// leaf the younger half of the applications has everything and the older half wants it. The budget
// is 20 ms.
func BenchmarkPreemptionInside(b *testing.B) {
	w := newPlant(b, plantSize{10_000, 1000, 10_000, 8, false, 0}, Options{})
	const inside = "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption."
	w.enablePreemption(b, input.Property{Name: inside + "enabled", Value: "true"},
		input.Property{Name: inside + "preemption-order-policy", Value: "priority_first"})
	w.ask(b, 16, func(i int) bool { return i >= 5000 })
	w.fill(b)
	b.Run("idle", func(b *testing.B) { w.rounds(b, 0) })
	w.ask(b, 16, func(i int) bool { return i < 5000 })
	b.Run("first", func(b *testing.B) { w.rounds(b, 0) })
	b.Run("later", func(b *testing.B) { w.rounds(b, 3) })
}

// ask makes the chosen applications ask for containers.
func (w *plant) ask(tb testing.TB, count int64, of func(i int) bool) {
	for i, at := range w.apps {
		if of(i) {
			w.must(tb, &input.Allocate{Attempt: at, Response: w.p.st.Apps.Get(w.p.st.Apps.ByID(at.App)).Response,
				Asks: []input.Ask{{Key: yarn.SchedulerKey{Priority: 1},
					Name: yarn.Any, Count: count, Size: yarn.NewResource(2048, 1), Relax: true}}})
		}
	}
}

// fill fills all nodes, then advances the time by an hour.
func (w *plant) fill(tb testing.TB) {
	for range 2 {
		for _, id := range w.nodes {
			w.must(tb, &input.NodeHeartbeat{ID: id})
		}
	}
	w.now += 3_600_000
}

// enablePreemption switches preemption on, without a limit on lost work.
func (w *plant) enablePreemption(tb testing.TB, more ...input.Property) {
	w.set(tb, append(more, input.Property{Name: "yarn.resourcemanager.scheduler.monitor.enable", Value: "true"},
		input.Property{Name: confPrefix + "preemption.max-lost-work-ms", Value: "-1"})...)
}

// set adds or changes keys of the configuration. The last one of equal names counts.
func (w *plant) set(tb testing.TB, keys ...input.Property) {
	in := &input.SetQueues{}
	for _, q := range w.p.Config().Properties() {
		in.Properties = append(in.Properties, input.Property{Name: q.Name, Value: q.Value})
	}
	in.Properties = append(in.Properties, keys...)
	w.must(tb, in)
}

// rounds measures one round after `after` others, each time on the same state.
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
		runtime.GC() // garbage of the rounds that are not measured
		b.StartTimer()
		_, list := p.Plan(now+3000, input.Request{Input: &input.PreemptionRound{}})
		events = len(list)
	}
	b.ReportMetric(float64(events), "events")
}
