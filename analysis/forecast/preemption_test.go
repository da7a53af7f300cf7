package forecast

import (
	"testing"

	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
)

const hour = 3600_000

const enablePreemption = "yarn.resourcemanager.scheduler.monitor.enable"

// TestRunPreempts checks that a queue whose guarantee another one uses is not told to wait until that
// queue's containers end, four hours later: rounds of preemption end some before.
func TestRunPreempts(t *testing.T) {
	for preemption, most := range map[string]int64{"false": 6 * hour, "true": 60_000} {
		c, asks := guaranteeUsed(t, preemption)
		starts, err := Run(c.p.State(), c.now, asks[:1], DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if high := starts[0].Quantile(100); high > most || high < most/5 {
			t.Errorf("preemption %s: the owed container starts after up to %d ms", preemption, high)
		}
		for ref := range starts[0].After { // each is judged separately
			if ref.App != 2 {
				t.Errorf("preemption %s: the owed container starts after the end of %+v", preemption, ref)
			}
		}
	}
}

// TestRunAsksAgain checks that an application that loses containers to preemption gets others later, before
// the one behind it.
func TestRunAsksAgain(t *testing.T) {
	c, asks := guaranteeUsed(t, "true")
	f, err := newFuture(c.p.State(), c.now, asks, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r := f.newRun(0)
	if r.play(); len(r.started) != 2 {
		t.Fatalf("started: %+v", r.started)
	}
	if n := r.State().Apps.Get(r.State().Apps.Find(2)).NextNumber; n != 16+8 {
		t.Errorf("it had 16 containers, lost 8, and has got %d in all", n)
	}
}

// guaranteeUsed returns a cluster in which application 2 uses the guarantee of another queue, for as long as
// it is known, and the asks of that queue and of an application behind application 2.
func guaranteeUsed(t *testing.T, preemption string) (*cluster, []Ask) {
	c, set := newCluster(t), &input.SetQueues{}
	for _, q := range append(preset.QueuesFor([]string{"root.a", "root.b"}),
		capacity.Property{Name: capacity.Prefix + "root.a.user-limit-factor", Value: "10"},
		capacity.Property{Name: "yarn.scheduler.maximum-allocation-mb", Value: "16384"},
		capacity.Property{Name: enablePreemption, Value: preemption}) {
		set.Properties = append(set.Properties, input.Property(q))
	}
	c.do(set)
	c.app("root.a", 16, 1024, 0)
	c.now += 4 * hour
	for range 16 { // so their lengths are known
		c.end()
	}
	c.app("root.a", 16, 1024, 0)
	behind, owed := c.app("root.a", 1, 1024, 0), c.app("root.b", 8, 1024, 0)
	return c, []Ask{{owed.App.Seq, key}, {behind.App.Seq, key}}
}
