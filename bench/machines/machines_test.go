package main

import (
	"math"
	"testing"
	"time"
)

// large returns a cluster whose replicas have machines of their own, with costs and load.
func large(cores int) (c costs, m machine, l load) {
	c = small()
	return c, machine{replicas: 3, cores: cores, sync: 150 * time.Microsecond, disk: 335e6, link: 1.25e9,
			delay: 100 * time.Microsecond},
		load{nodes: 5000, masters: 500, containers: 40_000}
}

// near checks that a figure differs from another one by at most a fraction.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*want {
		t.Errorf("%s: %.4g, and not %.4g within %.0f %%", what, got, want, 100*within)
	}
}

// TestRecorded compares the model with the measurements. docs/performance.md names the bound.
func TestRecorded(t *testing.T) {
	for _, r := range recorded {
		near(t, r.what, r.simulated(), r.measured, 0.30)
	}
}

// TestWorkIsRateTimesCost checks that each part works as long as the sum of its jobs.
func TestWorkIsRateTimesCost(t *testing.T) {
	c, m, l := large(16)
	c.copyEvent, c.copyTouched = 0, 0
	f := run(c, m, l)
	calls := float64(l.nodes + l.masters)
	near(t, "planner", f.use[planning], l.containers*(2*c.decision+c.launch+c.tell).Seconds()+calls*c.input.Seconds(),
		0.03)
	events := 3*l.containers + float64(l.nodes) + 2*float64(l.masters)
	near(t, "applying", f.use[applying], events*c.apply.Seconds()+l.containers*c.tell.Seconds(), 0.03)
	entries := events / f.perEntry
	near(t, "disk", f.use[syncing], entries*(2*m.sync.Seconds()+f.perEntry*float64(c.eventBytes)/m.disk), 0.03)
}

// TestLittlesLaw checks Little's law: the number of calls in progress is the arrival rate times the
// duration of a call. Each heartbeat reports containers here.
func TestLittlesLaw(t *testing.T) {
	c, m, l := large(16)
	l.masters = 0
	f := run(c, m, l)
	near(t, "calls under way", f.flying, float64(l.nodes)*f.report.mean/1000, 0.02)
}

// TestCapacityMonotonic checks that faster or larger parts do not reduce what a cluster carries.
func TestCapacityMonotonic(t *testing.T) {
	carries := func(change func(*costs, *machine)) float64 {
		c, m, l := large(4)
		c.batchEvents = 500 // so that a short run has many entries
		change(&c, &m)
		return containers(c, m, l).most
	}
	before := carries(func(*costs, *machine) {})
	for what, change := range map[string]func(*costs, *machine){
		"a faster disk":      func(_ *costs, m *machine) { m.sync /= 4 },
		"more cores":         func(_ *costs, m *machine) { m.cores = 8 },
		"a shorter way":      func(_ *costs, m *machine) { m.delay /= 4 },
		"a faster link":      func(_ *costs, m *machine) { m.link *= 4 },
		"a faster planner":   func(c *costs, _ *machine) { c.decision /= 2 },
		"cheaper applying":   func(c *costs, _ *machine) { c.apply /= 2 },
		"larger log entries": func(c *costs, _ *machine) { c.batchEvents *= 2 },
	} {
		if after := carries(change); after < 0.97*before {
			t.Errorf("%s: %.0f containers/s instead of %.0f", what, after, before)
		}
	}
}

// TestSlowPartIsLimit checks that the part that was made slow is named as the limit, and that it
// limits the rate as expected.
func TestSlowPartIsLimit(t *testing.T) {
	for _, x := range []struct {
		first  string
		most   float64
		change func(*costs, *machine)
	}{
		{"planner", 1 / (2*50e-6 + 0.95e-6), func(c *costs, _ *machine) { c.decision = 50 * time.Microsecond }},
		{"log: cores", 0, func(_ *costs, m *machine) { m.cores = 1 }},
		{"network", 0, func(_ *costs, m *machine) { m.link = 1e6 }},
		{"log: disk", 0, func(_ *costs, m *machine) { m.sync = 20 * time.Millisecond }},
		{"log: applying", 0, func(c *costs, _ *machine) { c.apply = 5 * time.Microsecond }},
	} {
		c, m, l := large(16)
		x.change(&c, &m)
		got := containers(c, m, l)
		if first := got.full.use.first(); first != x.first {
			t.Errorf("%s is named instead of %s: %.2f", first, x.first, got.full.use)
		}
		if x.most > 0 {
			near(t, x.first, got.most, x.most, 0.1)
		}
	}
}

// TestModelDeterministic checks that two runs give the same result.
func TestModelDeterministic(t *testing.T) {
	c, m, l := large(4)
	if a, b := run(c, m, l), run(c, m, l); a != b || a.commit.mean == 0 {
		t.Errorf("%+v and then %+v", a, b)
	}
}

// TestRefused checks that invalid parameters are refused before the simulation.
func TestRefused(t *testing.T) {
	c, m, l := large(4)
	for _, replicas := range []string{"", "0", "3,x", "100"} {
		if report(c, m, l, replicas) == nil {
			t.Errorf("-replicas %q is taken", replicas)
		}
	}
	m.cores = 0
	if report(c, m, l, "3") == nil {
		t.Error("no core is taken")
	}
}
