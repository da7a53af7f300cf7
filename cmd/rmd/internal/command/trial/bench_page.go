package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"rmd/api"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/hadoopconf"
	load "rmd/workload/hadoop"
	"rmd/workload/report"
)

// benchPage returns the content of the --report page for a measurement.
func benchPage(c *verb.Call, r *load.Result) *report.Bench {
	b := &report.Bench{Title: "rmd bench " + string(r.Kind), Unit: "containers", Timed: "from ask to container"}
	b.Lead = fmt.Sprintf("%s simulated nodes on YARN's ports, %.0f s.", output.Count(r.Nodes), r.Seconds)
	rate, times := r.Heartbeats.PerSecond, r.Heartbeats.Times
	if r.Kind == load.Heartbeats {
		b.Unit, b.Timed = "heartbeats", "of a heartbeat"
	} else {
		b.Lead = fmt.Sprintf("%s simulated nodes and %s AMs on YARN's ports, %.0f s.", output.Count(r.Nodes),
			output.Count(r.Masters), r.Seconds)
		rate, times = r.Containers.PerSecond, r.Containers.Grant
	}
	millis := func(v float64) string { return fmt.Sprintf("%.2f ms", v) }
	b.Keys = []report.Fact{{Name: b.Unit + "/s", Value: output.Count(int64(rate + 0.5))},
		{Name: "p50", Value: millis(times.P50)}, {Name: "p99", Value: millis(times.P99)}}
	b.Facts = append(slices.Clone(b.Keys), report.Fact{Name: "max", Value: millis(times.Max)},
		report.Fact{Name: "failovers of callers", Value: output.Count(int(r.Failovers))},
		report.Fact{Name: "resyncs", Value: output.Count(int(r.Resyncs))},
		report.Fact{Name: "faults", Value: output.Count(int(r.Faults.Total())), Note: r.Faults.String()})
	if r.CPUPerContainer > 0 {
		b.Facts = append(b.Facts, report.Fact{Name: "CPU per container", Value: fmt.Sprintf("%.1f µs", r.CPUPerContainer),
			Note: "of the processes in --pids"})
	}
	if r.CPUPerHeartbeat > 0 {
		b.Facts = append(b.Facts, report.Fact{Name: "CPU per heartbeat", Value: fmt.Sprintf("%.1f µs", r.CPUPerHeartbeat),
			Note: "of the processes in --pids"})
	}
	for _, p := range r.Points {
		b.Points = append(b.Points, report.Tick(p))
	}
	b.Elections = elections(c, r)
	return b
}

// elections reads the elections during the measurement from the web addresses in Hadoop's files. A
// ResourceManager that is not rmd reports none.
func elections(c *verb.Call, r *load.Result) []report.Election {
	if c.String("conf-dir") == "" {
		return nil
	}
	conf, err := hadoopconf.ReadDir(c.String("conf-dir"))
	if err != nil {
		return nil
	}
	byTerm := map[uint64]report.Election{}
	for _, id := range verb.SplitList(conf.Value("yarn.resourcemanager.ha.rm-ids", "")) {
		for _, f := range failoversAt(c.Ctx(), conf.Value("yarn.resourcemanager.webapp.address."+id, "")) {
			at := time.UnixMilli(f.AtMillis).Sub(r.Began)
			if at >= 0 && at.Seconds() <= r.Seconds {
				byTerm[f.Term] = report.Election{At: at, Took: time.Duration(f.Millis * float64(time.Millisecond)),
					From: f.OldLeader, To: f.NewLeader, Term: f.Term}
			}
		}
	}
	out := make([]report.Election, 0, len(byTerm))
	for _, e := range byTerm { // sorted below
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b report.Election) int { return cmp.Compare(a.At, b.At) })
	return out
}

// failoversAt reads the failovers that a replica knows. It returns nil if the replica does not
// answer or is not rmd.
func failoversAt(ctx context.Context, addr string) []api.Failover {
	if addr == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v1/cluster", nil)
	if err != nil {
		return nil
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	var doc api.Cluster
	if res.StatusCode != http.StatusOK || json.NewDecoder(res.Body).Decode(&doc) != nil {
		return nil
	}
	if len(doc.Failovers) == 0 && doc.LastFailover != nil {
		return []api.Failover{*doc.LastFailover}
	}
	return doc.Failovers
}
