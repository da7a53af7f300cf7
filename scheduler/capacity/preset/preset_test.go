package preset

import (
	"slices"
	"testing"

	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// TestDefault checks that the default configuration has one queue with YARN's values for
// root.default.
func TestDefault(t *testing.T) {
	c, err := capacity.Parse(Default())
	if err != nil || len(c.Warnings)+len(c.Ignored) != 0 || len(c.Queues) != 2 {
		t.Fatalf("Parse of the default properties: %v, want two queues, no warnings and no ignored keys: %+v",
			err, c)
	}
	q := c.Queues[1]
	if q.Path != "root.default" || c.MaxAlloc != yarn.NewResource(8192, 4) || c.Calculator.Dominant ||
		c.MaxPriority != 0 ||
		q.UserLimitFactor != yarn.One || q.MaxAMPercent != yarn.NewFraction(1, 10) || !c.MaySubmit(1, "anybody") {
		t.Errorf("%s: limit factor %v, AMs %v, open %v, largest container %v, dominant %v, priority %d; want YARN's defaults",
			q.Path, q.UserLimitFactor, q.MaxAMPercent, c.MaySubmit(1, "anybody"),
			c.MaxAlloc, c.Calculator.Dominant, c.MaxPriority)
	}
	if e := c.Compute(yarn.NewResource(4096, 4)).Capacities[1]; e.EffMin != yarn.NewResource(4096, 4) ||
		e.EffMax != e.EffMin {
		t.Errorf("root.default has %v to %v", e.EffMin, e.EffMax)
	}
}

// TestDemo checks the queues of rmd dev: no warnings, and a container may fill a node of
// 96 cores, 384 GiB and 8 GPUs.
func TestDemo(t *testing.T) {
	c, err := capacity.Parse(Demo())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings)+len(c.Ignored) != 0 {
		t.Errorf("warnings %v, ignored %v", c.Warnings, c.Ignored)
	}
	node := yarn.Resource{384 * gib, 96, 8}
	if !c.Calculator.Dominant || c.Kinds.Index(yarn.GPUName) != 2 || !node.Within(c.MaxAlloc) {
		t.Errorf("%+v: %v does not fit %v", c.Calculator, node, c.MaxAlloc)
	}
	tree := c.Compute(node.Times(4))
	for path, percent := range map[string]int64{"root.online": 40, "root.train": 30, "root.batch": 20, "root.adhoc": 10} {
		e := tree.Capacities[index(t, c, path)]
		if e.EffMin[0] != node[0]*4*percent/100 || e.EffMax != tree.Cluster {
			t.Errorf("%s has %v, at most %v, want %d%% of the memory and at most %v",
				path, e.EffMin, e.EffMax, percent, tree.Cluster)
		}
	}
}

func TestQueuesFor(t *testing.T) {
	for _, tc := range []struct {
		paths, leaves []string
	}{
		{nil, []string{"root.default"}},
		{[]string{"root"}, []string{"root.default"}},
		{[]string{"root.c", "a", "root.a", "root.b"}, []string{"root.c", "root.a", "root.b"}},
		{[]string{"root.p.x", "root.p.y", "root.q"}, []string{"root.p.x", "root.p.y", "root.q"}},
		{[]string{"root.p", "root.p.x"}, []string{"root.p.x"}},
	} {
		c, err := capacity.Parse(QueuesFor(tc.paths))
		if err != nil {
			t.Errorf("Parse of QueuesFor(%v): %v", tc.paths, err)
			continue
		}
		var got []string
		for _, i := range c.Leaves() {
			got = append(got, c.Queues[i].Path)
		}
		if !slices.Equal(got, tc.leaves) {
			t.Errorf("%v: leaves %v", tc.paths, got)
		}
		tree := c.Compute(yarn.NewResource(300*gib, 300))
		kids := c.Queues[0].Children
		for _, i := range kids {
			if e := tree.Capacities[i]; e.EffMin[0] != 300*gib/int64(len(kids)) {
				t.Errorf("%v: %s has %v", tc.paths, c.Queues[i].Path, e.EffMin)
			}
		}
	}
}

const gib = 1024

func index(t *testing.T, c *capacity.Config, path string) int {
	t.Helper()
	i, err := c.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	return i
}
