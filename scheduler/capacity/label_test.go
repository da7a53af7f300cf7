package capacity

import (
	"slices"
	"strings"
	"testing"

	"rmd/yarn"
)

const labelsOn = "yarn.node-labels.enabled = true\n"

func TestLabelCapacities(t *testing.T) {
	c := parse(t, labelsOn+`root.queues = a,b
root.a.capacity = 40
root.a.maximum-am-resource-percent = 0.2
root.a.accessible-node-labels = gpu,ssd
root.a.accessible-node-labels.gpu.capacity = 100
root.a.accessible-node-labels.gpu.maximum-am-resource-percent = 0.5
root.a.accessible-node-labels.ssd.capacity = 30
root.a.accessible-node-labels.ssd.maximum-capacity = 50
root.a.queues = x,y
root.a.x.capacity = 1w
root.a.x.accessible-node-labels.gpu.capacity = 1w
root.a.x.accessible-node-labels.ssd.capacity = 1w
root.a.x.default-node-label-expression = gpu
root.a.y.capacity = 3w
root.a.y.accessible-node-labels = ssd
root.a.y.accessible-node-labels.ssd.capacity = 2w
root.b.capacity = 60
root.b.accessible-node-labels =  `+`
root.b.accessible-node-labels.ssd.capacity = 70`)
	if got := c.Labels(); !slices.Equal(got, []string{"gpu", "ssd"}) {
		t.Errorf("labels %v", got)
	}
	for label, want := range map[string]map[string][2]int64{ // guarantee and maximum in GiB
		"gpu":  {"root": {100, 100}, "a": {100, 100}, "x": {100, 100}, "y": {0, 0}, "b": {0, 0}},
		"ssd":  {"root": {100, 100}, "a": {30, 50}, "x": {10, 50}, "y": {20, 50}, "b": {70, 100}},
		"none": {"root": {100, 100}, "a": {0, 0}, "x": {0, 0}, "y": {0, 0}, "b": {0, 0}},
	} {
		p := c.Partition(label)
		tree := p.Compute(mem(100))
		for path, w := range want {
			e := tree.Capacities[index(t, p, path)]
			if e.EffMin[yarn.Memory] != w[0]*gib || e.EffMax[yarn.Memory] != w[1]*gib {
				t.Errorf("%s of %s: %v … %v, want %v GiB", path, label, e.EffMin, e.EffMax, w)
			}
		}
	}
	if e := c.Compute(mem(100)).Capacities[index(t, c, "x")]; e.EffMin[yarn.Memory] != 10*gib {
		t.Errorf("x has %v without a label", e.EffMin)
	}
	gpu, ssd := c.Partition("gpu"), c.Partition("ssd")
	if got := gpu.Queues[index(t, c, "a")].MaxAMPercent; got != fraction(t, "0.5") {
		t.Errorf("AM share of a on gpu: %v", got)
	}
	if got := ssd.Queues[index(t, c, "a")].MaxAMPercent; got != fraction(t, "0.2") {
		t.Errorf("AM share of a on ssd: %v, want the queue's own", got)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].What, "root.b may not use label ssd") {
		t.Errorf("warnings %v", c.Warnings)
	}
	if len(c.Ignored) != 0 {
		t.Errorf("not honored: %v", c.Ignored)
	}
}

// TestAccessibleLabels checks which labels queues may use, and which label an ask gets that names
// none.
func TestAccessibleLabels(t *testing.T) {
	c := parse(t, labelsOn+`root.queues = all,some,none
root.all.capacity = 50
root.all.default-node-label-expression = gpu
root.all.queues = same,narrow
root.all.same.capacity = 50
root.all.narrow.capacity = 50
root.all.narrow.accessible-node-labels = ssd
root.some.capacity = 50
root.some.accessible-node-labels = ssd, gpu,ssd
root.some.default-node-label-expression = ssd
root.some.queues = own,less,unset
root.some.own.capacity = 50
root.some.less.capacity = 25
root.some.less.accessible-node-labels = gpu
root.some.unset.capacity = 25
root.some.unset.default-node-label-expression =  `+`
root.none.capacity = 0
root.none.accessible-node-labels =  `)
	for path, want := range map[string]struct{ accessible, usual string }{
		"root": {"*", ""}, "all": {"*", "gpu"}, "same": {"*", "gpu"}, "narrow": {"ssd", ""},
		"some": {"gpu,ssd", "ssd"}, "own": {"gpu,ssd", "ssd"}, "less": {"gpu", ""}, "unset": {"gpu,ssd", ""},
		"none": {"", ""},
	} {
		q := &c.Queues[index(t, c, path)]
		if q.AccessibleText() != want.accessible || q.DefaultLabel != want.usual {
			t.Errorf("%s may use %q, usually %q; want %+v", path, q.AccessibleText(), q.DefaultLabel, want)
		}
	}
	some, none := &c.Queues[index(t, c, "some")], &c.Queues[index(t, c, "none")]
	if !some.MayUse("gpu") || some.MayUse("later") || !some.MayUse("") || none.MayUse("gpu") || !none.MayUse("") ||
		!c.Queues[0].MayUse("later") {
		t.Error("MayUse is not what the lists say")
	}
}

