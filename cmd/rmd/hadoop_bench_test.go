package main

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/workload/hadoop"
)

// hadoopLoad drives three replicas in processes of their own through Hadoop's protocols for the time
// of -benchtime at least.
func hadoopLoad(b *testing.B, kind hadoop.Kind, adjust func(*hadoop.Config)) *hadoop.Result {
	b.Helper()
	h := newHadoop(b, 3, "")
	h.write("capacity-scheduler.xml", queuesOf("root.queues=default root.default.capacity=100 root.default.user-limit-factor=10 "+
		"maximum-am-resource-percent=1 per-node-heartbeat.maximum-offswitch-assignments=100")...)
	for _, p := range h.all {
		h.start(p)
	}
	h.awaitReady(h.all...)
	cfg := hadoop.DefaultConfig(kind)
	cfg.Logger = hclog.NewNullLogger()
	for _, p := range h.all {
		cfg.PIDs = append(cfg.PIDs, p.cmd.Process.Pid)
		cfg.Addresses.Tracker = append(cfg.Addresses.Tracker, h.at[p].tracker)
		cfg.Addresses.Scheduler = append(cfg.Addresses.Scheduler, h.at[p].scheduler)
		cfg.Addresses.Client = append(cfg.Addresses.Client, h.at[p].client)
	}
	adjust(&cfg)
	var out *hadoop.Result
	for b.Loop() {
		r, err := hadoop.Run(b.Context(), cfg)
		if err != nil || r.Faults.Total() > 0 {
			b.Fatalf("%v %+v", err, r)
		}
		out = r
	}
	return out
}

// BenchmarkHadoopHeartbeats is heartbeats of idle NodeManagers, 32 in flight. The time is the
// processor time of all replicas together.
func BenchmarkHadoopHeartbeats(b *testing.B) {
	r := hadoopLoad(b, hadoop.Heartbeats, func(c *hadoop.Config) { c.Interval, c.Parallel = 0, 32 })
	b.ReportMetric(r.CPUPerHeartbeat, "cpu-µs/heartbeat")
	b.ReportMetric(r.Heartbeats.PerSecond, "heartbeats/s")
}

// BenchmarkHadoopContainers is the whole life of containers: asked for, allocated, started, completed
// and reported. The time is the processor time of all replicas together.
func BenchmarkHadoopContainers(b *testing.B) {
	r := hadoopLoad(b, hadoop.Allocations, func(c *hadoop.Config) { c.Warmup = 5 * time.Second })
	b.ReportMetric(r.CPUPerContainer, "cpu-µs/container")
	b.ReportMetric(r.Containers.PerSecond, "containers/s")
	b.ReportMetric((r.Heartbeats.PerSecond+r.Allocates.PerSecond)/r.Containers.PerSecond, "messages/container")
}
