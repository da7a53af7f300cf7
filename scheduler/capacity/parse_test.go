package capacity

import (
	"errors"
	"strings"
	"testing"

	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/order"
	"rmd/scheduler/placement"
	"rmd/yarn"
)

// stock is the capacity-scheduler.xml that Hadoop ships.
const stock = `maximum-applications = 10000
maximum-am-resource-percent = 0.1
resource-calculator = org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator
root.queues = default
root.default.capacity = 100
root.default.user-limit-factor = 1
root.default.maximum-capacity = 100
root.default.state = RUNNING
root.default.acl_submit_applications = *
root.default.acl_administer_queue = *
root.default.acl_application_max_priority = *
root.default.maximum-application-lifetime =
     -1

root.default.default-application-lifetime = -1
node-locality-delay = 40
rack-locality-additional-delay = -1
queue-mappings =
queue-mappings-override.enable = false
per-node-heartbeat.maximum-offswitch-assignments = 1
application.fail-fast = false
workflow-priority-mappings =
workflow-priority-mappings-override.enable = false`

func TestStockFile(t *testing.T) {
	c := parse(t, stock)
	if len(c.Warnings) != 0 || len(c.Ignored) != 0 {
		t.Errorf("warnings %v, ignored %v", c.Warnings, c.Ignored)
	}
	if c.MinAlloc != yarn.NewResource(1024, 1) || c.MaxAlloc != yarn.NewResource(8192, 4) || c.Calculator != memoryOnly {
		t.Errorf("allocation %v … %v, %+v", c.MinAlloc, c.MaxAlloc, c.Calculator)
	}
	if c.MaximumApplications != 10000 || c.MaxAMPercent != yarn.NewFraction(1, 10) || !c.ContinueLooking ||
		!c.EagerCancel ||
		c.MaxAssignments != 100 || c.MaxOffSwitch != 1 || !c.MultipleAssignments || !c.RackLocalityFullReset ||
		c.NodeLocalityDelay != 40 || c.RackLocalityAdditionalDelay != -1 || c.MaxReservationsPerKey != Unlimited ||
		c.AMMaxAttempts != 2 || c.MaxCompletedApps != 1000 || c.NodeExpiryMillis != 600_000 || c.SkipNodeMultiplier != 2 ||
		!c.LegacyQueueMode ||
		c.UserMaxParallelApps != Unlimited || c.ACLEnabled || !c.AdminACL.All {
		t.Errorf("defaults: %+v", c)
	}
	q := &c.Queues[1]
	if q.Path != "root.default" || !q.Leaf || q.State != yarn.QueueRunning || q.LeafOrder != order.FIFO ||
		q.MaximumApplications != -1 ||
		q.UserLimitFactor != yarn.One || q.UserLimitOff || q.MinUserLimitPercent != yarn.NewFraction(100, 1) ||
		q.MaxParallelApps != Unlimited || q.MaxLifetime != -1 || q.MaxAlloc != c.MaxAlloc || !q.SubmitACL.All {
		t.Errorf("queue: %+v", q)
	}
}

