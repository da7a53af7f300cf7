package capacity

import (
	"slices"
	"strings"
	"testing"

	"rmd/scheduler/capacity/unhonored"
	"rmd/yarn"
)

// orderQueues is a tree in which root.p and its children may use the labels gpu and ssd, and root.a
// only gpu.
const orderQueues = labelsOn + `root.queues = a,p
root.a.capacity = 50
root.a.accessible-node-labels = gpu
root.p.capacity = 50
root.p.queues = x,y
root.p.x.capacity = 50
root.p.y.capacity = 50
root.p.accessible-node-labels = gpu,ssd
`

// yarnPolicies are YARN's policies: one with the class that Hadoop ships, and one with another.
const yarnPolicies = `multi-node-placement-enabled = true
multi-node-sorting.policy.names = usage, mine
multi-node-sorting.policy.usage.class = org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy
multi-node-sorting.policy.mine.class = org.example.Mine
`

// ordersOf returns the orders of a queue for nodes without a label and for the labels gpu and ssd.
func ordersOf(t testing.TB, c *Config, path string) string {
	t.Helper()
	i := index(t, c, path)
	return strings.Join([]string{c.Queues[i].NodeOrder.String(), c.Partition("gpu").Queues[i].NodeOrder.String(),
		c.Partition("ssd").Queues[i].NodeOrder.String()}, " ")
}

func TestNodeOrder(t *testing.T) {
	const gpu, ssd = "accessible-node-labels.gpu.node-order", "accessible-node-labels.ssd.node-order"
	for _, tc := range []struct{ text, a, x string }{
		{"", "auto auto auto", "auto auto auto"},
		{"node-order = pack", "pack pack pack", "pack pack pack"},
		{"node-order = \nroot.p.node-order =  ", "auto auto auto", "auto auto auto"},
		{"root.node-order = lifetime", "lifetime lifetime lifetime", "lifetime lifetime lifetime"},
		{"node-order = pack\nroot.node-order = spread", "spread spread spread", "spread spread spread"},
		{"node-order = pack\nroot.p.node-order = spread", "pack pack pack", "spread spread spread"},
		{"node-order = pack\nroot.p.node-order = auto", "pack pack pack", "auto auto auto"},
		{"root.p.node-order = pack\nroot.p.x.node-order = spread", "auto auto auto", "spread spread spread"},
		{"root.a." + gpu + " = pack", "auto pack auto", "auto auto auto"},
		{"root." + gpu + " = pack", "auto pack auto", "auto pack auto"},
		{"root." + gpu + " = pack\nroot.p." + ssd + " = lifetime", "auto pack auto", "auto pack lifetime"},
		{"root." + gpu + " = pack\nroot.p.x." + gpu + " = lifetime", "auto pack auto", "auto lifetime auto"},
		{"root." + gpu + " = pack\nroot.p.x." + gpu + " = ", "auto pack auto", "auto pack auto"},
		{"root." + gpu + " = pack\nroot.p.node-order = spread", "auto pack auto", "spread spread spread"},
		{"root." + gpu + " = pack\nroot.p.x.node-order = spread\nroot.p.x." + ssd + " = lifetime", "auto pack auto",
			"spread spread lifetime"},
		{"node-order = lifetime\nroot.p.node-order = spread\nroot.p." + gpu + " = auto", "lifetime lifetime lifetime",
			"spread auto spread"},
		{yarnPolicies + "multi-node-sorting.policy = usage", "spread spread spread", "spread spread spread"},
		{yarnPolicies + "node-order = pack\nroot.p.multi-node-sorting.policy = usage", "pack pack pack",
			"spread spread spread"},
		{yarnPolicies + "root.p.x.multi-node-sorting.policy = usage", "auto auto auto", "spread spread spread"},
		{yarnPolicies + "root." + gpu + " = pack\nroot.p.multi-node-sorting.policy = usage", "auto pack auto",
			"spread spread spread"},
		{yarnPolicies + "multi-node-sorting.policy = usage\nnode-order = pack", "pack pack pack", "pack pack pack"},
		{yarnPolicies + "root.p.multi-node-sorting.policy = usage\nroot.p.node-order = lifetime", "auto auto auto",
			"lifetime lifetime lifetime"},
		{"multi-node-placement-enabled = true\nmulti-node-sorting.policy = default\nmulti-node-sorting.policy.names = default", "spread spread spread", "spread spread spread"},
		{"multi-node-placement-enabled = TRUE\nmulti-node-sorting.policy = usage\nmulti-node-sorting.policy.names = default\n" +
			// the class counts
			"multi-node-sorting.policy.usage.class = " + resourceUsage, "spread spread spread", "spread spread spread"},
	} {
		c := parse(t, orderQueues+tc.text)
		if a, x := ordersOf(t, c, "root.a"), ordersOf(t, c, "root.p.x"); a != tc.a || x != tc.x {
			t.Errorf("%s:\na has %s, want %s; x has %s, want %s", tc.text, a, tc.a, x, tc.x)
		}
		if len(c.Warnings) > 0 || len(c.Ignored) > 0 {
			t.Errorf("%s: warnings %v, ignored %v", tc.text, c.Warnings, c.Ignored)
		}
	}
}

