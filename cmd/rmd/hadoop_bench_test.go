package main

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/hadoop/ipc"
	"rmd/workload/hadoop"
)

// hadoopLoad loads three replicas in separate processes through Hadoop's protocols, at least for
// the time of -benchtime.
func hadoopLoad(b *testing.B, kind hadoop.Kind, adjust func(*hadoop.Config, *hadoopCluster)) *hadoop.Result {
	b.Helper()
	return loadHadoop(b, newHadoop(b, 3, ""), kind, adjust)
}

// loadHadoop loads the replicas of a cluster that has not started.
func loadHadoop(b *testing.B, h *hadoopCluster, kind hadoop.Kind,
	adjust func(*hadoop.Config, *hadoopCluster)) *hadoop.Result {
	b.Helper()
	h.write("capacity-scheduler.xml", queuesOf(
		"root.queues=default root.default.capacity=100 root.default.user-limit-factor=10 "+
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
	adjust(&cfg, h)
	var out *hadoop.Result
	for b.Loop() {
		r, err := hadoop.Run(b.Context(), cfg)
		if err != nil || r.Faults.Total() > 0 {
			b.Fatalf("Run: %v, want no error and no faults; result %+v", err, r)
		}
		out = r
	}
	return out
}

// BenchmarkHadoopHeartbeats measures heartbeats of idle NodeManagers, 32 at a time. The reported
// time is the processor time of all replicas together.
func BenchmarkHadoopHeartbeats(b *testing.B) {
	r := hadoopLoad(b, hadoop.Heartbeats, func(c *hadoop.Config, _ *hadoopCluster) { c.Interval, c.Parallel = 0, 32 })
	b.ReportMetric(r.CPUPerHeartbeat, "cpu-µs/heartbeat")
	b.ReportMetric(r.Heartbeats.PerSecond, "heartbeats/s")
}

// BenchmarkHadoopContainers measures the whole life of containers: requested, allocated, started,
// completed and reported. The reported time is the processor time of all replicas together.
func BenchmarkHadoopContainers(b *testing.B) {
	r := hadoopLoad(b, hadoop.Allocations, func(c *hadoop.Config, _ *hadoopCluster) { c.Warmup = 5 * time.Second })
	b.ReportMetric(r.CPUPerContainer, "cpu-µs/container")
	b.ReportMetric(r.Containers.PerSecond, "containers/s")
	b.ReportMetric((r.Heartbeats.PerSecond+r.Allocates.PerSecond)/r.Containers.PerSecond, "messages/container")
}

// BenchmarkHadoopProtection measures the same under each quality of protection, beside a cluster without
// Kerberos.
func BenchmarkHadoopProtection(b *testing.B) {
	for _, q := range []struct {
		name  string
		takes ipc.Protection
	}{{"none", 0}, {"authentication", ipc.Authentication}, {"integrity", ipc.Integrity}, {"privacy", ipc.Privacy}} {
		b.Run(q.name, func(b *testing.B) {
			var h *hadoopCluster
			if q.takes == 0 {
				h = newHadoop(b, 3, "")
			} else {
				h = newSecured(b, 3, "hadoop.rpc.protection", q.name)
			}
			r := loadHadoop(b, h, hadoop.Allocations, func(c *hadoop.Config, h *hadoopCluster) {
				c.Warmup, c.Caller, c.Protection = 5*time.Second, h.caller, q.takes
				if h.ticket != nil {
					c.User, c.NodeUser = "bench@TEST", "nm/127.0.0.1@TEST"
				}
			})
			b.ReportMetric(r.CPUPerContainer, "cpu-µs/container")
			b.ReportMetric(r.Containers.PerSecond, "containers/s")
		})
	}
}

// BenchmarkHadoopReports measures the heartbeats that report completed containers, and the commits
// of the same time from the proposal of an entry until the leader has applied it. The load is eight
// heartbeats and eight AM calls at a time. With more calls than the cores can serve, it would
// measure the length of the queue. The replicas report how long they take for all heartbeats. The
// rest of a heartbeat's time is outside of the replicas. ms/report-inside is the time of a report
// without this rest.
func BenchmarkHadoopReports(b *testing.B) {
	var at []timings
	r := hadoopLoad(b, hadoop.Allocations, func(c *hadoop.Config, h *hadoopCluster) {
		c.Warmup, c.Interval, c.MasterInterval, c.Parallel = 5*time.Second, 0, 0, 8
		leader := h.leader()
		c.OnPhase = func(what string) {
			if strings.HasPrefix(what, "measuring") || len(at) == 1 { // at the beginning and at the end of the measurement
				at = append(at, timingsOf(b, leader, h.all))
			}
		}
	})
	from, to := at[len(at)-2], at[len(at)-1]
	b.ReportMetric(r.Reports.Mean, "ms/report")
	b.ReportMetric(to.commit.since(from.commit), "ms/commit")
	outside := r.Heartbeats.Mean - to.leader.and(to.followers).since(from.leader.and(from.followers))
	b.ReportMetric(r.Reports.Mean-outside, "ms/report-inside")
	b.ReportMetric(to.leader.since(from.leader), "ms/heartbeat-leader")
	b.ReportMetric(to.followers.since(from.followers), "ms/heartbeat-follower")
	b.ReportMetric(r.Containers.PerSecond, "containers/s")
}

// timing is the number of operations since the replicas started, and their total duration.
type timing struct{ seconds, count float64 }

// since returns the mean duration in milliseconds of the operations after from.
func (s timing) since(from timing) float64 {
	return (s.seconds - from.seconds) / (s.count - from.count) * 1000
}

func (s timing) and(o timing) timing { return timing{s.seconds + o.seconds, s.count + o.count} }

// timings has the leader's commits, and the heartbeats that the leader and the followers answered.
type timings struct{ commit, leader, followers timing }

func timingsOf(b *testing.B, leader *process, all []*process) (s timings) {
	b.Helper()
	const heartbeat = `rmd_ipc_seconds_%s{method="nodeHeartbeat",`
	for _, p := range all {
		to := &s.followers
		if p == leader {
			to = &s.leader
			s.commit.add(b, p, "rmd_raft_commit_seconds_%s")
		}
		to.add(b, p, heartbeat)
	}
	return s
}

// add adds the values of a histogram of a replica. name may be a prefix of the series; its %s
// stands for sum and count.
func (s *timing) add(b *testing.B, p *process, name string) {
	b.Helper()
	resp, err := http.Get("http://" + p.http + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	found := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		at, value, _ := strings.Cut(lines.Text(), " ")
		for part, to := range map[string]*float64{"sum": &s.seconds, "count": &s.count} {
			if !strings.HasPrefix(at, fmt.Sprintf(name, part)) {
				continue
			}
			x, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			*to += x
			found++
		}
	}
	if found != 2 {
		b.Fatalf("replica %s has no %s", p.id, name)
	}
}