// everything sets every key that has an effect at least once.
const everything = `yarn.resource-types = vcores, yarn.io/gpu ,fpga
yarn.resource-types.fpga.units = k
yarn.resource-types.yarn.io/gpu.minimum-allocation = 0
yarn.resource-types.yarn.io/gpu.maximum-allocation = 8
yarn.resource-types.memory-mb.minimum-allocation = 512
yarn.scheduler.minimum-allocation-mb = 2048
yarn.scheduler.maximum-allocation-mb = 64Gi
yarn.scheduler.maximum-allocation-vcores = 32
yarn.cluster.max-application-priority = 9
yarn.acl.enable = TRUE
yarn.admin.acl = root wheel
yarn.nm.liveness-monitor.expiry-interval-ms = 10m
yarn.am.liveness-monitor.expiry-interval-ms = 30000
yarn.resourcemanager.am.max-attempts = 3
yarn.resourcemanager.max-completed-applications = 0
resource-calculator = DominantResourceCalculator
reservations-continue-look-all-nodes = false
reservation.eager-cancel = false
reservation.maximum-per-key = 1
reservation.maximum-per-queue = 2
reservation.maximum-per-cluster = 3
node-locality-delay = -1
user.max-parallel-apps = 5
user.first.last.max-parallel-apps = 6
user.bob.max-parallel-apps = -1
max-parallel-apps = 50
queue-mappings = u:bob:a, g:dev:root.p.b,u:%user:root.p.%user
queue-mappings-override.enable = true
root.queues = a , p
root.user-settings.bob.weight = 0.5
root.user-settings.first.last.weight = 0.25
root.maximum-application-lifetime = 100
root.a.capacity = 40
root.a.maximum-capacity = -1
root.a.ordering-policy = fair
root.a.ordering-policy.fair.enable-size-based-weight = true
root.a.user-limit-factor = -1
root.a.user-settings.bob.weight = 0.75
root.a.maximum-allocation = memory-mb=8192, vcores=3,yarn.io/gpu=1
root.a.max-parallel-apps = 4
root.a.default-application-lifetime = 60
root.a.acl_submit_applications =  dev,ops
root.p.capacity = 60
root.p.state = STOPPED
root.p.ordering-policy = priority-utilization
root.p.maximum-allocation-mb = 4Gi
root.p.maximum-allocation-vcores = 5
root.p.queues = b
root.p.b.capacity = 100
root.p.b.priority = -3
root.p.b.acl_administer_queue =  `

func TestEveryValueIsRead(t *testing.T) {
	c := parse(t, everything)
	if strings.Join(c.Kinds, " ") != "memory-mb vcores yarn.io/gpu fpga" || strings.Join(c.Units, "|") != "Mi|||k" {
		t.Errorf("kinds %v %v", c.Kinds, c.Units)
	}
	if c.MinAlloc != (yarn.Resource{512, 1, 0, 0}) || c.MaxAlloc != (yarn.Resource{65536, 32, 8, amount.MaxUnits}) {
		t.Errorf("allocation %v … %v", c.MinAlloc, c.MaxAlloc)
	}
	if c.ContinueLooking || c.EagerCancel || c.MaxReservationsPerKey != 1 || c.MaxReservationsPerQueue != 2 ||
		c.MaxReservationsPerCluster != 3 ||
		c.NodeLocalityDelay != -1 || c.MaxPriority != 9 || c.NodeExpiryMillis != 600_000 || c.AMExpiryMillis != 30_000 ||
		c.AMMaxAttempts != 3 ||
		c.MaxCompletedApps != 0 || !c.ACLEnabled || c.AdminACL.String() != "root wheel" {
		t.Errorf("globals %+v", c)
	}
	for user, want := range map[string]int64{"bob": -1, "first.last": 6, "eve": 5} {
		if got := c.MaxParallelAppsOf(user); got != want {
			t.Errorf("%s may run %d, want %d", user, got, want)
		}
	}
	a, p, b := &c.Queues[index(t, c, "a")], &c.Queues[index(t, c, "p")], &c.Queues[index(t, c, "root.p.b")]
	if a.MaxCapacity.Unit != amount.None || a.LeafOrder != order.Fair || !a.SizeBasedWeight || !a.UserLimitOff ||
		a.MaxAlloc != (yarn.Resource{8192, 3, 1, 0}) ||
		a.MaxParallelApps != 4 || a.MaxLifetime != 100 || a.DefaultLifetime != 60 || a.SubmitACL.All ||
		a.SubmitACL.String() != " dev,ops" {
		t.Errorf("a: %+v", a)
	}
	if p.Leaf || p.State != yarn.QueueStopped || p.ChildOrder != order.PriorityUtilization || p.MaxParallelApps != 50 ||
		p.MaxAlloc != (yarn.Resource{4096, 5, 8, amount.MaxUnits}) {
		t.Errorf("p: %+v", p)
	}
	if b.State != yarn.QueueStopped || b.Priority != -3 || b.MaxAlloc[0] != 4096 || b.DefaultLifetime != 100 ||
		b.Depth != 2 || c.Queues[b.Parent].Path != "root.p" {
		t.Errorf("b: %+v", b)
	}
	for _, w := range []struct {
		q    *Queue
		user string
		want yarn.Fraction
	}{{a, "bob", yarn.NewFraction(3, 4)}, {b, "bob", yarn.NewFraction(1, 2)}, {b, "first.last", yarn.NewFraction(1, 4)},
		{b, "eve", yarn.One}} {
		if got := w.q.Weight(w.user); got != w.want {
			t.Errorf("%s weighs %v in %s", w.user, got, w.q.Path)
		}
	}
	if len(c.Warnings) != 0 || len(c.Ignored) != 0 {
		t.Errorf("warnings %v, ignored %v", c.Warnings, c.Ignored)
	}
}

