package main

import (
	"flag"
	"sync"
	"time"
)

// Costs of the benchmarks' load generators, which use the same cores.
const (
	// BenchmarkReplicas with one replica, minus its parts; includes what Go needs for 256 callers
	loadDecision  = 2100 * time.Nanosecond
	loadContainer = 3100 * time.Nanosecond // the generator's own cost in BenchmarkHadoopContainers
)

// measured returns the machine of docs/performance.md: two cores for all replicas and the load. Its
// disk syncs a page that is appended to a file in 0.2 ms, and a page of bbolt's file, which does
// not grow, in 0.15 ms (BenchmarkBolt).
func measured(replicas int) machine {
	return machine{replicas: replicas, cores: 2, shared: true, sync: 150 * time.Microsecond, disk: 335e6,
		delay: 30 * time.Microsecond}
}

// small returns the costs for the states of the benchmarks: 1,000 nodes and up to 100,000
// containers.
func small() (c costs) {
	c.flags(flag.NewFlagSet("", flag.PanicOnError))
	c.apply = 500 * time.Nanosecond     // BenchmarkGrowth with 10,000 nodes
	c.decision = 1775 * time.Nanosecond // BenchmarkPlan
	return c
}

// comparison compares a figure of docs/performance.md with that of the model.
type comparison struct {
	what, unit, by string
	measured       float64
	simulated      func() float64
}

var (
	recorded = []comparison{
		{"a commit on an idle cluster", "ms", "BenchmarkAsk", 1.15, commitIdle},
		{"durable decisions, three processes", "1/s", "BenchmarkDecisionsApart", 187_000,
			func() float64 { return decisions(3).rate }},
		{"CPU of a decision, one replica", "µs", "BenchmarkReplicas", 4.8, func() float64 { return decisions(1).cpu }},
		{"three replicas", "µs", "BenchmarkReplicas", 6.5, func() float64 { return decisions(3).cpu }},
		{"five replicas", "µs", "BenchmarkReplicas", 8.8, func() float64 { return decisions(5).cpu }},
		{"seven replicas", "µs", "BenchmarkReplicas", 11.0, func() float64 { return decisions(7).cpu }},
		{"CPU of a container's life", "µs", "BenchmarkHadoopContainers", 22.0, life},
		{"at full load: calls answered", "1/s", "BenchmarkHadoopReports", 1700, func() float64 { return fullLoad().rate }},
		{"a commit", "ms", "BenchmarkHadoopReports", 3.8, func() float64 { return fullLoad().commit }},
		{"a heartbeat that reports ends", "ms", "BenchmarkHadoopReports", 13.5, func() float64 { return fullLoad().report }},
		{"one that the leader answers, in commits", "", "one run", 1.8,
			func() float64 { return fullLoad().lead / fullLoad().commit }},
		{"one that a follower answers, in commits", "", "one run", 2.9,
			func() float64 { return fullLoad().follow / fullLoad().commit }},
	}
	fullLoad = sync.OnceValue(playFullLoad)
)

// commitIdle returns the mean time of sequential calls, in milliseconds.
func commitIdle() float64 {
	t := newTraffic(newCluster(small(), measured(3)), 1)
	var next func()
	n := 0
	next = func() {
		n++
		t.plan(&call{local: true, plan: t.decision, batch: batch{events: 1}, done: next})
	}
	next()
	t.until(time.Second)
	return 1000 / float64(n)
}

type decided struct{ rate, cpu float64 }

// decisions simulates BenchmarkDecisions with a number of replicas: 256 callers, each of which
// reports eight ends and gets eight containers per call. When the benchmark was measured, an entry
// had at most 1,000 events and the planner was slower.
func decisions(replicas int) decided {
	const callers, each = 256, 16
	c := small()
	c.batchEvents, c.decision = 1000, 1919*time.Nanosecond
	t := newTraffic(newCluster(c, measured(replicas)), 1)
	n := 0
	var next func()
	next = func() {
		t.read(t.all[0], func() {
			t.all[0].cores.serve(each*loadDecision, func() {
				t.plan(&call{local: true, plan: each * c.decision, batch: batch{events: each, touched: 1},
					done: func() { n += each; next() }})
			})
		})
	}
	for range callers {
		next()
	}
	t.until(time.Second)
	from := n
	f := t.watch(0, 2*time.Second)
	rate := float64(n-from) / 2
	return decided{rate, f.cpu / rate * 1e6}
}

