package capacity

import (
	"strconv"
	"strings"
	"testing"

	"rmd/scheduler/capacity/amount"
	"rmd/yarn"
)

const twoQueues = "root.queues = a,b\nroot.a.capacity = 40\nroot.b.capacity = 60\n"

var longName = strings.Repeat("x", 300)

// refusals are configurations with the expected message: the key, what is wrong with it, and what
// to do.
var refusals = []struct{ text, want string }{
	{"", `root.queues: is missing: root has no queues; list the queues under root, for example "default"`},
	{"root.queues = a,a\nroot.a.capacity = 100", `root.queues = "a,a": names "a" twice; name each queue once`},
	{"root.queues = a,b.c\nroot.a.capacity = 100", `root.queues = "a,b.c": "b.c" is not a queue name`},
	{"root.queues = a," + longName + "\nroot.a.capacity = 100", "is not a queue name"},
	{"root.queues = a,b\nroot.a.capacity = 40\nroot.b.capacity = 50",
		`root.queues = "a,b": the capacities of its children sum to 90 %, not 100 %; change the capacity of a (40%), b (50%)`},
	{"root.queues = a,b\nroot.a.capacity = 40\nroot.b.capacity = 60.051", "sum to 100.051 %"},
	{"root.queues = a,b\nroot.b.capacity = 99", "change the capacity of a (not set), b (99%)"},
	{"root.queues = a,b,c\nroot.a.capacity = 40\nroot.b.capacity = 1w\nroot.c.capacity = [memory=1]",
		"its children mix units of capacity: percent (a), weight (b), absolute (c); use one unit, or set yarn.scheduler.capacity.legacy-queue-mode.enabled = false"},
	{"root.queues = a\nroot.a.capacity = 100\nroot.a.queues = x\nroot.a.x.capacity = [memory=1024]",
		"root.a.capacity = \"100\": absolute capacity must be used by a parent and its children alike"},
	{"root.queues = a\nroot.a.capacity = [memory=1024]\nroot.a.queues = x\nroot.a.x.capacity = 100",
		"absolute capacity must be used by a parent"},
	{"root.queues = a\nroot.a.capacity = [memory=1024,vcores=2]\nroot.a.queues = x\nroot.a.x.capacity = [memory=1024,vcores=3]", "its children are guaranteed 3 of vcores, more than its own 2; raise it, or lower the children's"},
	{"root.queues = a\nroot.a.capacity = [memory=2048]\nroot.a.maximum-capacity = [memory=1024]",
		"[memory=1024] is below the queue's capacity of [memory=2048]"},
	{twoQueues + "root.a.maximum-capacity = 3w", "a weight is not a maximum; write a percentage, or a vector"},
	{twoQueues + "root.a.maximum-capacity = 101", "is more than 100 percent"},
	{twoQueues + "root.a.maximum-capacity = -5", "is negative"},
	{twoQueues + "root.a.capacity = forty",
		`root.a.capacity = "forty": "forty" is not a percentage, a weight such as 3w, or a vector`},
	{twoQueues + "root.a.capacity = [memory=1", "the vector is not closed with ]"},
	{twoQueues + "root.a.capacity = [memory]", `"memory" is not kind=value`},
	{twoQueues + "root.a.capacity = [ram=1]", `"ram" is not a known resource kind (memory-mb, vcores)`},
	{twoQueues + "root.a.capacity = [memory=1,memory-mb=2]", "names memory-mb twice"},
	{twoQueues + "root.a.capacity = [memory=1x]", `unit "x" is not one of`},
	{twoQueues + "root.a.capacity = [vcores=1k]", "only memory may carry a unit"},
	{twoQueues + "root.a.capacity = [memory=999999999999P]", "is more than"},
	{twoQueues + "root.a.capacity = [memory=40%]", "need yarn.scheduler.capacity.legacy-queue-mode.enabled = false"},
	{"root.queues = a\nroot.a.capacity = 1000001w", "is a weight above 1000000"},
	{twoQueues + "root.a.user-settings.bob.weight = 1.5",
		"weight 1.5 times minimum-user-limit-percent 100 is more than 100; lower the weight"},
	{twoQueues + "root.a.user-limit-factor = -2",
		"root.a.user-limit-factor = \"-2\": is out of bounds; write a decimal number from 0 to 1000000"},
	{twoQueues + "root.a.minimum-user-limit-percent = many", "is not a decimal number"},
	{twoQueues + "root.a.maximum-allocation-mb = 9000", "memory-mb of 9000 is above the cluster's maximum of 8192"},
	{twoQueues + "root.a.maximum-allocation = vcores=0", "vcores of 0 is below the smallest container of 1"},
	{twoQueues + "root.a.maximum-allocation = plenty", "write kind=amount pairs such as memory-mb=8192,vcores=4"},
	{twoQueues + "root.a.state = DRAINING", "is not a state a queue can be set to; write RUNNING or STOPPED"},
	{twoQueues + "root.a.state = RUNNING\nroot.state = STOPPED",
		"is RUNNING, but its parent root is STOPPED; stop it too, or start the parent"},
	{twoQueues + "root.a.ordering-policy = lifo", "is not an order of applications; write fifo or fair"},
	{twoQueues + "root.ordering-policy = fifo", "is not an order of queues; write utilization or priority-utilization"},
	{twoQueues + "root.a.maximum-application-lifetime = 5\nroot.a.default-application-lifetime = 6",
		"is 6 s, longer than the maximum of 5 s"},
	{twoQueues + "root.a.priority = high", "is not a whole number"},
	{twoQueues + "maximum-applications = -1",
		"maximum-applications = \"-1\": is out of bounds; write a number from 0 to 2147483647"},
	{twoQueues + "reservations-continue-look-all-nodes = yes", "is not true or false"},
	{twoQueues + "resource-calculator = Magic",
		"is not a known calculator; use DefaultResourceCalculator or DominantResourceCalculator"},
	{twoQueues + "yarn.resource-types = yarn.io/gpu",
		"the default calculator looks at memory only, and 3 kinds are known; set org"},
	{twoQueues + "yarn.resource-types = a,b,c,d,e", "makes more than 6 kinds with memory and vcores"},
	{twoQueues + "yarn.resource-types = a,a", `names "a" twice; name each kind once`},
	{twoQueues + "yarn.resource-types = memory", `"memory" is not a resource kind's name`},
	{twoQueues + "yarn.scheduler.minimum-allocation-mb = 0", "is not above 0"},
	{twoQueues + "yarn.scheduler.minimum-allocation-mb = 9000",
		"the smallest container (9000) is larger than the largest (8192); lower it, or raise yarn.scheduler.maximum-allocation-mb"},
	{twoQueues + "yarn.scheduler.minimum-allocation-mb = 1.5", `"1.5" is not a whole number`},
	{twoQueues + "yarn.scheduler.skip.node.multiplier = 0", "is out of bounds; write a number from 1 to 1000000"},
	{twoQueues + "yarn.scheduler.skip.node.multiplier = 2.5", "is not a whole number"},
	{twoQueues + "yarn.nm.liveness-monitor.expiry-interval-ms = soon", "is not a duration; write milliseconds"},
	{twoQueues + "queue-mappings = u:bob", `"u:bob" does not have three parts; write u:user:queue or g:group:queue`},
	{twoQueues + "queue-mappings = x:bob:a", "begins with neither u nor g"},
	{twoQueues + "queue-mappings = u::a", "does not have three parts"},
	{twoQueues + "queue-mappings = u:%user:%group",
		`rule 1: there is no queue "%group"; a variable must be a whole part of a path`},
	{twoQueues + "queue-mappings = u:bob:c", `rule 1: there is no queue "c"; write u:user:queue`},
	{twoQueues + "queue-mappings = u:bob:root", "rule 1: root is not a leaf; write u:user:queue"},
	{twoQueues + "queue-mappings = u:bob:a,u:ann:root.a.%user", "rule 2: root.a is a leaf, so there is no queue below it"},
	{twoQueues + "mapping-rule-format = xml", "is no format of rules; write legacy or json"},
	{twoQueues + "mapping-rule-format = json\nmapping-rule-json-file = /etc/rules.json",
		"the contents of the file are not in " + RulesKey},
	{twoQueues +
		"mapping-rule-format = json\nmapping-rule-json = {\"rules\":[{\"policy\":\"x\",\"type\":\"user\",\"matches\":\"*\"}]}", `rule 1: the policy "x" is not specified`},
	{twoQueues + "root.a.acl_application_max_priority = [user=ann]",
		"there is no max_priority in [user=ann]; write [user=u1,u2 group=g1 max_priority=7 default_priority=4]"},
	{twoQueues + "root.a.acl_application_max_priority = [max_priority=3]",
		"there is no user and no group in [max_priority=3]"},
	{twoQueues + "root.a.acl_application_max_priority = [user= max_priority=3]", "there is no user and no group"},
	{twoQueues + "root.a.acl_application_max_priority = [user=ann max_priority=high]",
		`max_priority "high" is not a whole number in [user=ann max_priority=high]`},
	{twoQueues + "root.a.acl_application_max_priority = [user=ann max_priority=1 default_priority=]",
		`default_priority "" is not a whole number`},
	{twoQueues + "root.a.acl_application_max_priority = [user=ann max-priority=1]",
		`"max-priority=1" is none of user, group, max_priority and default_priority`},
	{twoQueues + "root.a.acl_application_max_priority = user=ann max_priority=1",
		`"user=ann max_priority=1" is in no brackets`},
	{twoQueues + "workflow-priority-mappings = etl:root.a",
		"Illegal workflow priority mapping etl:root.a; write workflow-id:root.full.path.of.the.queue:priority"},
	{twoQueues + "workflow-priority-mappings = etl:root.a:3,x:root.b:high",
		"Illegal workflow priority for mapping x:root.b:high"},
	{twoQueues + "yarn.scheduler.queue-placement-rules = user-group,user-group", `names "user-group" twice`},
}

