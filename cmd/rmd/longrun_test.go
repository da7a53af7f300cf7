package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/internal/quantile"
)

// span returns the duration of a long run, RMD_LONG. If it is not set, span skips the test.
func span(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("RMD_LONG")
	if text == "" {
		t.Skip("a long run: make longrun DURATION=10m")
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 20*time.Second {
		t.Fatalf("RMD_LONG=%q is not a duration of at least 20s", text)
	}
	return d
}

// watched is the measurement of one interval of a long run.
type watched struct {
	at        time.Duration
	rate      float64 // decisions per second
	p50, p99  time.Duration
	slowest   time.Duration
	resident  [3]int64
	snapshots uint64 // index of the leader's newest snapshot
	first     uint64 // index of the leader's first log entry
	last      uint64
}

func (w watched) String() string {
	var memory []string
	for _, b := range w.resident {
		memory = append(memory, fmt.Sprintf("%4d", b>>20))
	}
	return fmt.Sprintf("%7s %9.0f/s %8s %8s %8s  %s MiB  log %d to %d, snapshot %d", w.at.Round(time.Second), w.rate,
		w.p50.Round(time.Millisecond), w.p99.Round(time.Millisecond), w.slowest.Round(time.Millisecond),
		strings.Join(memory, " "), w.first, w.last, w.snapshots)
}

// watch measures for one interval.
func (c *processes) watch(e *endless, began time.Time, every time.Duration) watched {
	c.t.Helper()
	from, at := e.decisions(), time.Now()
	time.Sleep(every)
	took := e.took.take()
	w := watched{at: time.Since(began), rate: float64(e.decisions()-from) / time.Since(at).Seconds(),
		p50: quantile.Of(took, 0.5), p99: quantile.Of(took, 0.99), slowest: quantile.Of(took, 1)}
	for i, p := range c.all {
		if p.cmd.ProcessState == nil {
			w.resident[i] = p.resident()
		}
	}
	leader := c.leader()
	var log api.Log
	var list api.Snapshots
	if c.get(leader, "/v1/log?count=1", &log) && c.get(leader, "/v1/snapshots", &list) {
		w.first, w.last = log.First, log.Last
		for _, s := range list.Snapshots {
			w.snapshots = max(w.snapshots, s.Index)
		}
	}
	c.t.Log(w)
	return w
}

// term returns the current term of a replica.
func (c *processes) term(p *process) uint64 {
	c.t.Helper()
	var doc api.Cluster
	c.await(p.id+" tells its term", patience, func() bool { return c.get(p, "/v1/cluster", &doc) })
	return doc.Term
}

// TestSustained runs at full rate for RMD_LONG with snapshots and log truncation. A follower is
// down during the second quarter. It must catch up, memory and log must stay bounded, and no
// election may happen.
func TestSustained(t *testing.T) {
	length := span(t)
	c := newProcesses(t, 3, defaults,
		"  bootstrap_expect: 3\n  snapshot_threshold: 1024\n  snapshot_interval: 5s\n  trailing: 1024\n", "")
	for _, p := range c.all {
		c.start(p)
	}
	c.awaitReady(c.all...)
	e := c.endless(crowd)
	leader := c.leader()
	away := c.others(leader)[0]
	term := c.term(leader)
	began, every := time.Now(), length/20
	var seen []watched
	for i := range 20 {
		switch i {
		case 5:
			if code := c.terminate(away); code != 0 {
				t.Fatalf("%s ended with %d", away.id, code)
			}
		case 10:
			c.start(away)
			c.awaitReady(away)
			back := time.Now()
			c.awaitInStep()
			t.Logf("%s was in step %s after it was ready", away.id, time.Since(back).Round(time.Millisecond))
		}
		seen = append(seen, c.watch(e, began, every))
	}
	e.end()
	if now := c.term(leader); now != term {
		t.Errorf("the term was %d and is %d: somebody was elected", term, now)
	}
	early, end := seen[4], seen[19]
	for i, p := range c.all {
		if p == away { // the process is new
			continue
		}
		if before, after := early.resident[i], end.resident[i]; after > before+before/2+(128<<20) {
			t.Errorf("the memory of %s grew from %d to %d MiB", p.id, before>>20, after>>20)
		}
	}
	if end.snapshots <= early.snapshots || end.first <= early.first {
		t.Errorf("no snapshot was taken, or the log was not cut: %v, then %v", early, end)
	}
	if end.last-end.first > 20_000 {
		t.Errorf("the log has %d entries", end.last-end.first)
	}
	c.awaitInStep()
	c.done("cluster", "verify")
}

// TestNoNeedlessElection runs at full rate for RMD_LONG with busy programs on every core. From time
// to time it stops a follower for two seconds, like a disk that stalls. No election may happen,
// unless the disks of a majority stall, because all replicas share the disk of this machine.
func TestNoNeedlessElection(t *testing.T) {
	length := span(t)
	c := startProcesses(t, 3, defaults, "")
	e := c.endless(demand{nodes: 200, leaves: 20, apps: 200, perNode: 64, beat: 200 * time.Millisecond})
	leader := c.leader()
	term, began := c.term(leader), time.Now()
	hogs(t)
	every := max(length/20, 10*time.Second)
	for i := 0; time.Since(began) < length; i++ {
		before := c.stalls()
		pause(t, c.others(leader)[i%2], 2*time.Second)
		c.watch(e, began, every)
		now := c.term(leader)
		switch stood := stoodSince(before, c.stalls()); {
		case now == term:
		case stood > len(c.all)/2: // a leader cannot keep its leadership while the disks of a majority stall
			t.Logf("the term was %d and is %d: the disks of %d replicas stood for longer than the timers", term, now, stood)
			term, leader = now, c.leader()
		default:
			t.Fatalf("the term was %d and is %d: somebody was elected", term, now)
		}
	}
	if e.decisions() == 0 {
		t.Error("nothing was decided")
	}
}

// stalls returns how often each replica has logged that a sync took longer than the election
// timeout.
func (c *processes) stalls() []int {
	out := make([]int, len(c.all))
	for i, p := range c.all {
		out[i] = strings.Count(p.logged(), "a disk sync took longer than the election timeout")
	}
	return out
}

// stoodSince returns how many replicas have logged it again.
func stoodSince(before, now []int) (n int) {
	for i := range now {
		if now[i] > before[i] {
			n++
		}
	}
	return n
}