func TestLabelSettings(t *testing.T) {
	c := parse(t, labelsOn+`root.queues = a
root.a.capacity = 100
yarn.node-labels.configuration-type = distributed
yarn.node-labels.exclusive-enforced-partitions = x,y
yarn.node-labels.am.default-node-label-expression = core
yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation = true`)
	s := c.LabelSettings
	if !s.Enabled || s.Source.String() != "distributed" || !slices.Equal(s.Enforced, []string{"x", "y"}) ||
		s.AMDefault != "core" || !s.AMNonExclusive {
		t.Errorf("label settings %+v, want enabled, distributed, enforced x and y, AM default core, AMs non-exclusive",
			s)
	}
	c = parse(t,
		labelsOn+"root.queues = a\nroot.a.capacity = 100\nyarn.node-labels.am.default-node-label-expression = emr\n"+
			"yarn.resourcemanager.node-labels.am.default-node-label-expression = hadoop")
	if c.LabelSettings.AMDefault != "hadoop" || c.LabelSettings.Source != CentralizedLabels {
		t.Errorf("label settings %+v, want the AM default \"hadoop\" and centralized labels",
			c.LabelSettings)
	}
}

// TestLabelsOff checks that the keys of labels have no effect while labels are disabled, even with
// invalid values.
func TestLabelsOff(t *testing.T) {
	c := parse(t,
		twoQueues+
			"root.a.accessible-node-labels = no name\nroot.a.accessible-node-labels.gpu.capacity = 7\nroot.a.default-node-label-expression = gpu")
	if c.LabelSettings.Enabled || len(c.Labels()) != 0 || len(c.Ignored) != 3 {
		t.Errorf("%+v, labels %v, not honored %v", c.LabelSettings, c.Labels(), c.Ignored)
	}
	for _, key := range []string{labelsEnabled, labelsSource, labelsEnforced, amDefaultLabel, emrDefaultLabel,
		amNonExclusive} {
		if !Relevant(key) {
			t.Errorf("%s is not taken from Hadoop's files", key)
		}
	}
}