// hadoop simulates the nodes and masters of BenchmarkHadoopContainers and BenchmarkHadoopReports:
// 1,000 nodes with room for 100 containers each, and 50 masters with two asks of 100 containers
// each. A node reports containers as started at its next heartbeat, and as ended at the one after
// that.
type hadoop struct {
	*traffic
	fresh, running [1000]int // of each node
	// for each master: containers that were granted, and as many that have ended, which it does not know yet
	fetch               [50]int
	node, master, place int // the next ones
	ended, answered     int
	// waited has the durations of heartbeats that reported ends: until the load had read the
	// answer, until the leader answered, and until a follower answered.
	waited [3][]time.Duration
}

const askedFor, roomOf = 100, 100

// client simulates the cost of the load generator itself.
func (h *hadoop) client(containers int, then func()) {
	h.all[0].cores.serve(loadContainer*time.Duration(containers)/3, then)
}

// beat simulates the heartbeat of the next node. full means that asks wait for the room that ended
// containers leave.
func (h *hadoop) beat(full bool, then func()) {
	n := h.node % len(h.fresh)
	h.node++
	started, ended := h.fresh[n], h.running[n]
	h.fresh[n], h.running[n] = 0, started
	h.ended += ended
	if started+ended == 0 {
		h.idle(1)
		h.client(3, then)
		return
	}
	x := h.reported(h.node%3, started, ended)
	if full {
		x.events, x.plan = x.events+ended, x.plan+time.Duration(ended)*h.decision
	}
	began := h.now
	waited := func(by int) {
		if ended > 0 {
			h.waited[by] = append(h.waited[by], h.now-began)
		}
	}
	h.send(x, false, func() {
		h.answered++
		waited(1 + min(x.at, 1))
		if full {
			h.fresh[n] += ended
			h.fetch[n%len(h.fetch)] += ended
		}
		h.client(started+ended, func() {
			waited(0)
			then()
		})
	})
}

// ask simulates the call of the next master.
func (h *hadoop) ask(full bool, then func()) {
	m := h.master % len(h.fetch)
	h.master++
	got := h.fetch[m]
	if h.fetch[m] = 0; !full {
		got = 2 * askedFor
	}
	x := h.asked(m%3, got, 2)
	if full {
		x.plan, x.events = x.plan-time.Duration(got)*h.decision, 2
	}
	h.send(x, false, func() {
		h.answered++
		if !full {
			for range 2 {
				h.fresh[h.place%len(h.fresh)] += askedFor
				h.place++
			}
		}
		h.client(got, then)
	})
}

// life returns the CPU time per container in BenchmarkHadoopContainers, in µs. Each node sends a
// heartbeat every 0.5 s, and each master calls every 0.1 s.
func life() float64 {
	h := &hadoop{traffic: newTraffic(newCluster(small(), measured(3)), 1)}
	var beats, asks func()
	beats = func() { h.after(500*time.Microsecond, beats); h.beat(false, func() {}) }
	asks = func() { h.ask(false, func() { h.after(100*time.Millisecond, asks) }) }
	beats()
	for range h.fetch {
		asks()
	}
	h.until(2 * time.Second)
	from := h.ended
	f := h.watch(0, 4*time.Second)
	return f.cpu*4/float64(h.ended-from)*1e6 - loadContainer.Seconds()*1e6
}

// loaded has the results of BenchmarkHadoopReports: rate in calls per second, the others in
// milliseconds.
type loaded struct{ rate, commit, report, lead, follow float64 }

// playFullLoad simulates BenchmarkHadoopReports: eight heartbeats and eight calls of masters are
// always in progress, and all nodes are full.
func playFullLoad() loaded {
	h := &hadoop{traffic: newTraffic(newCluster(small(), measured(3)), 1)}
	for n := range h.running {
		h.running[n] = roomOf * (n % 2)
		h.fresh[n] = roomOf - h.running[n]
	}
	var beats, asks func()
	beats = func() { h.beat(true, beats) }
	asks = func() { h.ask(true, asks) }
	for range 8 {
		beats()
		asks()
	}
	h.until(2 * time.Second)
	h.waited, h.answered = [3][]time.Duration{}, 0
	f := h.watch(0, 4*time.Second)
	return loaded{float64(h.answered) / 4, f.commit.mean, spreadOf(h.waited[0]).mean, spreadOf(h.waited[1]).mean,
		spreadOf(h.waited[2]).mean}
}