func TestPlacement(t *testing.T) {
	const queues = `
root.queues = a,p,default
root.a.capacity = 50
root.p.capacity = 50
root.default.capacity = 0
root.p.queues = b,ops
root.p.b.capacity = 50
root.p.ops.capacity = 50
`
	for _, tc := range []struct{ text, want string }{
		{"queue-mappings = u:ann:a", "root.a"},
		{"queue-mappings = g:x:p.b", "root.p.b"},
		{"queue-mappings = u:%user:root.p.%secondary_group", "root.p.ops"},
		{"queue-mappings = u:%user:root.p.%user,u:ann:a", "root.default"},
		{"yarn.scheduler.queue-placement-rules.app-name = etl:root.p.b", "root.p.b"},
		{"queue-mappings = u:ann:a\nyarn.scheduler.queue-placement-rules = app-name,user-group", "root.a"},
		{"queue-mappings = u:ann:a\nyarn.scheduler.queue-placement-rules = org.example.Rule", ""},
		{`mapping-rule-format = json
mapping-rule-json = {"rules":[{"type":"user","matches":"*","policy":"custom","customPlacement":"root.p.%secondary_group"}]}`, "root.p.ops"},
		{"mapping-rule-format = json\nqueue-mappings = u:ann:a", ""},
		{"mapping-rule-json = {}\nqueue-mappings = u:ann:a", "root.a"},
	} {
		c := parse(t, tc.text+queues)
		got := c.Place(placement.Submission{User: "ann", Groups: []string{"x", "ops"}, Application: "etl"})
		if got.Queue != tc.want {
			t.Errorf("%s: %+v, want %q", tc.text, got, tc.want)
		}
	}
}

// TestTagPlacement checks placement for the user that a tag names. The submitting user must be in
// the whitelist, and must be allowed to submit to that user's queue.
func TestTagPlacement(t *testing.T) {
	const text = `
root.queues = ann,bob,default,teams
root.acl_submit_applications =
root.ann.capacity = 25
root.bob.capacity = 25
root.default.capacity = 25
root.teams.capacity = 25
root.teams.queues = etl
root.teams.etl.capacity = 100
root.ann.acl_submit_applications = hive
root.teams.acl_submit_applications = hive
queue-mappings = g:etl:root.teams.%primary_group,u:%user:root.%user
`
	c := parse(t,
		"yarn.resourcemanager.application-tag-based-placement.enable = true\nyarn.resourcemanager.application-tag-based-placement.username.whitelist = hive, root"+
			text)
	for _, tc := range []struct{ user, tag, groups, want, as string }{
		{"hive", "userid=ann", "", "root.ann", "ann"},
		{"hive", "userid=ann=", "", "root.ann", "ann"},
		{"hive", "userid=bob", "", "root.default", ""}, // hive may not submit to root.bob
		{"hive", "userid=eve", "", "root.default", ""}, // nor to root.default, to which the rules place eve
		{"hive", "userid=eve", "etl", "root.teams.etl", "eve"},
		{"hive", "userid=", "", "root.default", ""},
		{"hive", "userid=a=b", "", "root.default", ""},
		{"hive", "user=ann", "", "root.default", ""},
		{"root", "userid=ann", "", "root.default", ""},
		{"bob", "userid=ann", "", "root.bob", ""},
	} {
		got := c.Place(placement.Submission{User: tc.user, Tags: []string{"x", tc.tag}, TagGroups: strings.Fields(tc.groups)})
		if got.Queue != tc.want || got.TagUser != tc.as {
			t.Errorf("%s with %s: %+v, want %s for %q", tc.user, tc.tag, got, tc.want, tc.as)
		}
	}
	off := parse(t, "yarn.resourcemanager.application-tag-based-placement.username.whitelist = hive"+text)
	if got := off.Place(placement.Submission{User: "hive", Tags: []string{"userid=ann"}}); got.Queue != "root.default" {
		t.Errorf("off: %+v", got)
	}
}