// TestNodeOrderOfALabelGivesNoCapacity checks that a queue with an order for a label has the same
// capacities as without it.
func TestNodeOrderOfALabelGivesNoCapacity(t *testing.T) {
	c := parse(t, orderQueues+"root.p.accessible-node-labels.gpu.node-order = pack")
	if labels := c.Labels(); len(labels) > 0 {
		t.Errorf("queues have capacities for %v", labels)
	}
	p := c.Partition("gpu")
	if e := p.Compute(mem(100)).Capacities[index(t, p, "root.p")]; !e.EffMin.IsZero() || !e.EffMax.IsZero() {
		t.Errorf("root.p has %v … %v of label gpu", e.EffMin, e.EffMax)
	}
}

// TestNodeOrderWithoutLabels checks that the order of a label is not honored while labels are
// disabled.
func TestNodeOrderWithoutLabels(t *testing.T) {
	c := parse(t, twoQueues+"root.a.accessible-node-labels.gpu.node-order = pack\nroot.b.node-order = pack")
	if got := ordersOf(t, c, "root.a"); got != "auto auto auto" || len(c.Warnings) > 0 || len(c.Ignored) != 1 ||
		c.Ignored[0].Do != unhonored.WhyLabels {
		t.Errorf("a has %s, warnings %v, ignored %v", got, c.Warnings, c.Ignored)
	}
	if got := ordersOf(t, c, "root.b"); got != "pack pack pack" {
		t.Errorf("b has %s", got)
	}
}

