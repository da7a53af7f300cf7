package logsim

import (
	"fmt"
	"strings"

	"rmd/scheduler/input"
)

const prefix = "yarn.scheduler.capacity."

const dominantClass = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"

// leaves are the queues of applications. Some trees do not have the last one.
var leaves = []string{"root.a.x", "root.a.y", "root.b", "root.c"}

// trees are queue configurations with different units of capacity. Leaves have the same paths in
// all of them, so one configuration can replace another while applications run.
var trees = [][]string{
	{ // few limits, so that there are many reservations; the recovery phase uses this tree
		"root.queues=a,b,c", "root.a.capacity=40", "root.b.capacity=30", "root.c.capacity=30", "root.a.queues=x,y",
		"root.a.x.capacity=50", "root.a.y.capacity=50",
		"root.a.x.user-limit-factor=20", "root.a.y.user-limit-factor=20", "root.b.user-limit-factor=20",
		"root.c.user-limit-factor=20",
		"maximum-am-resource-percent=1", "per-node-heartbeat.maximum-offswitch-assignments=4",
	},
	{ // percent
		"root.queues=a,b,c", "root.a.capacity=50", "root.b.capacity=30", "root.c.capacity=20", "root.a.queues=x,y",
		"root.a.x.capacity=60", "root.a.y.capacity=40",
		"root.a.maximum-capacity=80", "root.b.maximum-capacity=60", "root.a.x.user-limit-factor=2",
		"root.b.user-limit-factor=3", "root.c.user-limit-factor=10",
		"root.a.x.minimum-user-limit-percent=50", "root.c.minimum-user-limit-percent=25", "root.c.user-settings.u1.weight=2",
	},
	{ // weights, fair order, queue priorities
		"root.queues=a,b,c", "root.a.capacity=2w", "root.b.capacity=1w", "root.c.capacity=1w", "root.a.queues=x,y",
		"root.a.x.capacity=1w", "root.a.y.capacity=3w",
		"root.ordering-policy=priority-utilization", "root.a.priority=2", "root.a.x.ordering-policy=fair",
		"root.b.ordering-policy=fair",
		"root.a.x.user-limit-factor=-1", "root.b.user-limit-factor=4", "root.c.user-limit-factor=10",
		"root.c.max-parallel-apps=2", "user.max-parallel-apps=3", "root.a.x.minimum-user-limit-percent=33.3",
		"reservation.maximum-per-queue=2",
	},
	{ // absolute
		"root.queues=a,b,c", "root.a.capacity=[memory=12288,vcores=12]", "root.b.capacity=[memory=8192,vcores=8]",
		"root.c.capacity=[memory=4096,vcores=4]",
		"root.a.queues=x,y", "root.a.x.capacity=[memory=8192,vcores=8]", "root.a.y.capacity=[memory=4096,vcores=4]",
		"root.a.x.maximum-capacity=[memory=10240,vcores=10]", "root.a.x.user-limit-factor=3", "root.b.user-limit-factor=3",
		"root.c.maximum-applications=2",
		"root.a.max-parallel-apps=3", "root.c.user-limit-factor=5", "reservations-continue-look-all-nodes=false",
	},
	{ // without c
		"root.queues=a,b", "root.a.capacity=60", "root.b.capacity=40", "root.a.queues=x,y", "root.a.x.capacity=50",
		"root.a.y.capacity=50",
		"root.a.x.user-limit-factor=20", "root.a.y.user-limit-factor=20", "root.b.user-limit-factor=20",
	},
}

// labels are the cluster's labels. No queue names the last one in accessible-node-labels, so it can
// be removed.
var labels = []string{"x", "y", "z"}

