package main

import (
	"fmt"
	"testing"
	"time"

	"rmd/internal/quantile"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// BenchmarkShadow asks for one container at a time at the leader's API, alternately without and
// with a shadow on a follower, and compares the latencies.
func BenchmarkShadow(b *testing.B) {
	c := startProcesses(b, 3, defaults, "")
	call := newCaller(b, []string{c.leader().http})
	call.node("n1", 1<<20, "/r")
	id := call.application("u", "root.online")
	follower := c.others(c.leader())[0]
	var took [2]samples
	response := int32(0)
	ask := func(s *samples) {
		began := time.Now()
		r := must[*input.AllocateReply](call, &input.Allocate{Attempt: id, Response: response, Asks: asks(1, 1024)})
		s.add(time.Since(began))
		response = must[*input.AllocateReply](call,
			&input.Allocate{Attempt: id, Response: r.Response, Releases: []yarn.ContainerID{r.Granted[0].Container}}).Response
	}
	for range 200 { // warm the caches
		ask(&samples{})
	}
	const stretch, first = 1000, 50 // number of asks; the first ones run beside the command that changes the shadow
	n := 0
	for b.Loop() {
		with := n / stretch % 2
		if n%stretch == 0 && with == 1 {
			c.done("shadow", "start", "root.online.maximum-capacity=90", "--addr", follower.http)
		}
		if n%stretch < first {
			ask(&samples{})
		} else {
			ask(&took[with])
		}
		if n++; n%stretch == 0 && with == 1 {
			c.done("shadow", "stop", "--addr", follower.http)
		}
	}
	for i, name := range []string{"without", "with"} {
		all := took[i].take()
		for _, q := range []float64{0.5, 0.99} {
			b.ReportMetric(float64(quantile.Of(all, q).Microseconds())/1000, fmt.Sprintf("p%.0f-ms-%s", 100*q, name))
		}
	}
}