func TestLabelFaults(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"root.a.accessible-node-labels.gpu.capacity = 60\nroot.b.accessible-node-labels.gpu.capacity = 30",
			"the capacities of its children sum to 90 %, not 100 % for label=gpu; change the capacity of a (60%), b (30%)"},
		{"root.a.accessible-node-labels.gpu.capacity = 1w\nroot.b.accessible-node-labels.gpu.capacity = 50",
			"its children mix units of capacity for label=gpu: weight (a), percent (b)"},
		{"root.a.accessible-node-labels.gpu.capacity = [memory=8192,vcores=8]",
			"Queue 'root.a' should use either percentage based capacity configuration or absolute resource."},
		{"root.a.accessible-node-labels.gpu.capacity = 1w\nroot.b.accessible-node-labels.gpu.capacity = 2w",
			"its children use unit weight for label=gpu and unit percent elsewhere"},
		{"root.a.accessible-node-labels.gpu.capacity = -1", `root.a.accessible-node-labels.gpu.capacity = "-1": is negative`},
		{"root.a.accessible-node-labels.gpu.maximum-am-resource-percent = x",
			`root.a.accessible-node-labels.gpu.maximum-am-resource-percent = "x": is not a decimal number`},
		{"root.a.accessible-node-labels._x.capacity = 100",
			"label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= _x"},
		{"root.a.accessible-node-labels." + strings.Repeat("x", 256) + ".capacity = 100",
			"label added is empty or exceeds 255 character(s)"},
		{"root.a.accessible-node-labels = x\nroot.a.queues = c\nroot.a.c.capacity = 100\nroot.a.c.accessible-node-labels = x,y,z", "Some labels of child queue is not a subset of parent queue, these labels=[y,z]"},
		{"root.a.accessible-node-labels = x\nroot.a.queues = c\nroot.a.c.capacity = 100\nroot.a.c.accessible-node-labels = *",
			"Parent's accessible queue is not ANY(*), but child's accessible queue is *"},
		{"root.a.accessible-node-labels = x\nroot.a.default-node-label-expression = y",
			"Invalid default label expression of  queue=root.a doesn't have permission to access all labels in default label expression. labelExpression of resource request=y. Queue labels=x"},
		{"yarn.node-labels.configuration-type = magic",
			"is not a way to give nodes labels; write centralized, delegated-centralized or distributed"},
		{"yarn.resourcemanager.node-labels.am.default-node-label-expression = a&&b", "now it is= a&&b; write one label"},
	} {
		_, err := Parse(props(labelsOn + twoQueues + tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q:\n got %v\nwant %s", tc.text, err, tc.want)
			continue
		}
		for _, f := range faults(t, err) {
			if f.What == "" || f.Do == "" {
				t.Errorf("%q: a fault without what or do: %+v", tc.text, f)
			}
		}
	}
	c := parse(t, labelsOn+twoQueues+"root.a.accessible-node-labels.gpu.capacty = 100")
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Do,
		`"yarn.scheduler.capacity.root.a.accessible-node-labels.gpu.capacity"`) {
		t.Errorf("warnings %v", c.Warnings)
	}
}

// TestLabelOnChildrenOnly checks that children may have any shares of a label for which their
// parent has no keys: there is nothing to divide.
func TestLabelOnChildrenOnly(t *testing.T) {
	c := parse(t, labelsOn+`root.queues = a,b
root.a.capacity = 50
root.a.queues = x
root.a.x.capacity = 100
root.a.x.accessible-node-labels.gpu.capacity = 50
root.b.capacity = 50
root.b.accessible-node-labels.gpu.capacity = 100`)
	tree := c.Partition("gpu").Compute(mem(16))
	if got := tree.Capacities[index(t, c, "x")].EffMin; !got.IsZero() {
		t.Errorf("x is guaranteed %v of nothing", got)
	}
}

// TestLabelOnParentOnly checks that a parent may have an absolute capacity of a label of which its
// children have none.
func TestLabelOnParentOnly(t *testing.T) {
	c := parse(t, labelsOn+`root.queues = a
root.a.capacity = [memory=4096,vcores=4]
root.a.accessible-node-labels.gpu.capacity = [memory=8192,vcores=8]
root.a.queues = x
root.a.x.capacity = [memory=4096,vcores=4]`)
	p := c.Partition("gpu")
	tree := p.Compute(yarn.NewResource(4096, 4))
	if got := tree.Capacities[index(t, c, "a")].EffMin; got != yarn.NewResource(4096, 4) {
		t.Errorf("a is guaranteed %v of less than its vector", got)
	}
	if got := tree.Capacities[index(t, c, "x")].EffMax; !got.IsZero() {
		t.Errorf("x may take %v", got)
	}
}

// TestMixedLabels checks that queues have capacities of a label if units may be mixed, too.
func TestMixedLabels(t *testing.T) {
	c := parse(t, labelsOn+mixedHead+`root.queues = a,b
root.a.capacity = 1w
root.b.capacity = 1w
root.a.accessible-node-labels.gpu.capacity = 25
root.a.accessible-node-labels.gpu.maximum-capacity = [memory=50%,vcores=5]
root.b.accessible-node-labels.gpu.capacity = 1w`)
	tree := c.Partition("gpu").Compute(yarn.NewResource(100*gib, 40))
	for path, want := range map[string][2]yarn.Resource{
		"a": {yarn.NewResource(25*gib, 5), yarn.NewResource(50*gib, 5)},
		"b": {yarn.NewResource(75*gib, 35), yarn.NewResource(100*gib, 40)},
	} {
		if e := tree.Capacities[index(t, c, path)]; e.EffMin != want[0] || e.EffMax != want[1] {
			t.Errorf("%s: %v … %v, want %v", path, e.EffMin, e.EffMax, want)
		}
	}
}