// labelled returns the properties of queues for labels. Queue c may use no label.
func (o Options) labelled(tree int) []string {
	lines := []string{"yarn.node-labels.enabled=true"}
	switch tree {
	case 1:
		lines = append(lines, "yarn.node-labels.configuration-type=distributed",
			prefix+"root.b.default-node-label-expression=z",
			prefix+"root.accessible-node-labels.x.node-order=spread")
	case 2:
		lines = append(lines, "yarn.resourcemanager.node-labels.am.default-node-label-expression=y",
			"yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation=true")
	case 3:
		lines = append(lines, "yarn.node-labels.exclusive-enforced-partitions=x",
			prefix+"root.a.accessible-node-labels.y.node-order=pack")
	}
	lines = append(lines, prefix+"root.a.accessible-node-labels=x,y", prefix+"root.b.accessible-node-labels=*")
	for _, c := range labelCapacities(tree) {
		queue, key, _ := strings.Cut(c.name, ":")
		value := fmt.Sprint(c.percent)
		switch { // a queue has one unit for all labels
		case tree == 3:
			value = fmt.Sprintf("[memory=%d,vcores=%d]", 1024*c.amount, c.amount)
		case tree == 2 && !strings.HasSuffix(key, "maximum-capacity"):
			value += "w"
		}
		lines = append(lines, prefix+"root."+queue+".accessible-node-labels."+key+"="+value)
	}
	if tree != 4 {
		lines = append(lines, prefix+"root.c.accessible-node-labels= ")
	}
	if o.has(LoadUsers) {
		lines = append(lines, prefix+"root.users.accessible-node-labels= ", prefix+"root.m.accessible-node-labels= ")
	}
	return lines
}

// labelCapacity is a queue's capacity of a label. The name is "queue:label.key". percent is of the
// queue's parent. amount is in vcores, with one GiB of memory for each.
type labelCapacity struct {
	name            string
	percent, amount int
}

func labelCapacities(tree int) []labelCapacity {
	all := []labelCapacity{
		{"a:x.capacity", 60, 12}, {"a:y.capacity", 50, 10}, {"b:x.capacity", 40, 8}, {"b:y.capacity", 50, 10},
		{"b:z.capacity", 100, 20},
		{"a.x:x.capacity", 50, 6}, {"a.y:x.capacity", 50, 6},
	}
	if tree == 0 { // everything that waits can run
		return append(all, labelCapacity{"a.x:y.capacity", 60, 6}, labelCapacity{"a.y:y.capacity", 40, 4})
	}
	return append(all, labelCapacity{"a.x:y.capacity", 100, 10}, labelCapacity{"b:x.maximum-capacity", 70, 14})
}

// preempting returns the properties of preemption with a selector. The waits are short, so that
// preemption happens before the applications end.
func preempting(tree int, selector string) []string {
	const monitor = "yarn.resourcemanager.monitor.capacity.preemption."
	lines := []string{"yarn.resourcemanager.scheduler.monitor.enable=true", monitor + "monitoring_interval=1000",
		monitor + "max_wait_before_kill=3000",
		prefix + "preemption.selector=" + selector}
	if tree != 3 { // tree 3 uses Hadoop's defaults
		lines = append(lines, monitor+"total_preemption_per_round=1", monitor+"natural_termination_factor=1",
			monitor+"max_ignored_over_capacity=0")
	}
	const inside, underutilized = monitor + "intra-queue-preemption.",
		prefix + "ordering-policy.priority-utilization.underutilized-preemption."
	switch tree {
	case 0:
		lines = append(lines, inside+"enabled=true", inside+"max-allowable-limit=1", inside+"minimum-threshold=0.2",
			inside+"preemption-order-policy=priority_first",
			prefix+"root.c.intra-queue-preemption.disable_preemption=true")
	case 1:
		lines = append(lines, monitor+"conservative-drf=true", prefix+"root.b.disable_preemption=true", inside+"enabled=true",
			inside+"max-allowable-limit=1",
			monitor+"preemption-to-balance-queue-after-satisfied.enabled=true",
			monitor+"preemption-to-balance-queue-after-satisfied.max-wait-before-kill=6000")
	case 2:
		lines = append(lines, prefix+"preemption.reservation-wait-ms=4000", prefix+"root.a.disable_preemption=true",
			prefix+"root.a.x.disable_preemption=false",
			underutilized+"enabled=true", underutilized+"reserved-container-delay-ms=2000",
			underutilized+"allow-move-reservation=true")
	case 3:
		lines = append(lines, monitor+"select_based_on_reserved_containers=true",
			monitor+"additional_res_balance_based_on_reserved_containers=true")
	}
	return lines
}

// users returns the properties of a queue below which submissions create queues for users. With
// absolute capacities (tree 3) no queue can be created, and the tree cannot replace one that has
// such queues.
func users(tree int) []string {
	const auto = prefix + "root.users.auto-queue-creation-v2."
	lines := []string{prefix + "auto-queue-creation-v2.queue-expiration-time=5", auto + "enabled=true",
		auto + "max-queues=3",
		auto + "leaf-template.maximum-applications=4", auto + fmt.Sprintf("template.capacity=%dw", 1+tree)}
	switch tree {
	case 2:
		lines = append(lines, prefix+"root.users.capacity=1w", auto+"leaf-template.user-limit-factor=2")
	case 3:
		lines = append(lines, prefix+"root.users.capacity=[memory=1024,vcores=1]")
	default:
		lines = append(lines, prefix+"root.users.capacity=0")
	}
	return lines
}

