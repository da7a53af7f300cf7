//go:build interop

package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rmd/interop/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Run(m)) }

// The Java ResourceManager stores nothing on disk. A heartbeat may assign as many containers as fit
// on the node; the default is one container.
var (
	site      = map[string]string{"yarn.resourcemanager.recovery.enabled": "false"}
	scheduler = map[string]string{
		"per-node-heartbeat.maximum-offswitch-assignments": "100",
		"maximum-am-resource-percent":                      "1",
	}
)

// peers are three durable replicas of rmd, and one Java ResourceManager.
var peers = []harness.Options{
	{Kind: harness.RMD, Site: site, Scheduler: scheduler},
	{Kind: harness.Java, Site: site, Scheduler: scheduler, Heap: "4g"},
}

// figure is one number that a load measures.
type figure struct {
	name string
	of   func(r result) float64
	more bool // larger values are better
}

// load is one run of rmd bench.
type load struct {
	args    []string
	figures []figure
}

// loads have long warm-ups. The Java ResourceManager compiles hot code while it runs: after ten
// seconds it needs five times as much CPU as later.
var loads = []load{
	{strings.Fields("allocate --nodes 1000 --masters 50 --warmup 60s --duration 20s"), []figure{
		{"containers/s, whole lives", func(r result) float64 { return r.Containers.PerSecond }, true},
		{"CPU of all ResourceManagers per container, µs", func(r result) float64 { return r.CPUPerContainer }, false},
		{"ask to granted under this load, p99 ms", func(r result) float64 { return r.Containers.Grant.P99 }, false},
	}},
	{strings.Fields("heartbeat --nodes 1000 --interval 0 --parallel 64 --warmup 5s --duration 15s"), []figure{
		{"idle heartbeats/s", func(r result) float64 { return r.Heartbeats.PerSecond }, true},
		{"CPU per idle heartbeat, µs", func(r result) float64 { return r.CPUPerHeartbeat }, false},
		{"memory for 1,000 more nodes, MiB", func(r result) float64 { return float64(r.BytesPer1000Nodes) / (1 << 20) },
			false},
	}},
	{strings.Fields("latency --nodes 10 --warmup 3s --duration 20s"), []figure{
		{"ask to container on an idle cluster, p50 ms", func(r result) float64 { return r.Containers.Grant.P50 }, false},
		{"ask to container on an idle cluster, p99 ms", func(r result) float64 { return r.Containers.Grant.P99 }, false},
	}},
}

// result is the part of rmd bench's JSON output that the test uses.
type result struct {
	Heartbeats struct {
		PerSecond float64 `json:"perSecond"`
	} `json:"heartbeats"`
	Containers struct {
		PerSecond float64 `json:"perSecond"`
		Grant     struct {
			P50 float64 `json:"p50Millis"`
			P99 float64 `json:"p99Millis"`
		} `json:"askToGrant"`
	} `json:"containers"`
	CPUPerHeartbeat   float64 `json:"cpuMicrosPerHeartbeat"`
	CPUPerContainer   float64 `json:"cpuMicrosPerContainer"`
	BytesPer1000Nodes int64   `json:"bytesPer1000Nodes"`
}

// TestPeers loads each peer in turn, RMD_BENCH_ROUNDS times, and prints the medians and their
// ratios. It fails if the generator finds an error (a container that is granted twice, lost, or on
// a full node).
func TestPeers(t *testing.T) {
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv("RMD_BENCH_ROUNDS")); err == nil && n > 0 {
		rounds = n
	}
	async := os.Getenv("RMD_BENCH_ASYNC")
	if async != "" { // rmd has no such choice
		peers[1].Scheduler = maps.Clone(scheduler)
		peers[1].Scheduler["schedule-asynchronously.enable"] = async
	}
	t.Logf("Hadoop %s, schedule-asynchronously.enable %s; fsync of 4 KiB: %s; load average: %s",
		cmp.Or(harness.DefaultVersion(), "of interop/pom.xml"), cmp.Or(async, "as by default"), syncTime(t), loadAverage(t))
	found := map[string][][]float64{} // by figure, then by peer
	for round := range rounds {
		for i, l := range loads {
			for k, o := range peers {
				t.Run(fmt.Sprintf("%d/%s/%s", round+1, l.args[0], o.Kind), func(t *testing.T) {
					r := run(t, o, l.args)
					for _, f := range loads[i].figures {
						if found[f.name] == nil {
							found[f.name] = make([][]float64, len(peers))
						}
						found[f.name][k] = append(found[f.name][k], f.of(r))
					}
				})
			}
		}
	}
	t.Logf("load average at the end: %s\n%s", loadAverage(t), table(found))
}

// run starts a peer from scratch, without NodeManagers, and runs a load.
func run(t *testing.T, o harness.Options, args []string) result {
	c := harness.New(t, o)
	c.StartManagers()
	var pids []string
	for _, m := range c.Managers {
		pids = append(pids, strconv.Itoa(m.Pid()))
	}
	args = append([]string{"bench"}, args...)
	args = append(args, "--conf-dir", c.ClientConf(), "--pids", strings.Join(pids, ","), "-o", "json", "-q", "--yes")
	cmd := exec.Command(harness.Program(t), args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("rmd %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// table formats the medians of each figure, and by which factor rmd is better.
func table(found map[string][][]float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-48s%12s%12s%10s\n", "MEDIANS", "RMD ×3", "JAVA ×1", "AHEAD")
	for _, l := range loads {
		for _, f := range l.figures {
			if found[f.name] == nil {
				continue // not run
			}
			ours, theirs := median(found[f.name][0]), median(found[f.name][1])
			ahead := theirs / ours
			if f.more {
				ahead = ours / theirs
			}
			fmt.Fprintf(&b, "%-48s%12.1f%12.1f%9.2fx\n", f.name, ours, theirs, ahead)
		}
	}
	return b.String()
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
