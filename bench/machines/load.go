package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"rmd/internal/quantile"
)

// load is what NodeManagers and ApplicationMasters do. Each of them makes one call per second, and
// the calls are distributed evenly over all replicas.
type load struct {
	nodes, masters int
	containers     float64 // containers that start and end per second
}

// traffic plays a load on a cluster and measures it.
type traffic struct {
	*cluster
	random  *rand.Rand
	flying  int             // calls in progress
	calls   int             // calls that have begun
	area    float64         // integral of flying over time, in seconds
	changed time.Duration   // when flying last changed
	reports []time.Duration // durations of heartbeats that reported containers
	news    int             // idle heartbeats that the leader does not know yet
}

func newTraffic(c *cluster, seed uint64) *traffic {
	return &traffic{cluster: c, random: rand.New(rand.NewPCG(seed, 0))}
}

// every calls do at random intervals, rate times per second on average.
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

// some returns a random whole number with the given mean.
func (t *traffic) some(mean float64) int { return int(mean + t.random.Float64()) }

// play starts the load. A heartbeat reports the containers that have started and ended since the
// previous one. A call of an ApplicationMaster asks for containers and gets them.
func (t *traffic) play(l load) {
	// With very many nodes a single heartbeat does not matter: then one simulated heartbeat stands
	// for several.
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

// idle simulates n idle heartbeats, which the replica answers by itself. A message informs the
// leader about many of them (transport/hadoop/tracker/idle.go).
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

// reported returns a heartbeat that reports started and ended containers.
func (t *traffic) reported(at, started, ended int) *call {
	return &call{at: at, containers: float64(started + ended), batch: batch{events: started + ended + 1, touched: 1},
		plan: t.input + time.Duration(started)*t.launch + time.Duration(ended)*t.decision}
}

// asked returns a call of an ApplicationMaster that gets n containers on a number of nodes, and
// learns that n containers have ended.
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

// usage says for each part which fraction of the time it worked, and for the log, how long the
// planner waited for it.
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

// used returns the time that each part has worked so far, in seconds, at the busiest replica.
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

// figures are the measurements of a time span. Calls pile up if, in the second half, more than 1 %
// of the arriving calls remained: then the queue of some part grows without limit.
type figures struct {
	use            usage // fractions of the time
	grows          bool  // calls pile up
	commit, report spread
	perEntry       float64 // events per entry
	cpu            float64 // CPU seconds of all replicas per second
	flying         float64 // calls in progress on average
}

// watch measures a time span after a warm-up.
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

// first returns the name of the limiting part: one that works all the time, or the log if the
// planner waits for it. For the log it adds the part that works most while an entry is in flight.
func (u usage) first() string {
	most := func(of ...int) int {
		return slices.MaxFunc(of, func(a, b int) int { return cmp.Compare(u[a], u[b]) })
	}
	if best := most(planning, applying, syncing, sending, computing); u[best] > 0.95 || u[logging] < 0.05 {
		return partNames[best]
	}
	return "log: " + partNames[most(applying, syncing, sending, computing)]
}

// spread has durations in milliseconds.
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
