package capacity

import (
	"slices"
	"strings"

	"rmd/scheduler/capacity/property"
	"rmd/scheduler/capacity/unhonored"
)

// The parts of a configuration as it is written.
type (
	// Property is a configuration key with its value as written.
	Property = property.Property
	// Fault is one problem of a configuration.
	Fault = property.Fault
	// Invalid is the error for a configuration that is not valid.
	Invalid = property.Invalid
)

// Prefix is the prefix of the Capacity Scheduler's keys.
const Prefix = property.Prefix

// resourceTypes is the key with the additional kinds of resources. With the name of a kind and a
// suffix it is the key of the kind's unit or limits.
const resourceTypes = "yarn.resource-types"

// MutationPolicyKey has the YARN class that decides who may change the queue configuration.
const MutationPolicyKey = "yarn.scheduler.configuration.mutation.acl-policy.class"

// Key is a key of the queue configuration. Its row is all that lists, suggestions, forms and
// documents know of it. A test compares the rows with what the functions of a reader read.
type Key struct {
	Place   Place
	Name    string // without what Place puts before it
	Default string // as it would be written; "" if there is none, or a phrase such as "the parent's"
	Text    string // what it means, for documents
	Own     bool   // rmd's own; YARN has no such key

	// The form of a queue has the key, with a hint, if the queue is one of these.
	Leaf, Parent bool
	Hint         string
}

// Place is where a key is valid.
type Place uint8

// The places, with what precedes the name of a key there.
const (
	OfQueue      Place = iota // Prefix and the path of a queue
	OfCluster                 // Prefix
	OfPreemption              // preemptionPrefix
	OfSite                    // nothing
)

// Keys returns the keys of one place, sorted by name.
func Keys(p Place) []Key {
	var out []Key
	for _, k := range keys {
		if k.Place == p {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// FormKeys returns the keys in the form of a queue, in its order.
func FormKeys(leaf bool) []Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return leaf && !k.Leaf || !leaf && !k.Parent })
}

// Relevant reports whether a key belongs to the queue configuration: the planner reads it, or it is
// in one of the lists of unhonored keys. Other keys of the Hadoop files belong to other parts of
// rmd or to other daemons.
func Relevant(name string) bool {
	for _, prefix := range []string{Prefix, resourceTypes + ".", preemptionPrefix} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if _, ok := slices.BinarySearch(siteKeys, name); ok {
		return true
	}
	_, ok := unhonored.Find(unhonored.Site, name)
	return ok
}

func namesOf(p Place) []string {
	var out []string
	for _, k := range Keys(p) {
		out = append(out, k.Name)
	}
	return out
}

// The names of the keys of each place, sorted. Misspelled keys are compared to them.
var (
	queueKeys, globalKeys    = namesOf(OfQueue), namesOf(OfCluster)
	preemptionKeys, siteKeys = namesOf(OfPreemption), namesOf(OfSite)
)

