// Package unhonored lists Hadoop's keys of the queue configuration that have no effect here, and says
// why.
package unhonored

import "strings"

// Key is a key of Hadoop that has no effect here. A name that ends in a dot or dash stands
// for all keys with that prefix. A key with the given value, Hadoop's default, is not reported.
// Effect is what follows for users; without one of these keys, no client or node is refused.
type Key struct {
	Name, Value, Why string
	Effect           string
}

// The effects of keys that are not honored, with the words of package hadoop.
const (
	Harmless = "harmless" // the key tunes what rmd does not have, or YARN does not honor it here either
	Visible  = "visible"  // users see another behavior than with YARN
)

const (
	whyAsync     = "passes are driven by heartbeats, asks and completions; there are no scheduling threads"
	whyAuto      = "submissions create queues only by auto-queue-creation-v2 and auto-create-child-queue"
	WhyLabels    = "yarn.node-labels.enabled is not true; all nodes are in the default partition"
	whyMultiNode = "a pass looks at one node"
	whyPlans     = "time-based reservations (plans) are not honored yet; the queue is an ordinary leaf"
	whyLazy      = "a container whose time is up is killed at once"
	whyRecovery  = "the state is replicated, so nothing is recovered after a failover"
	whyReread    = "the file is read when a configuration is applied, and replicated with it"
	whyKnown     = "a new leader knows the nodes, so it need not wait for them"
	whyOther     = "not honored yet"
)

// Cluster are the unhonored keys with capacity.Prefix that do not belong to a queue.
var Cluster = []Key{
	{"application.fail-fast", "false", whyRecovery, Harmless},
	{"lazy-preemption-enabled", "false", whyLazy, Visible},
	{"schedule-asynchronously.enable", "false", whyAsync, Harmless},
	{"schedule-asynchronously.maximum-pending-backlogs", "100", whyAsync, Harmless},
	{"schedule-asynchronously.maximum-threads", "1", whyAsync, Harmless},
	{"schedule-asynchronously.scheduling-interval-ms", "5", whyAsync, Harmless},
	{"skip-allocate-on-nodes-with-reserved-containers", "false", whyMultiNode, Harmless},
	{"user-metrics.enable", "false", whyOther, Visible},
	{"maximum-am-resource-percent.", "", whyOther, Visible},
	{"queue-management-policy.", "", whyAuto, Visible},
	{"autoqueuecreation.", "", whyAuto, Visible},
}

// Queue are the unhonored keys of queues.
var Queue = []Key{
	{"accessible-node-labels", "*", WhyLabels, Harmless},
	{"accessible-node-labels.", "", WhyLabels, Harmless},
	{"acl_administer_reservations", "", whyPlans, Visible},
	{"acl_list_reservations", "", whyPlans, Visible},
	{"acl_submit_reservations", "", whyPlans, Visible},
	{"average-capacity", "", whyPlans, Visible},
	{"default-node-label-expression", "", WhyLabels, Harmless},
	{"instantaneous-max-capacity", "", whyPlans, Visible},
	{"ordering-policy.", "", "the applications of a queue have one order for all partitions", Visible},
	{"reservable", "false", whyPlans, Visible},
	{"reservation-", "", whyPlans, Visible},
	{"show-reservations-as-queues", "false", whyPlans, Visible},
}

// Site are the unhonored keys without capacity.Prefix.
var Site = []Key{
	{"yarn.resourcemanager.placement-constraints.", "", whyOther, Visible},
	{"yarn.resourcemanager.submission-preprocessor.file-refresh-interval-ms", "0", whyReread, Harmless},
	{"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "10000", whyKnown, Harmless},
	{"yarn.scheduler.include-port-in-node-name", "false", whyOther, Visible},
}

// Find returns the entry for a key: the one with its name, or the one with the longest prefix of
// it.
func Find(table []Key, key string) (Key, bool) {
	var best Key
	for _, u := range table {
		wide := strings.HasSuffix(u.Name, ".") || strings.HasSuffix(u.Name, "-")
		if u.Name == key || wide && strings.HasPrefix(key, u.Name) && len(key) > len(u.Name) {
			if len(u.Name) > len(best.Name) {
				best = u
			}
		}
	}
	return best, best.Name != ""
}
