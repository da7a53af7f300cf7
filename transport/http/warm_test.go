package httpserver

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
)

// TestPrefetchWithoutRequests checks that the summary and the explainer are at most one
// PrefetchPause old, even long after the last request.
func TestPrefetchWithoutRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Pointer[state.State]
		var times atomic.Int64
		b := newBench(t, func(c *Config) {
			c.Prefetch = func(st *state.State) { seen.Store(st); times.Add(1) }
		})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		b.h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 180_000})
		now, index := b.h.Fork()
		time.Sleep(b.s.cfg.PrefetchPause)
		synctest.Wait()
		if seen.Load() != now {
			t.Error("an explainer would begin from an old state")
		}
		if c := b.s.views.Kept(); c == nil || c.Index() != index {
			t.Error("a list would begin from an old summary")
		}
		if n, most := times.Load(), int64(10*time.Minute/b.s.cfg.PrefetchPause)+3; n > most {
			t.Errorf("it was looked %d times, not %d", n, most)
		}
		if err := b.s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkPrefetch measures prefetch with 100,000 applications after some of them changed. The
// changed ones are far apart. Budget: 50 ms, which is 1 % of a core.
func BenchmarkPrefetch(b *testing.B) {
	const apps = 100_000
	w := newBench(b, nil)
	crowd(b, w.h, apps)
	for _, changed := range []uint32{0, 100, 5_000} {
		b.Run(fmt.Sprint(changed), func(b *testing.B) {
			priority := int32(0)
			w.s.prefetch()
			for b.Loop() {
				b.StopTimer()
				var events []event.Event
				priority++
				for i := range changed { // every tenth application has not ended
					events = append(events, &event.ApplicationReprioritized{App: 10 * (1 + i*(apps/10/changed)), Priority: priority})
				}
				w.h.apply(b, events...)
				b.StartTimer()
				w.s.prefetch()
			}
		})
	}
}