var keys = []Key{
	{Name: "capacity", Leaf: true, Parent: true, Hint: "guaranteed: 30, 3w or [memory=…,vcores=…]",
		Text: "what is guaranteed: a percentage of the parent, a weight such as `3w`, or a vector"},
	{Name: "maximum-capacity", Leaf: true, Parent: true, Hint: "what it may grow to",
		Text: "what the queue may use at most; without it, all that its parent may use"},
	{Name: "user-limit-factor", Default: "the cluster's", Leaf: true, Hint: "one user's most, in guarantees",
		Text: "what one user may use at most, in guarantees of the queue; -1: no limit"},
	{Name: "minimum-user-limit-percent", Default: "the cluster's", Leaf: true,
		Hint: "share of each user when there are many",
		Text: "the share that each user has at least when many users want the queue"},
	{Name: "maximum-applications", Default: "-1", Leaf: true, Hint: "running and waiting",
		Text: "applications that run and wait; -1: in proportion to the cluster's"},
	{Name: "maximum-am-resource-percent", Default: "the cluster's", Leaf: true,
		Hint: "share for ApplicationMasters, 0 to 1", Text: "the share of the queue for ApplicationMasters"},
	{Name: "maximum-allocation-mb", Default: "the parent's", Leaf: true, Hint: "largest container",
		Text: "the largest container, in MiB"},
	{Name: "ordering-policy", Default: "fifo; of a parent its own parent's", Leaf: true, Hint: "fifo or fair",
		Text: "of a leaf `fifo` or `fair`, of a parent `utilization` or `priority-utilization`"},
	{Name: nodeOrderKey, Default: "the parent's", Own: true, Leaf: true, Parent: true,
		Hint: "auto, spread, pack or lifetime", Text: "which node gets a container: `auto`, `spread`, `pack` or `lifetime`"},
	{Name: "priority", Default: "0", Leaf: true, Parent: true, Hint: "before its siblings",
		Text: "with `priority-utilization`, queues of a higher priority come first"},
	{Name: "queues", Parent: true, Hint: "its children, separated by commas",
		Text: "the queues below it, separated by commas"},
	{Name: "acl_administer_queue", Text: "users and groups who may manage its applications; without it only the parent's"},
	{Name: "acl_application_max_priority", Text: "priorities that users and groups may give"},
	{Name: "acl_submit_applications", Text: "users and groups who may submit; without it only the parent's"},
	{Name: "allow-zero-capacity-sum", Default: "false", Text: "the guarantees of its children may sum to 0"},
	{Name: managed + "enabled", Default: "false", Text: "placement rules create leaves right below the queue"},
	{Name: managed + "fail-on-exceeding-parent-capacity", Default: "false",
		Text: "refuse such a leaf if the queue has no room for its capacity"},
	{Name: managed + "management-policy", Text: "`GuaranteedOrZeroCapacityOverTimePolicy` is the only policy"},
	{Name: managed + "max-queues", Default: "1000", Text: "how many such leaves it may have"},
	{Name: flexible + "enabled", Default: "false", Text: "submissions create queues below the queue"},
	{Name: flexible + "max-queues", Default: "1000", Text: "how many children the queue may have"},
	{Name: depthKey, Default: "the cluster's", Text: "how far a leaf may be below the first queue that is not dynamic"},
	{Name: autoRemoveKey, Default: "true", Text: "of a dynamic queue: it is removed when it is idle"},
	{Name: "backfill", Default: "the parent's, else off", Own: true,
		Text: "which containers may borrow idle room of reserved nodes: `off`, `declared` or `preemptable`"},
	{Name: "default-application-lifetime", Default: "the parent's",
		Text: "lifetime of applications that name none, in seconds"},
	{Name: "default-application-priority", Default: "0", Text: "priority of applications that name none"},
	{Name: "disable_preemption", Default: "the parent's", Text: "nothing of the queue is preempted"},
	{Name: "intra-queue-preemption.disable_preemption", Default: "the parent's",
		Text: "its applications do not preempt each other"},
	{Name: "max-parallel-apps", Default: "the cluster's",
		Text: "applications that may run at the same time; -1: no limit"},
	{Name: "maximum-allocation", Default: "the parent's", Text: "the largest container, as `memory-mb=8192,vcores=4`"},
	{Name: "maximum-allocation-vcores", Default: "the parent's", Text: "the most vcores of a container"},
	{Name: "maximum-application-lifetime", Default: "the parent's",
		Text: "longest lifetime of an application, in seconds; -1: no limit"},
	{Name: multiNodePolicy, Text: "YARN's name of a policy that sorts nodes; `node-order` wins"},
	{Name: "ordering-policy.fair.enable-size-based-weight", Default: "false",
		Text: "with `fair`, larger applications weigh more"},
	{Name: "state", Default: "the parent's", Text: "`RUNNING` or `STOPPED`"},

	{Place: OfCluster, Name: depthKey, Default: "2", Text: "the default of queues"},
	{Place: OfCluster, Name: flexible + "queue-expiration-time", Default: "300",
		Text: "seconds until an idle dynamic queue is removed"},
	{Place: OfCluster, Name: "global-queue-max-application", Default: "0",
		Text: "`maximum-applications` of queues without their own; 0: in proportion"},
	{Place: OfCluster, Name: "legacy-queue-mode.enabled", Default: "true",
		Text: "false: percentages, weights and vectors may be mixed"},
	{Place: OfCluster, Name: "mapping-rule-format", Default: "legacy", Text: "`json`: the placement rules are JSON"},
	{Place: OfCluster, Name: "mapping-rule-json", Text: "the placement rules"},
	{Place: OfCluster, Name: "mapping-rule-json-file", Text: "a file with the placement rules"},
	{Place: OfCluster, Name: "max-parallel-apps", Default: "-1", Text: "the default of queues"},
	{Place: OfCluster, Name: "maximum-am-resource-percent", Default: "0.1", Text: "the default of queues"},
	{Place: OfCluster, Name: "maximum-applications", Default: "10000",
		Text: "applications of the cluster that run and wait"},
	{Place: OfCluster, Name: "minimum-user-limit-percent", Default: "100", Text: "the default of queues"},
	{Place: OfCluster, Name: "multi-node-placement-enabled", Default: "false",
		Text: "YARN's policies that sort nodes count"},
	{Place: OfCluster, Name: multiNodePolicy, Text: "YARN's name of the policy of queues without their own"},
	{Place: OfCluster, Name: multiNodePolicy + ".names", Text: "the names of YARN's policies"},
	{Place: OfCluster, Name: "node-locality-delay", Default: "40",
		Text: "offers that an ask misses before it accepts a node in the rack"},
	{Place: OfCluster, Name: nodeOrderKey, Default: "auto", Own: true, Text: "the default of queues"},
	{Place: OfCluster, Name: "ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation",
		Default: "false", Text: "move a reservation of a queue with a higher priority to a node where it can be fulfilled"},
	{Place: OfCluster, Name: "ordering-policy.priority-utilization.underutilized-preemption.enabled", Default: "false",
		Text: "free nodes for the reservations of queues with a higher priority"},
	{Place: OfCluster, Name: "ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms",
		Default: "60000", Text: "age of such a reservation"},
	{Place: OfCluster, Name: "per-node-heartbeat.maximum-container-assignments", Default: "100",
		Text: "containers that one pass gives to a node; -1: no limit"},
	{Place: OfCluster, Name: "per-node-heartbeat.maximum-offswitch-assignments", Default: "1",
		Text: "of these, containers for asks that name other racks"},
	{Place: OfCluster, Name: "per-node-heartbeat.multiple-assignments-enabled", Default: "true",
		Text: "a pass gives a node more than one container"},
	{Place: OfCluster, Name: "preemption.guarantee-wait-ms", Default: "120000", Own: true,
		Text: "time within which a queue that waits for its guarantee has it back"},
	{Place: OfCluster, Name: "preemption.keep-guarantee-ms", Default: "600000", Own: true,
		Text: "how long others may not borrow what a queue has used since containers ended for it; 0: not at all"},
	{Place: OfCluster, Name: "preemption.max-lost-work-ms", Default: "60000", Own: true,
		Text: "the most work that may be lost for a container at first"},
	{Place: OfCluster, Name: "preemption.reservation-wait-ms", Default: "0", Own: true,
		Text: "age at which a reservation may ask for preemption; -1: never"},
	{Place: OfCluster, Name: "preemption.selector", Default: "planned", Own: true,
		Text: "how preemption chooses containers: `planned` or `yarn`"},
	{Place: OfCluster, Name: "queue-mappings", Text: "placement rules by user and group"},
	{Place: OfCluster, Name: "queue-mappings-override.enable", Default: "false",
		Text: "rules also place applications whose client named a queue"},
	{Place: OfCluster, Name: "rack-locality-additional-delay", Default: "-1",
		Text: "further missed offers before an ask accepts any node; -1: as many as it needs containers, in part"},
	{Place: OfCluster, Name: "rack-locality-full-reset", Default: "true",
		Text: "a container in the rack resets the count of missed offers"},
	{Place: OfCluster, Name: "replaced-node.keep-ms", Default: "3600000", Own: true,
		Text: "time until an inactive node is forgotten whose host has another one"},
	{Place: OfCluster, Name: "reservation.eager-cancel", Default: "true", Own: true,
		Text: "cancel a reservation as soon as nothing needs it"},
	{Place: OfCluster, Name: "reservation.maximum-per-cluster", Default: "-1", Own: true,
		Text: "reservations of the cluster; -1: no limit"},
	{Place: OfCluster, Name: "reservation.maximum-per-key", Default: "-1", Own: true,
		Text: "reservations of an application at one priority; -1: no limit"},
	{Place: OfCluster, Name: "reservation.maximum-per-queue", Default: "-1", Own: true,
		Text: "reservations of a leaf queue; -1: no limit"},
	{Place: OfCluster, Name: "reservation.node", Default: "earliest in eager mode, else first", Own: true,
		Text: "the node that is reserved: `first` or `earliest`"},
	{Place: OfCluster, Name: "reservations-continue-look-all-nodes", Default: "true",
		Text: "an application with a reservation may still get containers on other nodes"},
	{Place: OfCluster, Name: "resource-calculator", Default: "DefaultResourceCalculator",
		Text: "`DefaultResourceCalculator` or `DominantResourceCalculator`"},
	{Place: OfCluster, Name: "user-limit-factor", Default: "1", Text: "the default of queues"},
	{Place: OfCluster, Name: "user.max-parallel-apps", Default: "-1",
		Text: "applications of a user that may run at the same time"},
	{Place: OfCluster, Name: "workflow-priority-mappings", Text: "priorities of workflows"},
	{Place: OfCluster, Name: "workflow-priority-mappings-override.enable", Default: "false",
		Text: "whether these have an effect"},

	{Place: OfPreemption, Name: "additional_res_balance_based_on_reserved_containers", Default: "false",
		Text: "a queue wants what it has reserved, too"},
	{Place: OfPreemption, Name: "conservative-drf", Default: "false",
		Text: "take a container only if its queue owes some of each resource type"},
	{Place: OfPreemption, Name: "intra-queue-preemption.conservative-drf", Default: "true",
		Text: "`conservative-drf` inside a queue"},
	{Place: OfPreemption, Name: "intra-queue-preemption.enabled", Default: "false",
		Text: "also preempt between the applications of a queue"},
	{Place: OfPreemption, Name: "intra-queue-preemption.max-allowable-limit", Default: "0.2",
		Text: "part of its guarantee that one round takes inside a queue at most"},
	{Place: OfPreemption, Name: "intra-queue-preemption.minimum-threshold", Default: "0.5",
		Text: "use of its guarantee from which this applies to a queue"},
	{Place: OfPreemption, Name: "intra-queue-preemption.preemption-order-policy", Default: "userlimit_first",
		Text: "or `priority_first`"},
	{Place: OfPreemption, Name: "max_ignored_over_capacity", Default: "0.1",
		Text: "part of its guarantee by which a queue may exceed it"},
	{Place: OfPreemption, Name: "max_wait_before_kill", Default: "15000",
		Text: "ms from the warning of an ApplicationMaster to the kill of its container"},
	{Place: OfPreemption, Name: "monitoring_interval", Default: "3000", Text: "ms between two rounds"},
	{Place: OfPreemption, Name: "natural_termination_factor", Default: "0.2",
		Text: "part of what a queue owes that one round takes"},
	{Place: OfPreemption, Name: "observe_only", Default: "false", Text: "decide, but take nothing"},
	{Place: OfPreemption, Name: "preemption-to-balance-queue-after-satisfied.enabled", Default: "false",
		Text: "also balance queues that are all above their guarantee"},
	{Place: OfPreemption, Name: "preemption-to-balance-queue-after-satisfied.max-wait-before-kill", Default: "300000",
		Text: "`max_wait_before_kill` of such preemption"},
	{Place: OfPreemption, Name: "select_based_on_reserved_containers", Default: "false",
		Text: "free nodes for the reservations on them"},
	{Place: OfPreemption, Name: "total_preemption_per_round", Default: "0.1",
		Text: "part of the cluster that one round takes at most"},

	{Place: OfSite, Name: TokenAlgorithmKey, Default: "HmacSHA1",
		Text: "the HMAC that signs tokens; the same on all NodeManagers. A change makes new master keys"},
	{Place: OfSite, Name: tokenLengthKey, Default: "64", Text: "bits of a master key; at least 256 are used"},
	{Place: OfSite, Name: "yarn.acl.enable", Default: "false", Text: "lists of users and groups count"},
	{Place: OfSite, Name: "yarn.admin.acl", Default: "*", Text: "the administrators of the cluster"},
	{Place: OfSite, Name: "yarn.am.liveness-monitor.expiry-interval-ms", Default: "600000",
		Text: "silence after which an attempt has failed"},
	{Place: OfSite, Name: "yarn.cluster.max-application-priority", Default: "0",
		Text: "the highest priority of an application"},
	{Place: OfSite, Name: "yarn.nm.liveness-monitor.expiry-interval-ms", Default: "600000",
		Text: "silence after which a node is lost"},
	{Place: OfSite, Name: emrDefaultLabel, Text: "Amazon EMR's name of the label of AMs"},
	{Place: OfSite, Name: labelsSource, Default: "centralized", Text: "who sets the labels of nodes"},
	{Place: OfSite, Name: labelsEnabled, Default: "false", Text: "nodes have labels"},
	{Place: OfSite, Name: labelsEnforced, Text: "labels that all asks of an application get if it asks for one of them"},
	{Place: OfSite, Name: resourceTypes, Text: "kinds of resources besides memory and vcores"},
	{Place: OfSite, Name: "yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs", Default: "86400",
		Text: "life of a master key of AMs"},
	{Place: OfSite, Name: "yarn.resourcemanager.am.global.max-attempts", Default: "the next key's",
		Text: "the most attempts that an application may ask for"},
	{Place: OfSite, Name: "yarn.resourcemanager.am.max-attempts", Default: "2",
		Text: "attempts of an application that does not say"},
	{Place: OfSite, Name: tagPrefix + "enable", Default: "false",
		Text: "place applications as one of the user whom a tag names"},
	{Place: OfSite, Name: tagPrefix + "username.whitelist", Text: "the users whose applications may be placed so"},
	{Place: OfSite, Name: "yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs", Default: "86400",
		Text: "life of a master key of containers"},
	{Place: OfSite, Name: "yarn.resourcemanager.delegation.key.update-interval", Default: "86400000",
		Text: "life of a master key of delegation tokens, in ms"},
	{Place: OfSite, Name: "yarn.resourcemanager.delegation.token.max-lifetime", Default: "604800000",
		Text: "life of a delegation token, in ms"},
	{Place: OfSite, Name: "yarn.resourcemanager.delegation.token.renew-interval", Default: "86400000",
		Text: "time until a delegation token must be renewed, in ms"},
	{Place: OfSite, Name: "yarn.resourcemanager.enable-node-untracked-without-include-path", Default: "false",
		Text: "forget inactive nodes although no list says which may register"},
	{Place: OfSite, Name: "yarn.resourcemanager.enable-tracking-for-unregistered-nodes", Default: "false",
		Text: "show hosts as LOST that may register and never did"},
	{Place: OfSite, Name: "yarn.resourcemanager.max-completed-applications", Default: "1000",
		Text: "ended applications that are kept"},
	{Place: OfSite, Name: manageInterval, Default: "1500", Text: "ms between two checks of managed parents"},
	{Place: OfSite, Name: "yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs", Default: "86400",
		Text: "life of a master key of nodes"},
	{Place: OfSite, Name: amNonExclusive, Default: "false",
		Text: "AMs without a label may run on nodes of labels that are not exclusive"},
	{Place: OfSite, Name: amDefaultLabel, Text: "the label of AMs that name none"},
	{Place: OfSite, Name: "yarn.resourcemanager.node-removal-untracked.node-selective-states-to-remove",
		Text: "states of nodes that may be forgotten; without it all"},
	{Place: OfSite, Name: "yarn.resourcemanager.node-removal-untracked.timeout-ms", Default: "60000",
		Text: "time until an inactive node that no list names is forgotten"},
	{Place: OfSite, Name: "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", Default: "1000",
		Text: "time between two heartbeats of a node"},
	{Place: OfSite, Name: "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms", Default: "600000",
		Text: "time until a container that did not start ends"},
	{Place: OfSite, Name: monitorEnable, Default: "false", Text: "preemption, if the next key names it"},
	{Place: OfSite, Name: monitorPolicies, Text: "the monitors that run; preemption is one of them"},
	{Place: OfSite, Name: PreprocessorEnabledKey, Default: "false", Text: "the submission preprocessor runs"},
	{Place: OfSite, Name: PreprocessorKey, Own: true, Text: "the contents of its file"},
	{Place: OfSite, Name: PreprocessorFileKey, Text: "its file"},
	{Place: OfSite, Name: MutationPolicyKey, Default: "DefaultConfigurationMutationACLPolicy",
		Text: "who may change the configuration"},
	{Place: OfSite, Name: "yarn.scheduler.maximum-allocation-mb", Default: "8192", Text: "the largest container, in MiB"},
	{Place: OfSite, Name: "yarn.scheduler.maximum-allocation-vcores", Default: "4",
		Text: "the most vcores of a container"},
	{Place: OfSite, Name: "yarn.scheduler.minimum-allocation-mb", Default: "1024", Text: "the smallest container, in MiB"},
	{Place: OfSite, Name: "yarn.scheduler.minimum-allocation-vcores", Default: "1",
		Text: "the fewest vcores of a container"},
	{Place: OfSite, Name: placementKey, Default: "user-group",
		Text: "which placement rules run: `user-group`, `app-name`"},
	{Place: OfSite, Name: appNamesKey, Text: "placement rules by the names of applications"},
	{Place: OfSite, Name: "yarn.scheduler.skip.node.multiplier", Default: "2",
		Text: "missed heartbeats after which a node gets no containers"},
	{Place: OfSite, Name: workflowTagKey, Default: "workflowid:", Text: "the start of a tag that names a workflow"},
}
