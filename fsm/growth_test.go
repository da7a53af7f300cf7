package fsm

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"
)

// BenchmarkGrowth measures the cost of states of different sizes: memory per object beyond that of
// a small state, the time per event, per fork, per snapshot without its disk, and per restore. It
// measures each once.
func BenchmarkGrowth(b *testing.B) {
	for _, kind := range []struct {
		name  string
		sizes []int
		full  func(n int) fullness
	}{
		{"containers", []int{1_000_000, 2_000_000, 5_000_000, 10_000_000},
			func(n int) fullness { return fullness{nodes: 50_000, containers: n} }},
		{"nodes", []int{1000, 10_000, 50_000, 100_000}, func(n int) fullness { return fullness{nodes: n} }},
		{"queues", []int{100, 1000, 10_000}, func(n int) fullness { return fullness{queues: n} }},
		{"ended", []int{10_000, 100_000, 1_000_000}, func(n int) fullness { return fullness{ended: n} }},
	} {
		for _, n := range kind.sizes {
			b.Run(fmt.Sprintf("%s=%d", kind.name, n), func(b *testing.B) { benchmarkGrowth(b, kind.full(0), kind.full(n), n) })
		}
	}
}

func benchmarkGrowth(b *testing.B, small, large fullness, n int) {
	for b.Loop() { // measure once; the results follow
	}
	heapBefore := heapInUse()
	without := filled(small)
	heapSmall := heapInUse()
	m := filled(large)
	b.ReportMetric((float64(heapInUse()-heapSmall)-float64(heapSmall-heapBefore))/float64(n), "bytes/object")
	runtime.KeepAlive(without)

	pending, err := m.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	s := &sink{}
	b.ReportMetric(millis(func() { err = pending.Persist(s) }), "snapshot-ms")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.Len())/float64(n), "snapshot-bytes/object")
	b.ReportMetric(millis(func() { err = New(Config{}).Restore(io.NopCloser(bytes.NewReader(s.Bytes()))) }), "restore-ms")
	if err != nil {
		b.Fatal(err)
	}
	s = nil

	c := newChurner(b, m)
	const turns, forks = 200, 100
	for range turns { // the first writes after a fork copy pages
		c.turn(b)
	}
	b.ReportMetric(millis(func() {
		for range turns {
			c.turn(b)
		}
	})*1e6/turns/1000, "ns/event")
	forked := 0.0
	for range forks {
		c.turn(b) // pages written since the last fork make the next one slower
		forked += millis(func() { m.Fork() })
	}
	b.ReportMetric(forked/forks, "fork-ms")
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // the first run may leave memory that finalizers kept alive
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func millis(work func()) float64 {
	began := time.Now()
	work()
	return float64(time.Since(began).Microseconds()) / 1000
}
