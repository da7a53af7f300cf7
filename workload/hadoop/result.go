package hadoop

import (
	"fmt"
	"time"
)

// Times are statistics of durations, in milliseconds.
type Times struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"meanMillis"`
	P50   float64 `json:"p50Millis"`
	P99   float64 `json:"p99Millis"`
	Max   float64 `json:"maxMillis"`
}

// Calls are statistics of one method during the measurement.
type Calls struct {
	Times
	PerSecond float64 `json:"perSecond"`
	Errors    int64   `json:"errors"`
	// Late is the number of calls that were due while the previous one was in flight.
	Late int64 `json:"late"`
}

// Lives are statistics of containers during the measurement.
type Lives struct {
	// Done is the number of containers whose life is complete.
	Done      int64   `json:"done"`
	PerSecond float64 `json:"perSecond"`
	Granted   int64   `json:"granted"`
	// Grant is the time from the ask to the answer with the container. Told is the time from the
	// heartbeat with the completion to the answer that reports it. Life is the time from the ask to
	// the acknowledgement.
	Grant Times `json:"askToGrant"`
	Told  Times `json:"completeToTold"`
	Life  Times `json:"life"`
}

// Faults counts the protocol violations of the whole run. Each must be 0.
type Faults struct {
	GrantedTwice int64 `json:"grantedTwice"`
	NotAsked     int64 `json:"notAsked"`
	ToldTwice    int64 `json:"toldTwice"`
	NeverTold    int64 `json:"neverTold"`
	Strange      int64 `json:"strange"` // a container that was never allocated, or on an unknown node
	NoToken      int64 `json:"noToken"`
	OverCapacity int64 `json:"overCapacity"`
	Lost         int64 `json:"lost"` // reported with another status than that of its node
}

// Total returns the sum of all counts.
func (f Faults) Total() int64 {
	return f.GrantedTwice + f.NotAsked + f.ToldTwice + f.NeverTold + f.Strange + f.NoToken + f.OverCapacity + f.Lost
}

// Process is what a process used during the measurement.
type Process struct {
	PID        int     `json:"pid"` // 0: this process
	Name       string  `json:"name"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// RSSBefore is the memory before the first node registered, RSSAfter that at the end of the
	// measurement.
	RSSBefore int64 `json:"rssBeforeBytes"`
	RSSAfter  int64 `json:"rssAfterBytes"`
}

// Result is the result of a run.
type Result struct {
	Kind    Kind    `json:"kind"`
	Nodes   int     `json:"nodes"`
	Masters int     `json:"masters,omitempty"`
	Seconds float64 `json:"seconds"`
	// Began is the beginning of the measurement. Points divides it into seconds.
	Began  time.Time `json:"began"`
	Points []Point   `json:"points,omitempty"`
	// Stopped is true if the run was stopped early.
	Stopped bool `json:"stopped"`

	Heartbeats Calls  `json:"heartbeats"`
	Reports    *Times `json:"reports,omitempty"` // heartbeats that report completed containers
	Allocates  *Calls `json:"allocates,omitempty"`
	Containers *Lives `json:"containers,omitempty"`

	Resyncs      int64  `json:"resyncs"`
	Reregistered int64  `json:"mastersReregistered"`
	Failovers    int64  `json:"failovers"`
	Faults       Faults `json:"faults"`
	LastError    string `json:"lastError,omitempty"`

	Processes []Process `json:"processes,omitempty"`
	Generator Process   `json:"generator"`
	// CPU time of all processes together, in microseconds.
	CPUPerHeartbeat float64 `json:"cpuMicrosPerHeartbeat,omitempty"`
	CPUPerContainer float64 `json:"cpuMicrosPerContainer,omitempty"`
	// BytesPer1000Nodes is the growth of the memory of all processes together.
	BytesPer1000Nodes int64 `json:"bytesPer1000Nodes,omitempty"`
}

// result computes the result of the measurement between two samples.
func (r *run) result(a, b sample) *Result {
	span := b.at.Sub(a.at)
	rate := func(n int64) float64 { return float64(n) / max(span.Seconds(), 1e-9) }
	out := &Result{Kind: r.cfg.Kind, Nodes: r.cfg.Nodes, Masters: r.cfg.Masters,
		Seconds: span.Round(time.Millisecond).Seconds(),
		Heartbeats: Calls{Times: r.beat.times(), PerSecond: rate(b.beats - a.beats), Errors: b.beatErrors - a.beatErrors,
			Late: b.late - a.late},
		Resyncs: r.resyncs.Load(), Reregistered: r.reregistered.Load(), Failovers: r.failovers.Load(),
		LastError: r.lastError()}
	if r.cfg.Kind != Heartbeats {
		out.Reports = new(r.report.times())
		out.Allocates = &Calls{Times: r.allocate.times(), PerSecond: rate(b.allocates - a.allocates),
			Errors: b.allocateErrors - a.allocateErrors}
		out.Containers = &Lives{Done: b.done - a.done, PerSecond: rate(b.done - a.done), Granted: b.granted - a.granted,
			Grant: r.grant.times(), Told: r.tells.times(), Life: r.life.times()}
	}
	return out
}

// usage adds the use of processes. before is from before the first registration, from and to are
// from the beginning and the end of the measurement.
func (out *Result) usage(before, from, to usage) {
	var cpu, grown int64
	for i, p := range to.list {
		cpu += p.cpuMicros - from.list[i].cpuMicros
		grown += p.rss - before.list[i].rss
		out.Processes = append(out.Processes, Process{PID: p.pid, Name: p.name,
			CPUSeconds: seconds(p.cpuMicros - from.list[i].cpuMicros),
			RSSBefore:  before.list[i].rss, RSSAfter: p.rss})
	}
	out.Generator = Process{Name: "generator", CPUSeconds: seconds(to.own.cpuMicros - from.own.cpuMicros),
		RSSBefore: before.own.rss, RSSAfter: to.own.rss}
	if len(to.list) == 0 {
		return
	}
	if n := out.Heartbeats.PerSecond * out.Seconds; n >= 1 && out.Kind == Heartbeats {
		out.CPUPerHeartbeat = float64(cpu) / n
	}
	if out.Containers != nil && out.Containers.Done > 0 {
		out.CPUPerContainer = float64(cpu) / float64(out.Containers.Done)
	}
	out.BytesPer1000Nodes = max(grown, 0) * 1000 / int64(out.Nodes)
}

func seconds(micros int64) float64 { return float64(micros) / 1e6 }

// faults returns the violations of the whole run.
func (r *run) faults() Faults {
	c := &r.counters
	return Faults{GrantedTwice: c.twice.Load(), NotAsked: c.unasked.Load(), ToldTwice: c.toldTwice.Load(),
		NeverTold: c.missing.Load(),
		Strange:   c.strange.Load(), NoToken: c.noToken.Load(), OverCapacity: c.over.Load(), Lost: c.failed.Load()}
}

// String lists the counts that are not 0.
func (f Faults) String() string {
	out := ""
	for _, x := range []struct {
		n    int64
		what string
	}{
		{f.GrantedTwice, "granted twice"}, {f.NotAsked, "granted and not asked for"}, {f.ToldTwice, "told complete twice"},
		{f.NeverTold, "never told complete"}, {f.Strange, "strange"}, {f.NoToken, "without a token"},
		{f.OverCapacity, "more than their node holds"}, {f.Lost, "lost"},
	} {
		if x.n == 0 {
			continue
		}
		if out != "" {
			out += ", "
		}
		out += fmt.Sprintf("%d %s", x.n, x.what)
	}
	return out
}