// TestNodeOrderOfDynamicQueues checks templates of both kinds, and that a queue without an order in
// its template has its parent's.
func TestNodeOrderOfDynamicQueues(t *testing.T) {
	const gpu = "accessible-node-labels.gpu.node-order"
	c := parse(t, labelsOn+`root.queues = users,m,n
root.users.capacity = 40
root.users.node-order = lifetime
root.users.auto-queue-creation-v2.enabled = true
root.users.auto-queue-creation-v2.leaf-template.node-order = pack
root.users.auto-queue-creation-v2.leaf-template.`+gpu+` = spread
root.m.capacity = 30
root.m.auto-create-child-queue.enabled = true
root.m.`+gpu+` = lifetime
root.m.leaf-queue-template.capacity = 10
root.n.capacity = 30
root.n.auto-create-child-queue.enabled = true
root.n.`+gpu+` = lifetime
root.n.leaf-queue-template.capacity = 10
root.n.leaf-queue-template.`+gpu+` = pack`)
	if len(c.Warnings) > 0 || len(c.Ignored) > 0 {
		t.Errorf("warnings %v, ignored %v", c.Warnings, c.Ignored)
	}
	want := map[string]string{"root.users.ann": "pack spread pack", "root.users.dev": "lifetime lifetime lifetime",
		"root.users.dev.x": "lifetime lifetime lifetime",
		"root.m.ann":       "auto lifetime auto", "root.n.ann": "auto pack auto"}
	list := []yarn.DynamicQueue{leafQueue("root.users.ann"), parentQueue("root.users.dev"), leafQueue("root.users.dev.x"),
		leafQueue("root.m.ann"), leafQueue("root.n.ann")}
	together, err := c.WithDynamic(list)
	if err != nil {
		t.Fatal(err)
	}
	gpuPart := c.Partition("gpu")
	for _, d := range list {
		if got := ordersOf(t, together, d.Path); got != want[d.Path] {
			t.Errorf("%s has %s, want %s", d.Path, got, want[d.Path])
		}
		if _, err := c.Add(d); err != nil {
			t.Fatal(err)
		}
		gpuPart.AddFrom(c)
		if got := gpuPart.Queues[index(t, c, d.Path)].NodeOrder.String(); got != strings.Fields(want[d.Path])[1] {
			t.Errorf("%s, added alone, has %s for gpu, want %s", d.Path, got, want[d.Path])
		}
	}
}

// TestNodeOrderFaults checks that Parse refuses a bad value once, and that a stored configuration
// with it, which a version without the key may have accepted, can still be loaded.
func TestNodeOrderFaults(t *testing.T) {
	for text, want := range map[string]string{
		"node-order = best":                              `capacity.node-order = "best": is not an order of nodes; write auto, spread, pack or lifetime`,
		"root.p.x.node-order = Pack":                     `root.p.x.node-order = "Pack": is not an order of nodes`,
		"root.accessible-node-labels.gpu.node-order = 1": `root.accessible-node-labels.gpu.node-order = "1": is not an order of nodes`,
		"multi-node-placement-enabled = yes\n" +
			"node-order = auto": `multi-node-placement-enabled = "yes": is not true or false; write true or false`,
	} {
		_, err := Parse(props(orderQueues + text))
		if err == nil || !strings.Contains(err.Error(), want) || len(faults(t, err)) != 1 {
			t.Errorf("%s: %v, want one fault %s", text, err, want)
		}
		if c, err := ParseStored(props(orderQueues + text)); err != nil || len(c.Warnings) != 1 ||
			ordersOf(t, c, "root.p.x") != "auto auto auto" {
			t.Errorf("%s, stored: %v", text, err)
		}
	}
	_, err := Parse(props(orderQueues + "root.accessible-node-labels._x.node-order = pack"))
	if err == nil || !strings.Contains(err.Error(), "label name should only contains") {
		t.Errorf("a label that cannot exist has an order: %v", err)
	}
}

