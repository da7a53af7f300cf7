package sim

import (
	"reflect"
	"testing"
	"time"
)

// TestDrawPlan checks that a seed always has the same plan, and that seeds have all kinds of faults.
func TestDrawPlan(t *testing.T) {
	drawn := map[string]bool{}
	for seed := range int64(200) {
		p := drawPlan(seed, DefaultOptions())
		if !reflect.DeepEqual(p, drawPlan(seed, DefaultOptions())) {
			t.Fatalf("seed %d has two plans", seed)
		}
		for _, s := range p.steps {
			drawn[s.kind] = true
		}
	}
	for _, k := range Kinds() {
		if !drawn[k.name] {
			t.Errorf("no seed has %s", k.name)
		}
	}
	if !drawn[healStep] {
		t.Error("no seed ends its faults")
	}
}

// TestExecute checks that a plan is executed step by step, at its times.
func TestExecute(t *testing.T) {
	p := drawPlan(1, Options{Profile: "calm"})
	p.length = 10 * time.Second
	p.steps = []planStep{{after: 2 * time.Second, kind: "kill"}, {after: time.Second, kind: healStep},
		{after: 3 * time.Second, kind: "pause", draw: 7},
		{after: 9 * time.Second, kind: "kill"}}
	res := execute(t, p)
	if len(res.Violations) > 0 {
		t.Fatalf("the plan leads to violations %q: %s", res.Violations, res.History)
	}
	got := res.Executed
	if len(got) != 3 || got[0].At != 2*time.Second || got[1].At < 3*time.Second || got[2].Kind != "pause" ||
		got[2].Took < 100*time.Millisecond {
		t.Errorf("executed: %+v", got)
	}
	if res.Kinds["kill"] != 1 {
		t.Errorf("kinds %v", res.Kinds)
	}
}
