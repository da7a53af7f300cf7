package main

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/internal/quantile"
	"rmd/scheduler/input"
	"rmd/workload/submit"
	"rmd/yarn"
)

// These benchmarks run three replicas in separate processes with synced stores. This process is the
// client and uses the public API.

// BenchmarkCluster measures decisions per second. A container is requested, allocated, reported to
// its AM, completed by its node, and reported again.
func BenchmarkCluster(b *testing.B) {
	c := startProcesses(b, 3, defaults, "")
	e := c.endless(crowd)
	for from := e.decisions(); e.decisions() < from+200_000 && !b.Failed(); { // fill the nodes and the caches
		time.Sleep(10 * time.Millisecond)
	}
	e.took.take()
	cpu, began, from := c.cpu(), time.Now(), e.decisions()
	b.ResetTimer()
	for e.decisions() < from+int64(b.N) && !b.Failed() {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	n, took := float64(e.decisions()-from), e.took.take()
	b.ReportMetric(n/time.Since(began).Seconds(), "decisions/s")
	b.ReportMetric(float64((c.cpu()-cpu).Microseconds())/n, "µs-cpu/decision")
	b.ReportMetric(float64(quantile.Of(took, 0.5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(quantile.Of(took, 0.99).Microseconds())/1000, "p99-ms")
}

// BenchmarkClusterAsk measures one ask at a time on an idle cluster, at the leader's API:
// allocation, commit on a majority, and reply.
func BenchmarkClusterAsk(b *testing.B) {
	c := startProcesses(b, 3, defaults, "")
	call := newCaller(b, []string{c.leader().http})
	call.node("n1", 1<<20, "/r")
	id := call.application("u", "root.online")
	var took samples
	response := int32(0)
	for b.Loop() {
		began := time.Now()
		r := must[*input.AllocateReply](call, &input.Allocate{Attempt: id, Response: response, Asks: asks(1, 1024)})
		took.add(time.Since(began))
		if len(r.Granted) != 1 {
			b.Fatalf("%d containers in the answer to the ask", len(r.Granted))
		}
		b.StopTimer()
		response = must[*input.AllocateReply](call,
			&input.Allocate{Attempt: id, Response: r.Response, Releases: []yarn.ContainerID{r.Granted[0].Container}}).Response
		b.StartTimer()
	}
	all := took.take()
	b.ReportMetric(float64(quantile.Of(all, 0.5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(quantile.Of(all, 0.99).Microseconds())/1000, "p99-ms")
}

const submitters = 64

// BenchmarkClusterSubmit measures durable submissions from 64 submitters, each with its own
// connection.
func BenchmarkClusterSubmit(b *testing.B) {
	c := startProcesses(b, 3, defaults, "")
	c.queues(crowd)
	cfg := submit.DefaultConfig()
	cfg.Addrs, cfg.Connections = c.addrs(), submitters
	way, err := submit.Open(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = way.Close() }()
	call := &caller{b, way}
	queue := crowd.paths()[0]
	var took samples
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for range submitters {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				began := time.Now()
				if _, err := call.ask(context.Background(),
					&input.SubmitApplication{User: "u", Queue: queue, Unmanaged: true}); err != nil {
					b.Error(err)
					return
				}
				took.add(time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := took.take()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "applications/s")
	b.ReportMetric(float64(quantile.Of(all, 0.5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(quantile.Of(all, 0.99).Microseconds())/1000, "p99-ms")
}