// managed returns the properties of a parent whose leaves are created by placement rules. The
// parent's capacity is enough for one, two or three leaves at a time.
func managed(tree int) []string {
	const m = prefix + "root.m."
	lines := []string{m + "auto-create-child-queue.enabled=true",
		"yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval=1000",
		m + "leaf-queue-template.user-limit-factor=10", m + "leaf-queue-template.maximum-capacity=100"}
	switch tree {
	case 2:
		return append(lines, m+"capacity=1w", m+"leaf-queue-template.capacity=60")
	case 3:
		return append(lines, m+"capacity=[memory=1024,vcores=1]", m+"leaf-queue-template.capacity=[memory=512,vcores=0]")
	}
	return append(lines, m+"capacity=0", fmt.Sprintf("%sleaf-queue-template.capacity=%d", m, 100/(1+tree)))
}

// mappings returns the placement rules for applications without a queue.
func (o Options) mappings() string {
	if o.has(LoadUsers) {
		return "u:%user:root.m.%user"
	}
	return "u:%user:root.b"
}

// properties returns a tree with the properties that all trees have. If selector is empty,
// preemption is off.
func (o Options) properties(tree int, lazy bool, selector string) []input.Property {
	lines := []string{
		"yarn.scheduler.maximum-allocation-mb=16384", "yarn.scheduler.maximum-allocation-vcores=16",
		"yarn.cluster.max-application-priority=5",
		"yarn.resourcemanager.max-completed-applications=12", prefix + "node-locality-delay=2",
		prefix + "maximum-applications=200", prefix + "queue-mappings=" + o.mappings(),
		prefix + fmt.Sprintf("reservation.eager-cancel=%v", !lazy),
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs=20",
		"yarn.nm.liveness-monitor.expiry-interval-ms=10000",
		"yarn.resourcemanager.delegation.key.update-interval=15000",
		"yarn.resourcemanager.delegation.token.renew-interval=30000",
		"yarn.resourcemanager.delegation.token.max-lifetime=90000",
	}
	if o.Dominant {
		lines = append(lines, prefix+"resource-calculator="+dominantClass)
	}
	if o.Kinds == 3 {
		lines = append(lines, "yarn.resource-types=yarn.io/gpu", "yarn.resource-types.yarn.io/gpu.maximum-allocation=4")
	}
	if tree != 0 {
		lines = append(lines, prefix+"maximum-am-resource-percent=0.5")
	}
	for _, l := range trees[tree] {
		if o.has(LoadUsers) && strings.HasPrefix(l, "root.queues=") {
			l += ",users,m"
		}
		lines = append(lines, prefix+l)
	}
	if o.has(LoadUsers) {
		lines = append(append(lines, users(tree)...), managed(tree)...)
	}
	switch tree {
	case 1:
		lines = append(lines, prefix+"root.backfill=preemptable", prefix+"root.b.backfill=declared",
			prefix+"reservation.node=first",
			prefix+"node-order=pack", prefix+"root.b.node-order=lifetime")
	case 2:
		lines = append(lines, prefix+"root.backfill=declared", prefix+"reservation.node=earliest",
			prefix+"node-order=lifetime", prefix+"root.a.y.node-order=spread")
	case 3:
		lines = append(lines, prefix+"root.node-order=spread", prefix+"root.a.node-order=auto")
	}
	if o.has(LoadLabels) {
		lines = append(lines, o.labelled(tree)...)
	}
	if selector != "" {
		lines = append(lines, preempting(tree, selector)...)
		if o.Seed%4 == 1 { // queues soon get their guarantees back, whatever work is lost
			lines = append(lines, prefix+"preemption.guarantee-wait-ms="+[...]string{"12000", "9000", "20000", "45000"}[tree%4],
				prefix+"preemption.max-lost-work-ms=1000")
		}
		if o.Seed%5 > 0 { // they are kept for so long; else not at all, as by default
			lines = append(lines, prefix+"preemption.keep-guarantee-ms="+[...]string{"5000", "20000", "0", "60000"}[o.Seed%5-1])
		}
	}
	out := make([]input.Property, 0, len(lines))
	for _, l := range lines {
		k, v, _ := strings.Cut(l, "=")
		out = append(out, input.Property{Name: k, Value: v})
	}
	return out
}
