package leader

import (
	"sync/atomic"
	"testing"

	"rmd/scheduler/input"
)

// instantLog applies entries at once, so that a benchmark measures only the sequencer.
type instantLog struct{ index atomic.Uint64 }

type instant uint64

func (i instant) Wait() (uint64, error) { return uint64(i), nil }

func (l *instantLog) Propose([]byte) Future { return instant(l.index.Add(1)) }

// BenchmarkSequencer measures an input from Do to its reply, with concurrent callers. Budget: 5 µs
// (200,000 inputs a second on one core).
func BenchmarkSequencer(b *testing.B) {
	for name, req := range map[string]input.Request{"audit": audits(1), "heartbeat": heartbeat("a")} {
		b.Run(name, func(b *testing.B) {
			r := newFixture(b, func(c *Config) { c.Log, c.Outcome = new(instantLog), nil })
			stop := r.start(b.Context(), 1)
			defer stop()
			for {
				if _, _, err := r.Do(b.Context(), register("a")); err == nil {
					break
				}
			}
			r.planner.stamps = make([]int64, 0, 1<<24)
			b.SetParallelism(128)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, _, err := r.Do(b.Context(), req); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkWheel measures the touch for one heartbeat and its share of the ticks, with 50,000
// nodes.
func BenchmarkWheel(b *testing.B) {
	w := newWheel(0)
	for k := range uint64(50_000) {
		w.add(k, 0, 600_000)
	}
	now, k := int64(0), uint64(0)
	for b.Loop() {
		if k++; k == 50_000 {
			k, now = 0, now+1000
			w.collect(now, 600_000, func(uint64) bool { return true }, func(uint64) {})
		}
		w.touch(k, now)
	}
}
