package capacity

import "strings"

// unhonored is a key of Hadoop that has no effect here. A name that ends in a dot or dash stands
// for all keys with that prefix. A key with the given value, Hadoop's default, is not reported.
// effect is what follows for users; without one of these keys, no client or node is refused.
type unhonored struct {
	name, value, why string
	effect           string
}

// The effects of keys that are not honored, with the words of package hadoop.
const (
	harmless = "harmless" // the key tunes what rmd does not have, or YARN does not honor it here either
	visible  = "visible"  // users see another behavior than with YARN
)

const (
	whyAsync     = "passes are driven by heartbeats, asks and completions; there are no scheduling threads"
	whyAuto      = "submissions create queues only by auto-queue-creation-v2 and auto-create-child-queue"
	whyLabels    = "yarn.node-labels.enabled is not true; all nodes are in the default partition"
	whyMultiNode = "a pass looks at one node"
	whyPlans     = "time-based reservations (plans) are not honored yet; the queue is an ordinary leaf"
	whyLazy      = "a container whose time is up is killed at once"
	whyRecovery  = "the state is replicated, so nothing is recovered after a failover"
	whyReread    = "the file is read when a configuration is applied, and replicated with it"
	whyKnown     = "a new leader knows the nodes, so it need not wait for them"
	whyOther     = "not honored yet"
)

// ignoredGlobal are the unhonored keys with Prefix that do not belong to a queue.
var ignoredGlobal = []unhonored{
	{"application.fail-fast", "false", whyRecovery, harmless},
	{"lazy-preemption-enabled", "false", whyLazy, visible},
	{"schedule-asynchronously.enable", "false", whyAsync, harmless},
	{"schedule-asynchronously.maximum-pending-backlogs", "100", whyAsync, harmless},
	{"schedule-asynchronously.maximum-threads", "1", whyAsync, harmless},
	{"schedule-asynchronously.scheduling-interval-ms", "5", whyAsync, harmless},
	{"skip-allocate-on-nodes-with-reserved-containers", "false", whyMultiNode, harmless},
	{"user-metrics.enable", "false", whyOther, visible},
	{"maximum-am-resource-percent.", "", whyOther, visible},
	{"queue-management-policy.", "", whyAuto, visible},
	{"autoqueuecreation.", "", whyAuto, visible},
}

// ignoredQueue are the unhonored keys of queues.
var ignoredQueue = []unhonored{
	{"accessible-node-labels", "*", whyLabels, harmless},
	{"accessible-node-labels.", "", whyLabels, harmless},
	{"acl_administer_reservations", "", whyPlans, visible},
	{"acl_list_reservations", "", whyPlans, visible},
	{"acl_submit_reservations", "", whyPlans, visible},
	{"average-capacity", "", whyPlans, visible},
	{"default-node-label-expression", "", whyLabels, harmless},
	{"instantaneous-max-capacity", "", whyPlans, visible},
	{"ordering-policy.", "", "the applications of a queue have one order for all partitions", visible},
	{"reservable", "false", whyPlans, visible},
	{"reservation-", "", whyPlans, visible},
	{"show-reservations-as-queues", "false", whyPlans, visible},
}

// ignoredSite are the unhonored keys without Prefix.
var ignoredSite = []unhonored{
	{"yarn.resourcemanager.placement-constraints.", "", whyOther, visible},
	{"yarn.resourcemanager.submission-preprocessor.file-refresh-interval-ms", "0", whyReread, harmless},
	{"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "10000", whyKnown, harmless},
	{"yarn.scheduler.include-port-in-node-name", "false", whyOther, visible},
}

// find returns the entry for a key: the one with its name, or the one with the longest prefix of
// it.
func find(table []unhonored, key string) (unhonored, bool) {
	var best unhonored
	for _, u := range table {
		wide := strings.HasSuffix(u.name, ".") || strings.HasSuffix(u.name, "-")
		if u.name == key || wide && strings.HasPrefix(key, u.name) && len(key) > len(u.name) {
			if len(u.name) > len(best.name) {
				best = u
			}
		}
	}
	return best, best.name != ""
}
