package capacity

import (
	"strings"
	"testing"

	"rmd/yarn"
)

const managedParent = "root.queues = a,m\nroot.a.capacity = 40\nroot.m.capacity = 60\nroot.m.auto-create-child-queue.enabled = true\n"

// TestManagedActiveLeafCount checks how many leaves may be active: as many as fit into the parent's
// capacity for every label, with a tolerance of a ten-thousandth.
func TestManagedActiveLeafCount(t *testing.T) {
	const template = "root.m.leaf-queue-template."
	for keys, want := range map[string]int64{
		template + "capacity = 40":         2,
		template + "capacity = 100":        1,
		template + "capacity = 33.33":      3,
		template + "capacity = 33.3333333": 3,
		template + "capacity = 33.34":      2,
		"":                                 MaxDynamicQueues,
		"root.m.capacity = [memory=4096,vcores=4]\nroot.a.capacity = [memory=4096,vcores=4]\n" + template +
			"capacity = [memory=1024,vcores=2]": 2,
		"yarn.node-labels.enabled = true\nroot.m.accessible-node-labels = x\nroot.accessible-node-labels.x.capacity = 100\nroot.m.accessible-node-labels.x.capacity = 100\n" +
			template + "capacity = 10\n" + template + "accessible-node-labels.x.capacity = 25": 4,
	} {
		c := parse(t, managedParent+keys)
		i, _ := c.Lookup("root.m")
		if q := &c.Queues[i]; q.Leaf || q.ChildrenBy() != Legacy || q.AutoCreate.Room != want {
			t.Errorf("%q: a leaf: %v, created %v, room for %d, want %d", keys, q.Leaf, q.ChildrenBy(), q.AutoCreate.Room, want)
		}
	}
}

// TestManagedLeaves checks that an active leaf has the capacity of the template and an inactive one
// has none. Both have the template's other keys.
func TestManagedLeaves(t *testing.T) {
	c := parse(t,
		managedParent+
			"root.m.leaf-queue-template.capacity = 50\nroot.m.leaf-queue-template.maximum-capacity = 80\nroot.m.leaf-queue-template.user-limit-factor = 3\n"+
			"root.m.y.user-limit-factor = 7\nroot.m.y.capacity = 100\n")
	c, err := c.WithDynamic([]yarn.DynamicQueue{{Path: "root.m.x", Leaf: true, Active: true},
		{Path: "root.m.y", Leaf: true}})
	if err != nil {
		t.Fatal(err)
	}
	tree := c.Compute(yarn.NewResource(10_000, 10))
	for path, want := range map[string]int64{"root.m.x": 3000, "root.m.y": 0} {
		i, _ := c.Lookup(path)
		q, e := &c.Queues[i], &tree.Capacities[i]
		if e.EffMin[yarn.Memory] != want || e.EffMax[yarn.Memory] != 8000 || q.Creation != Legacy ||
			q.UserLimitFactor != (yarn.Fraction{Num: 3, Den: 1}) {
			t.Errorf("%s: %v to %v, %v, user limit %v", path, e.EffMin, e.EffMax, q.Creation, q.UserLimitFactor)
		}
		if e.Measure()[yarn.Memory] != 3000 {
			t.Errorf("the use of %s is measured by %v", path, e.Measure())
		}
	}
}

func TestManagedFaults(t *testing.T) {
	for keys, want := range map[string]string{
		"root.m.queues = x\nroot.m.x.capacity = 100":                  "has no queues of the configuration",
		"root.m.leaf-queue-template.capacity = 101":                   "is more than 100 percent",
		"root.m.leaf-queue-template.capacity = 1w":                    "is a weight",
		"root.m.leaf-queue-template.capacity = [memory=1024]":         "Managed Parent Queue root.m config type is different from leaf queue template config type",
		"root.m.leaf-queue-template.maximum-applications = many":      "is not a whole number",
		"root.m.auto-create-child-queue.management-policy = a.b.Mine": "Could not instantiate AutoCreatedQueueManagementPolicy: a.b.Mine for queue: root.m",
		"root.m.auto-create-child-queue.enabled = perhaps":            "is not true or false",
		"root.auto-create-child-queue.enabled = true":                 "root cannot have it",
		"yarn.node-labels.enabled = true\nroot.m.accessible-node-labels = x\nroot.m.leaf-queue-template.accessible-node-labels.z.capacity = 10": "Invalid node label z on configured leaf template on parent queue root.m",
	} {
		_, err := Parse(props(managedParent + keys))
		if err == nil {
			t.Errorf("%q is taken", keys)
			continue
		}
		text := err.Error()
		for _, f := range faults(t, err) {
			text += f.YARN
		}
		if !strings.Contains(text, want) {
			t.Errorf("Parse with %q: %s\nwant %s", keys, text, want)
		}
	}
	c := parse(t, managedParent+"root.m.leaf-queue-template.capacty = 5\nroot.m.auto-create-child-queue.max-queus = 5")
	if len(c.Warnings) != 2 || !strings.Contains(c.Warnings[0].Do+c.Warnings[1].Do,
		`root.m.leaf-queue-template.capacity"`) {
		t.Errorf("warnings %v, want two, one of which suggests root.m.leaf-queue-template.capacity",
			c.Warnings)
	}
}

// TestManagedParentSwitchRefused checks that a parent cannot start or stop using
// auto-create-child-queue. The refusals have YARN's messages.
func TestManagedParentSwitchRefused(t *testing.T) {
	other := parse(t, strings.Replace(managedParent, "auto-create-child-queue", "auto-queue-creation-v2", 1))
	with := parse(t, managedParent)
	never := func(string) bool { return false }
	for want, cfg := range map[string][2]*Config{"Can not convert parent queue: root.m": {with, other},
		"Cannot convert auto create enabled parent queue: root.m": {other, with}} {
		err := cfg[0].Validate(cfg[1], never, never)
		if got := faults(t, err); len(got) != 1 || !strings.HasPrefix(got[0].YARN, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := with.Validate(with, never, never); err != nil {
		t.Error(err)
	}
}