func TestFaults(t *testing.T) {
	for _, tc := range refusals {
		_, err := Parse(props(tc.text))
		if err == nil {
			t.Errorf("%q was taken, want %q", tc.text, tc.want)
			continue
		}
		if !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q:\n got %v\nwant %s", tc.text, err, tc.want)
		}
		for _, f := range faults(t, err) {
			if f.What == "" || f.Do == "" {
				t.Errorf("%q: a fault without what or do: %+v", tc.text, f)
			}
		}
	}
}

func TestAllFaultsAtOnceWithPlaces(t *testing.T) {
	_, err := Parse(props(twoQueues + "root.a.state = ON\nroot.b.priority = x\nmaximum-applications = -4"))
	got := faults(t, err)
	if len(got) != 3 {
		t.Fatalf("%d faults: %v", len(got), err)
	}
	lines := strings.Split(err.Error(), "\n")
	if lines[0] != "invalid queue configuration: 3 faults" ||
		!strings.HasPrefix(lines[1], `  f:5: yarn.scheduler.capacity.maximum-applications = "-4": `) {
		t.Errorf("text:\n%v", err)
	}
	if got[0].Origin != "f:5" || got[1].Origin != "f:3" || got[2].Origin != "f:4" {
		t.Errorf("origins %+v", got)
	}
}