// TestStoredPlacement checks that a stored configuration with rules that Parse refuses can still be
// loaded, because an earlier version may have accepted it.
func TestStoredPlacement(t *testing.T) {
	text := "root.queues = a,default\nroot.a.capacity = 50\nroot.default.capacity = 50\nqueue-mappings = u:%user:root.a%user"
	if _, err := Parse(props(text)); err == nil {
		t.Error("a rule whose queue can never exist was taken")
	}
	c, err := ParseStored(props(text))
	if err != nil || len(c.Warnings) != 1 {
		t.Fatalf("ParseStored: error %v, want none and one warning: %+v", err, c)
	}
	if got := c.Place(placement.Submission{User: "ann"}); got.Queue != "root.default" {
		t.Errorf("Place for ann = %+v, want queue root.default", got)
	}
}

func TestLookup(t *testing.T) {
	c := parse(t,
		"root.queues = a,b\nroot.a.capacity=50\nroot.b.capacity=50\nroot.a.queues=x,y\nroot.a.x.capacity=1w\nroot.a.y.capacity=1w\nroot.b.queues=x\nroot.b.x.capacity=100")
	for name, want := range map[string]string{"root": "root", "y": "root.a.y", "root.b.x": "root.b.x", "b": "root.b"} {
		if i := index(t, c, name); c.Queues[i].Path != want {
			t.Errorf("%s is %s, want %s", name, c.Queues[i].Path, want)
		}
	}
	if _, err := c.Lookup("x"); !errors.Is(err, ErrAmbiguousQueue) ||
		!strings.Contains(err.Error(), "root.a.x and root.b.x") {
		t.Errorf("Lookup(x): %v, want %v with root.a.x and root.b.x", err, ErrAmbiguousQueue)
	}
	for _, name := range []string{"z", "a.x", "", "root.a."} {
		if _, err := c.Lookup(name); !errors.Is(err, ErrNoSuchQueue) {
			t.Errorf("Lookup(%q): %v, want %v", name, err, ErrNoSuchQueue)
		}
	}
	var paths []string
	for i := range c.Queues {
		paths = append(paths, c.Queues[i].Path)
		if c.Queues[i].Parent >= i {
			t.Errorf("%s comes before its parent", c.Queues[i].Path)
		}
	}
	if got := strings.Join(paths, " "); got != "root root.a root.a.x root.a.y root.b root.b.x" {
		t.Errorf("order %s", got)
	}
	if got := c.Leaves(); len(got) != 3 || got[2] != 5 {
		t.Errorf("leaves %v", got)
	}
}

func TestACLsOfAQueue(t *testing.T) {
	text := `yarn.admin.acl = root
root.queues = a
root.acl_submit_applications =  
root.acl_administer_queue = boss
root.a.capacity = 100
root.a.acl_submit_applications = bob dev`
	c := parse(t, "yarn.acl.enable = true\n"+text)
	for _, tc := range []struct {
		user, group   string
		submit, admin bool
	}{{"bob", "", true, false}, {"x", "dev", true, false}, {"boss", "", true, true}, {"root", "", true, true},
		{"eve", "", false, false}} {
		if s, a := c.MaySubmit(1, tc.user, tc.group), c.MayAdminister(1, tc.user, tc.group); s != tc.submit || a != tc.admin {
			t.Errorf("%s: submit %v, administer %v", tc.user, s, a)
		}
	}
	if c := parse(t, text); !c.MaySubmit(1, "eve") {
		t.Error("without yarn.acl.enable everybody may submit")
	}
}