// TestNodeOrderWarnings checks keys that have no effect. The orders stay as they are.
func TestNodeOrderWarnings(t *testing.T) {
	const stays = ", so the order of nodes stays as it is; "
	for _, tc := range []struct {
		text              string
		warnings, ignored []string
	}{
		{text: "node-oder = pack", warnings: []string{
			`node-oder: unknown key; did you mean "yarn.scheduler.capacity.node-order"?`}},
		{text: "root.p.nodeorder = pack", warnings: []string{
			`root.p.nodeorder: unknown key; did you mean "yarn.scheduler.capacity.root.p.node-order"?`}},
		{text: "root.p.accessible-node-labels.gpu.node-ordr = pack",
			warnings: []string{`root.p.accessible-node-labels.gpu.node-ordr: unknown key; did you mean "yarn.scheduler.capacity.root.p.accessible-node-labels.gpu.node-order"?`}},
		{text: "root.a.accessible-node-labels.ssd.node-order = pack",
			warnings: []string{"root.a.accessible-node-labels.ssd.node-order: root.a may not use label ssd, so the order has no effect; add the label to yarn.scheduler.capacity.root.a.accessible-node-labels, or remove the key"}},
		{text: "multi-node-sorting.polices = usage",
			warnings: []string{
				`multi-node-sorting.polices: unknown key; did you mean "yarn.scheduler.capacity.multi-node-sorting.policy"?`}},
		{text: "multi-node-sorting.policy.usage.clas = x",
			warnings: []string{`multi-node-sorting.policy.usage.clas: unknown key; `}},
		{text: "root.p.multi-node-sorting.polcy = usage",
			warnings: []string{`root.p.multi-node-sorting.polcy: unknown key; did you mean "yarn.scheduler.capacity.root.p.multi-node-sorting.policy"?`}},
		{text: yarnPolicies + "root.p.multi-node-sorting.policy = mine",
			warnings: []string{
				"root.p.multi-node-sorting.policy: the policy's class org.example.Mine is not one that Hadoop ships" + stays +
					"set node-order to auto, spread, pack or lifetime"}},
		{text: yarnPolicies + "multi-node-sorting.policy = other",
			warnings: []string{"multi-node-sorting.policy: the policy has no class" + stays +
				"set yarn.scheduler.capacity.multi-node-sorting.policy.other.class, or node-order"}},
		{text: yarnPolicies +
			"multi-node-sorting.policy = org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy",
			warnings: []string{"multi-node-sorting.policy: the policy has no class"}}, // as in YARN, a class is not a name
		{text: "multi-node-placement-enabled = true\nmulti-node-sorting.policy = default",
			warnings: []string{
				"multi-node-sorting.policy: yarn.scheduler.capacity.multi-node-sorting.policy.names does not list the policy" +
					stays + "add it there, or set node-order"}},
		{
			text: "multi-node-sorting.policy = default\nroot.p.multi-node-sorting.policy = default\nmulti-node-sorting.policy.names = default\nmulti-node-sorting.policy.default.class = x\nmulti-node-placement-enabled = false",
			ignored: []string{"multi-node-sorting.policy: not honored; " + whyMultiNodeOff,
				"root.p.multi-node-sorting.policy: not honored; " + whyMultiNodeOff,
				"multi-node-sorting.policy.names: not honored; " + whyMultiNodeOff,
				"multi-node-sorting.policy.default.class: not honored; " + whyMultiNodeOff}},
		{text: yarnPolicies +
			"multi-node-sorting.policy.usage.sorting-interval.ms = 500\nmulti-node-sorting.policy.mine.sorting-interval.ms = 1000", ignored: []string{"multi-node-sorting.policy.usage.sorting-interval.ms: not honored; " + whySorted}},
	} {
		c := parse(t, orderQueues+tc.text)
		compare(t, tc.text, "warnings", c.Warnings, tc.warnings)
		compare(t, tc.text, "ignored", c.Ignored, tc.ignored)
		if got := ordersOf(t, c, "root.p.x"); got != "auto auto auto" {
			t.Errorf("%s: x has %s", tc.text, got)
		}
	}
}

// compare compares faults with the beginnings of their texts, in any order.
func compare(t *testing.T, text, kind string, got []Fault, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %s %v, want %v", text, kind, got, want)
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(f Fault) bool {
			return strings.HasPrefix(strings.TrimPrefix(f.Name, Prefix)+": "+f.What+"; "+f.Do, w)
		}) {
			t.Errorf("%s: %s %v, want %s", text, kind, got, w)
		}
	}
}

func TestReservedNode(t *testing.T) {
	for text, want := range map[string]ReservedNode{
		"": ReserveByMode, "reservation.node = ": ReserveByMode, "reservation.node = first": ReserveFirst,
		"reservation.node = earliest": ReserveEarliest,
	} {
		if got := parse(t, twoQueues+text).ReserveNode; got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if _, err := Parse(props(twoQueues + "reservation.node = last")); err == nil ||
		!strings.Contains(err.Error(),
			`reservation.node = "last": is not a way to choose the node of a reservation; write first or earliest`) {
		t.Errorf("Parse with reservation.node = last: %v", err)
	}
}
