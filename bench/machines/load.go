package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"rmd/internal/quantile"
)

// load is what NodeManagers and ApplicationMasters do, each once a second, at all replicas alike.
type load struct {
	nodes, masters int
	containers     float64 // started and ended per second
}

// traffic plays load against a cluster, and measures.
type traffic struct {
	*cluster
	random  *rand.Rand
	flying  int             // calls that have entered and are not answered
	calls   int             // that have entered
	area    float64         // under flying, in seconds
	changed time.Duration   // when flying did
	reports []time.Duration // how long heartbeats with news of containers took
	news    int             // idle heartbeats that the leader is not told of yet
}

func newTraffic(c *cluster, seed uint64) *traffic {
	return &traffic{cluster: c, random: rand.New(rand.NewPCG(seed, 0))}
}

// every does something again and again, so often a second on average.
func (t *traffic) every(rate float64, do func()) {
	if rate <= 0 {
		return
	}
	var next func()
	next = func() {
		t.after(time.Duration(t.random.ExpFloat64()/rate*float64(time.Second)), func() {
			do()
			next()
		})
	}
	next()
}

// some is a whole number with the mean given.
func (t *traffic) some(mean float64) int { return int(mean + t.random.Float64()) }

// play starts the load. A heartbeat reports what has started and what has ended since the one before;
// a call of an ApplicationMaster asks for containers and gets them.
func (t *traffic) play(l load) {
	// Of so many nodes that no single heartbeat matters, one simulated heartbeat is that of several.
	lump := max(1, l.nodes/50_000)
	t.every(float64(l.nodes)/float64(lump), func() {
		mean := l.containers / float64(l.nodes)
		started, ended := t.some(mean), t.some(mean)
		if started+ended == 0 {
			t.idle(lump)
			return
		}
		t.send(t.reported(t.random.IntN(t.replicas), started, ended), true, nil)
	})
	t.every(float64(l.masters), func() {
		n := t.some(l.containers / float64(l.masters))
		t.send(t.asked(t.random.IntN(t.replicas), n, n), false, nil)
	})
}

// idle is heartbeats that the replica answers alone. The leader hears of many at a time
// (transport/hadoop/tracker/idle.go).
func (t *traffic) idle(n int) {
	at := t.random.IntN(t.replicas)
	t.enterFlight()
	t.all[at].cores.serve(t.beat*time.Duration(n), t.leaveFlight)
	if at > 0 {
		t.all[0].cores.serve(t.noted*time.Duration(n), func() {})
	}
	if t.news += n; t.news >= 100 {
		t.enterFlight()
		t.plan(&call{local: true, plan: t.heard * time.Duration(t.news), done: t.leaveFlight})
		t.news = 0
	}
}

// reported is a heartbeat that says what has started and ended.
func (t *traffic) reported(at, started, ended int) *call {
	return &call{at: at, containers: float64(started + ended), batch: batch{events: started + ended + 1, touched: 1},
		plan: t.input + time.Duration(started)*t.launch + time.Duration(ended)*t.decision}
}

// asked is a call of an ApplicationMaster that is granted n containers on so many nodes, and told that
// as many have ended.
func (t *traffic) asked(at, n, nodes int) *call {
	x := &call{at: at, containers: float64(n), batch: batch{told: n}, plan: t.input + time.Duration(n)*(t.decision+t.tell)}
	if n > 0 {
		x.events, x.touched = n+2, nodes+1
	}
	return x
}

func (t *traffic) send(x *call, report bool, then func()) {
	t.enterFlight()
	began := t.now
	x.done = func() {
		t.leaveFlight()
		if report {
			t.reports = append(t.reports, t.now-began)
		}
		if then != nil {
			then()
		}
	}
	t.enter(x)
}

func (t *traffic) enterFlight() {
	t.count()
	t.flying++
	t.calls++
}

func (t *traffic) leaveFlight() {
	t.count()
	t.flying--
}

func (t *traffic) count() {
	t.area += float64(t.flying) * (t.now - t.changed).Seconds()
	t.changed = t.now
}

// usage is how much of its time each part worked, and how long the log kept the planner waiting.
type usage [parts]float64

const (
	planning = iota
	logging
	applying
	syncing
	sending
	computing
	parts
)

var partNames = [parts]string{"planner", "log", "applying", "disk", "network", "cores"}

// used is the time that each part has worked so far, at the busiest replica.
func (t *traffic) used() (u usage) {
	u[planning] = t.planner.work.Seconds()
	u[logging] = t.blocked.Seconds()
	if t.blockedAt >= 0 {
		u[logging] += (t.now - t.blockedAt).Seconds()
	}
	for _, r := range t.all {
		u[applying] = math.Max(u[applying], r.fsm.work.Seconds())
		u[syncing] = math.Max(u[syncing], r.disk.work.Seconds())
		u[sending] = math.Max(u[sending], r.link.work.Seconds())
		u[computing] = math.Max(u[computing], r.cores.work.Seconds()/float64(t.cores))
	}
	return u
}

// figures are what a span of time showed. Calls pile up if in its second half more than 1 % of those that
// came in stayed: then the queue of some part grows without end.
type figures struct {
	use            usage // parts of the time
	grows          bool  // calls pile up
	commit, report spread
	perEntry       float64 // events
	cpu            float64 // seconds of all replicas together, in a second
	flying         float64 // calls under way on average
}

// watch measures a span.
func (t *traffic) watch(warmup, span time.Duration) (f figures) {
	t.until(t.now + warmup)
	before, calls, entries, events := t.used(), t.calls, t.entries, t.eventsIn
	t.commits, t.reports = nil, nil
	cpu, half := t.cpu(), span.Seconds()/2
	areas := [3]float64{}
	for i := range areas {
		if i > 0 {
			t.until(t.now + span/2)
		}
		t.count()
		areas[i] = t.area
	}
	f.flying = (areas[2] - areas[0]) / span.Seconds()
	f.grows = (areas[2]-2*areas[1]+areas[0])/half > 0.01*float64(t.calls-calls)/2
	f.use = t.used()
	for i := range f.use {
		f.use[i] = (f.use[i] - before[i]) / span.Seconds()
	}
	f.commit, f.report = spreadOf(t.commits), spreadOf(t.reports)
	f.perEntry = float64(t.eventsIn-events) / math.Max(1, float64(t.entries-entries))
	f.cpu = (t.cpu() - cpu) / span.Seconds()
	return f
}

func (t *traffic) cpu() (sum float64) {
	for i, r := range t.all {
		if i == 0 || !t.shared {
			sum += r.cores.work.Seconds()
		}
	}
	return sum
}

// first names the part that limits: one that always works, or the log if the planner waits for it. Then
// it also names the part that works most while an entry is in flight.
func (u usage) first() string {
	most := func(of ...int) int {
		return slices.MaxFunc(of, func(a, b int) int { return cmp.Compare(u[a], u[b]) })
	}
	if best := most(planning, applying, syncing, sending, computing); u[best] > 0.95 || u[logging] < 0.05 {
		return partNames[best]
	}
	return "log: " + partNames[most(applying, syncing, sending, computing)]
}

// spread is times in milliseconds.
type spread struct{ mean, p50, p99 float64 }

func spreadOf(times []time.Duration) (s spread) {
	if len(times) == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(times))
	sum := time.Duration(0)
	for _, d := range sorted {
		sum += d
	}
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	return spread{ms(sum) / float64(len(sorted)), ms(quantile.Of(sorted, 0.5)), ms(quantile.Of(sorted, 0.99))}
}