// TestRootWeight checks that root may have a weight, as the converter for Fair Scheduler files and
// Cloudera write it. The weight is shown, and root still has the whole cluster.
func TestRootWeight(t *testing.T) {
	c := parse(t, twoQueues+"root.capacity = 2w")
	if root := &c.Queues[0]; root.Capacity.Unit != amount.Weight || root.MaxCapacity.Unit != amount.Percent ||
		len(c.Warnings) > 0 {
		t.Errorf("root has capacity %+v and maximum %+v, warnings %v, want a weight, percent and no warnings",
			root.Capacity, root.MaxCapacity, c.Warnings)
	}
	if got := c.Compute(yarn.NewResource(1000, 10)).Capacities[0].EffMin; got != yarn.NewResource(1000, 10) {
		t.Errorf("root is guaranteed %v", got)
	}
}

func TestWarningsAndIgnored(t *testing.T) {
	c := parse(t, twoQueues+`
maximum-aplications = 7
root.a.capacty = 40
root.a.user-settings.bob.wight = 2
root.c.capacity = 5
root.c.x.capacity = 5
nonsense = 1
root.capacity = 50
maximum-am-resource-percent = 2
yarn.resource-types.disk.units = G
root.a.accessible-node-labels = gpu
root.a.accessible-node-labels.gpu.capacity = 100
root.a.reservable = true
root.a.reservation-window = 5
root.b.disable_preemption = true
root.b.disable_preemption.x = true
root.b.ordering-policy = fifo-with-partitions
root.b.acl_application_max_priority = [user=bob max_priority=3]
schedule-asynchronously.enable = true
schedule-asynchronously.maximum-threads = 1
lazy-preemption-enabled = false
workflow-priority-mappings = a:b:1
yarn.resourcemanager.scheduler.monitor.enable = true
yarn.resourcemanager.monitor.capacity.preemption.observe_only = true
yarn.scheduler.skip.node.multiplier = 3
yarn.nodemanager.address = x
yarn.web-proxy.address = y`)
	list := func(fs []Fault) string {
		var b strings.Builder
		for _, f := range fs {
			b.WriteString(strings.TrimPrefix(f.Name, Prefix) + ": " + f.What + "; " + f.Do + "\n")
		}
		return b.String()
	}
	warnings, ignored := list(c.Warnings), list(c.Ignored)
	for _, want := range []string{
		`maximum-aplications: unknown key; did you mean "yarn.scheduler.capacity.maximum-applications"?`,
		`root.a.capacty: unknown key; did you mean "yarn.scheduler.capacity.root.a.capacity"?`,
		`root.a.user-settings.bob.wight: unknown key; did you mean "yarn.scheduler.capacity.root.a.user-settings.bob.weight"?`,
		`root.c.capacity: queue root.c does not exist; add "c" to yarn.scheduler.capacity.root.queues, or remove the key`,
		`root.c.x.capacity: queue root.c does not exist;`,
		`nonsense: unknown key; remove it; it has no effect`,
		`root.capacity: root always has the whole cluster; remove it`,
		`maximum-am-resource-percent: is more than the whole queue`,
		`yarn.resource-types.disk.units: unknown key`,
		`root.b.disable_preemption.x: `,
		`root.b.acl_application_max_priority: max_priority 3 is above the cluster's maximum of 0`,
		`workflow-priority-mappings: there is no queue "b"`,
		`workflow-priority-mappings: has no effect`,
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning %q", want)
		}
	}
	for _, want := range []string{
		"root.a.accessible-node-labels: not honored; yarn.node-labels.enabled is not true",
		"root.a.accessible-node-labels.gpu.capacity", "root.a.reservable: not honored; time-based",
		"root.a.reservation-window",
		"schedule-asynchronously.enable: not honored; passes are driven",
	} {
		if !strings.Contains(ignored, want) {
			t.Errorf("%q is not listed as not honored", want)
		}
	}
	if len(c.Warnings) != 13 || len(c.Ignored) != 5 {
		t.Errorf("%d warnings, %d ignored:\n%s\n%s", len(c.Warnings), len(c.Ignored), warnings, ignored)
	}
	for _, p := range c.Properties() {
		if p.Name == "yarn.web-proxy.address" || p.Name == "yarn.nodemanager.address" {
			t.Errorf("%s is not of the queue configuration", p.Name)
		}
	}
}

