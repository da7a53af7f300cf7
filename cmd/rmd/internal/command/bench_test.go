package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/cmd/rmd/internal/command/trial"
	"rmd/cmd/rmd/internal/local"
	"rmd/config"
	"rmd/internal/exitcode"
	"rmd/internal/portblock"
	load "rmd/workload/hadoop"
)

// hadoopCluster runs three replicas with Hadoop's ports and returns the directory of the Hadoop
// files that name them.
func hadoopCluster(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	free := portblock.Open(t)
	text := "<configuration>\n"
	put := func(name, value string) {
		text += fmt.Sprintf("<property><name>%s</name><value>%s</value></property>\n", name, value)
	}
	put("yarn.resourcemanager.ha.rm-ids", "rm1,rm2,rm3")
	for _, id := range []string{"rm1", "rm2", "rm3"} {
		for _, key := range []string{"", "scheduler.", "resource-tracker.", "admin."} {
			put("yarn.resourcemanager."+key+"address."+id, portblock.Loopback(free.Take()))
		}
	}
	put("yarn.scheduler.capacity.root.queues", "default")
	put("yarn.scheduler.capacity.root.default.capacity", "100")
	put("yarn.scheduler.capacity.root.default.user-limit-factor", "10")
	put("yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments", "100")
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(text+"</configuration>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := local.Start(ctx, local.Options{Replicas: 3, Dir: t.TempDir(), Scheduling: "eager", Version: "test",
		Logger: hclog.NewNullLogger(),
		Adjust: func(_ int, k *config.Config) {
			k.HadoopConfDir = dir
			// a leader must not lose leadership when the machine is busy
			k.Raft.Heartbeat, k.Raft.Election, k.Raft.Lease = 2*time.Second, 2*time.Second, 2*time.Second
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return dir
}

func TestBenchOfThreeReplicas(t *testing.T) {
	dir := hadoopCluster(t)
	for _, line := range [][]string{
		{"bench", "heartbeat", "--nodes", "12", "--interval", "10ms"},
		{"bench", "heartbeat", "--nodes", "12", "--interval", "0", "--parallel", "4"},
		{"bench", "allocate", "--nodes", "12", "--masters", "4", "--batch", "10", "--node-containers", "8", "--interval",
			"20ms", "--am-interval", "10ms"},
		{"bench", "latency", "--nodes", "3", "--interval", "20ms", "--am-interval", "20ms"},
	} {
		for _, span := range []string{"500ms", "4s", "20s"} { // how much fits into a span depends on the machine
			r := rmd(t, nil, append(line, "--conf-dir", dir, "--warmup", "100ms", "--duration", span, "-q", "-o",
				"json", "--yes")...)
			var out load.Result
			if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.exit != exitcode.OK {
				t.Fatalf("rmd %s for %s: exit %d, want %d and JSON on stdout; decoding it: %v; stderr %q, stdout %q",
					strings.Join(line, " "), span, r.exit, exitcode.OK, err, r.err, r.out)
			}
			if out.Faults.Total() != 0 {
				t.Fatalf("rmd %s for %s: faults %+v, want none", strings.Join(line, " "), span, out.Faults)
			}
			calm := out.Heartbeats.Count > 0 && out.Heartbeats.Errors+out.Resyncs+out.Failovers == 0 && out.LastError == ""
			if calm && (line[1] == "heartbeat" || out.Containers.Done > 0) {
				break
			}
			if span == "20s" {
				t.Errorf("rmd %s for %s: %d heartbeats with %d errors, %d resyncs, %d failovers, last error %q, containers %+v; "+
					"want heartbeats, no error, resync or failover, and, except for heartbeat, containers done",
					strings.Join(line, " "), span, out.Heartbeats.Count, out.Heartbeats.Errors, out.Resyncs, out.Failovers,
					out.LastError, out.Containers)
			}
		}
	}
}

func TestBenchRefusals(t *testing.T) {
	empty := t.TempDir()
	for want, line := range map[string][]string{
		"no ResourceManager is named":                  {"heartbeat"},
		"more than one way":                            {"heartbeat", "--addr", "h", "--tracker", "h:1"},
		"needs the ports of all three":                 {"allocate", "--tracker", "h:1"},
		"has one port; three are needed":               {"allocate", "--addr", "h:8032"},
		`unknown value "rest" of --wire; write hadoop`: {"heartbeat", "--wire", "rest"},
		"is not a process id":                          {"heartbeat", "--tracker", "h:1", "--pids", "x"},
		"0 nodes are not":                              {"heartbeat", "--tracker", "h:1", "--nodes", "0"},
		"is not HOST:PORT":                             {"heartbeat", "--tracker", "h"},
		"no replica's port can be reached":             {"heartbeat", "--tracker", "127.0.0.1:1"},
		"FILE: ":                                       {"latency", "--conf-dir", filepath.Join(empty, "none")},
		"process 1073741824":                           {"heartbeat", "--tracker", "127.0.0.1:1", "--pids", "1073741824"},
		"flag provided but not defined: -masters":      {"heartbeat", "--masters", "3"},
	} {
		r := rmd(t, nil, append([]string{"bench", line[0], "--yes"}, line[1:]...)...)
		if r.exit == exitcode.OK || r.out != "" ||
			!strings.Contains(r.err, want) && !strings.Contains(r.err, "UNKNOWN_FLAG") {
			t.Errorf("%v: wanted %q: %+v", line, want, r)
		}
	}
}

// BenchmarkContainers measures the whole life of containers over Hadoop's protocols. The load and
// the three replicas are in one process, so -cpuprofile shows the processor time of all of them.
func BenchmarkContainers(b *testing.B) {
	benchmarkLoad(b, load.Allocations, func(r *load.Result) float64 { return r.Containers.PerSecond }, "containers/s")
}

// BenchmarkHeartbeats measures heartbeats of idle nodes without a pause.
func BenchmarkHeartbeats(b *testing.B) {
	benchmarkLoad(b, load.Heartbeats, func(r *load.Result) float64 { return r.Heartbeats.PerSecond }, "heartbeats/s")
}

func benchmarkLoad(b *testing.B, kind load.Kind, figure func(*load.Result) float64, unit string) {
	cfg := load.DefaultConfig(kind)
	var err error
	if cfg.Addresses, err = trial.AddressesIn(hadoopCluster(b)); err != nil {
		b.Fatal(err)
	}
	cfg.Logger, cfg.Duration = hclog.NewNullLogger(), 5*time.Second
	if kind == load.Heartbeats {
		cfg.Interval = 0
	}
	var sum float64
	n := 0
	for b.Loop() {
		out, err := load.Run(b.Context(), cfg)
		if err != nil || out.Faults.Total() > 0 {
			b.Fatalf("Run of %s: %v, want no error and no faults; result %+v", kind, err, out)
		}
		sum += figure(out)
		n++
	}
	b.ReportMetric(sum/float64(n), unit)
}