// TestQueueInheritedSettings checks the values of queues that do not set them: user limits come
// from YARN's global keys, lifetimes from the parent.
func TestQueueInheritedSettings(t *testing.T) {
	c := parse(t, `
minimum-user-limit-percent = 25
user-limit-factor = 3
root.queues = a,p
root.maximum-application-lifetime = 100
root.a.capacity = 40
root.a.maximum-application-lifetime = -1
root.p.capacity = 60
root.p.default-application-lifetime = 50
root.p.queues = b,c
root.p.b.capacity = 50
root.p.b.maximum-application-lifetime = 10
root.p.b.minimum-user-limit-percent = 50
root.p.c.capacity = 50
root.p.c.user-limit-factor = -1
`)
	type values struct {
		percent       int64
		off           bool
		factor        int64
		longest, used int64
	}
	for path, want := range map[string]values{
		"root.a":   {25, false, 3, 100, 100},
		"root.p.b": {50, false, 3, 10, 10},
		"root.p.c": {25, true, 1, 100, 50},
	} {
		q := &c.Queues[index(t, c, path)]
		got := values{q.MinUserLimitPercent.Num, q.UserLimitOff, q.UserLimitFactor.Num, q.MaxLifetime, q.DefaultLifetime}
		if got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

// TestInvalidPlacementRules checks YARN's message for each rule. YARN reports only the first
// invalid rule. There is no message if the queues are invalid, too.
func TestInvalidPlacementRules(t *testing.T) {
	const exception = "org.apache.hadoop.yarn.exceptions.YarnException: "
	for _, tc := range []struct{ name, value, want string }{
		{"queue-mappings", "u:ann", "Illegal queue mapping u:ann"},
		{"queue-mappings", "u:ann:a,x:bob:a", "unknown mapping prefix x"},
		{"queue-mappings", "u:ann:gone.%user,u:b:p.x", exception + "Path root 'gone' does not exist. Path 'gone' is invalid"},
		{"queue-mappings", "u:ann:root.gone.%user", exception + "No eligible parent found on path 'root.gone.%user'."},
		{"queue-mappings", "u:ann:same", exception + "Path root 'same' is ambiguous. Path 'same' is invalid"},
		{"queue-mappings", "u:ann:root.p", exception + "Target queue 'root.p' but it's not a leaf queue."},
		{"queue-mappings", "u:ann:root.a.%user",
			exception +
				"Queue path 'root.a.%user' is invalid because 'root.a' is a leaf queue, which can have no other queues under it."},
		{"queue-mappings", "u:ann:root..a", exception + "Path segment cannot be empty 'root..a'."},
		{"root.a.capacity", "10", ""},
	} {
		props := []Property{{Name: Prefix + "root.queues", Value: "a,p,q"}, {Name: Prefix + "root.a.capacity", Value: "50"},
			{Name: Prefix + "root.p.capacity", Value: "25"}, {Name: Prefix + "root.q.capacity", Value: "25"},
			{Name: Prefix + "root.p.queues", Value: "same"}, {Name: Prefix + "root.q.queues", Value: "same"},
			{Name: Prefix + "root.p.same.capacity", Value: "100"}, {Name: Prefix + "root.q.same.capacity", Value: "100"},
			{Name: Prefix + tc.name, Value: tc.value}}
		_, err := Parse(props)
		var bad *Invalid
		if !errors.As(err, &bad) || bad.YARN() != tc.want {
			t.Errorf("%s = %s: %v, and YARN says %q", tc.name, tc.value, err, bad.YARN())
		}
	}
}