// TestStrayKeys checks that keys without the prefix lead to warnings, unless they belong to another
// part of Hadoop. The number of warnings is limited.
func TestStrayKeys(t *testing.T) {
	props := props("root.queues = online\nroot.online.capacity = 100")
	for _, name := range []string{"root.online.capacity", "yarn.schedular.capacity.root.online.capacity",
		"yarn.scheduler.capcity.root.online.maximum-capacity", "node-locality-delay", "zzz",
		"yarn.scheduler.maximum-allocation-mbs", "yarn.nodemanager.address", "fs.defaultFS"} {
		props = append(props, Property{Name: name, Value: "1", Origin: "file:1"})
	}
	c, err := Parse(props)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Fault{}
	for _, w := range c.Warnings {
		got[w.Name] = w
	}
	for name, do := range map[string]string{
		"root.online.capacity":                                `did you mean "yarn.scheduler.capacity.root.online.capacity"?`,
		"yarn.scheduler.capcity.root.online.maximum-capacity": `did you mean "yarn.scheduler.capacity.root.online.maximum-capacity"?`,
		"node-locality-delay":                                 `did you mean "yarn.scheduler.capacity.node-locality-delay"?`,
		"yarn.schedular.capacity.root.online.capacity":        `did you mean "yarn.scheduler.capacity.root.online.capacity"?`,
		"zzz":                                   "remove it; keys of queues begin with yarn.scheduler.capacity.",
		"yarn.scheduler.maximum-allocation-mbs": `did you mean "yarn.scheduler.maximum-allocation-mb"?`,
	} {
		if w := got[name]; w.Do != do || w.Origin != "file:1" || !strings.HasPrefix(w.What, "unknown key") {
			t.Errorf("warning for %s: %+v, want an unknown key of file:1, and %q", name, w, do)
		}
	}
	for _, name := range []string{"yarn.nodemanager.address", "fs.defaultFS"} {
		if w, ok := got[name]; ok {
			t.Errorf("warning for %s, which another part of Hadoop reads: %+v, want none", name, w)
		}
	}
	for i := range 1000 {
		props = append(props, Property{Name: "x" + strconv.Itoa(i)})
	}
	if c, err = Parse(props); err != nil || len(c.Warnings) != maxStray {
		t.Errorf("%d warnings, %v", len(c.Warnings), err)
	}
}

// TestZeroSums checks the cases in which the guarantees of children may sum to 0.
func TestZeroSums(t *testing.T) {
	const child = "\nroot.b.queues = x\nroot.b.x.capacity = 0"
	for _, text := range []string{
		"root.queues = a,b\nroot.a.capacity = 100\nroot.b.capacity = 0" + child,
		"root.queues = a,b\nroot.a.capacity = 1w\nroot.b.capacity = 1w" + child,
		"root.queues = a,b\nroot.a.capacity = 50\nroot.b.capacity = 50\nroot.b.allow-zero-capacity-sum = true" + child,
	} {
		c := parse(t, text)
		if e := c.Compute(mem(10)).Capacities[index(t, c, "x")]; !e.EffMin.IsZero() || e.EffMax[0] != 10*gib ||
			e.AbsFixed != 0 {
			t.Errorf("x: %+v", e)
		}
	}
	if _, err := Parse(props("root.queues = a,b\nroot.a.capacity = 50\nroot.b.capacity = 50" + child)); err == nil {
		t.Error("a sum of 0 without any reason was taken")
	}
}
