package httpserver

import (
	"strings"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// unboundedApps is how YARN writes "no limit on parallel applications".
const unboundedApps = 1<<31 - 1

// javaTime is a time as YARN prints an expiry.
func javaTime(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000-0700")
}

func wsScheduler(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	root := v.st.Root()
	if root == 0 || v.conf == nil {
		return wsNotFound("the scheduler has no queues yet")
	}
	n := v.queueNumbers()
	i := v.configured("root")
	q := v.st.Queues.Get(root)
	d := obj{
		{"type", typed("capacityScheduler")}, {"capacity", 100.0}, {"usedCapacity", v.usedPercent(q, i)}, {"maxCapacity", 100.0}, {"weight", -1.0}, {"normalizedWeight", 0.0}, {"queueCapacityVectorInfo", v.wsVector(i)},
		{"queueName", "root"}, {"queuePath", "root"}, {"maxParallelApps", parallel(v.conf.Queues[i].MaxParallelApps)}, {"isAbsoluteResource", false},
		{"queues", filled("queue", v.wsChildren(q, n))},
		{"capacities", v.wsCapacities(q, i)}, {"health", v.wsHealth()},
		{"maximumAllocation", v.wsResource(v.conf.MaxAlloc)}, {"queueAcls", v.wsACLs(i)}, {"queuePriority", v.conf.Queues[i].Priority}, {"orderingPolicyInfo", v.conf.Queues[i].ChildOrder.String()},
	}
	d = append(d, v.wsQueueKind(i)...)
	return c.writeWS("scheduler", obj{{"schedulerInfo", d}})
}

func parallel(n int64) int64 {
	if n < 0 {
		return unboundedApps
	}
	return n
}

func (v *view) usedPercent(q *state.Queue, i int) float64 {
	return fixedPercent(capacity.UsedShare(v.conf.Calculator, v.tree.Cluster, q.Used, v.tree.Capacities[i].EffMin, v.conf.MinAlloc))
}

func (v *view) wsChildren(q *state.Queue, n *queueNumbers) []obj {
	out := make([]obj, 0, len(q.Children))
	for _, slot := range q.Children {
		if i := v.configured(v.queuePath(slot)); i >= 0 {
			out = append(out, v.wsQueue(slot, i, n))
		}
	}
	return out
}

// wsQueueKind says how a queue's capacity is given, in YARN's words.
func (v *view) wsQueueKind(i int) obj {
	q := &v.conf.Queues[i]
	mode := "percentage"
	switch q.Capacity.Unit {
	case capacity.UnitWeight:
		mode = "weight"
	case capacity.UnitAbsolute, capacity.UnitMixed:
		mode = "absolute"
	}
	kind := "parent"
	if q.Leaf {
		kind = "leaf"
	}
	return obj{{"mode", mode}, {"queueType", kind}, {"creationMethod", "static"}, {"autoCreationEligibility", "off"}, {"autoQueueTemplateProperties", obj{}}, {"autoQueueParentTemplateProperties", obj{}}, {"autoQueueLeafTemplateProperties", obj{}}}
}

// wsQueue shows a queue below root.
func (v *view) wsQueue(slot uint32, i int, n *queueNumbers) obj {
	q, conf, eff := v.st.Queues.Get(slot), &v.conf.Queues[i], &v.tree.Capacities[i]
	var d obj
	if q.Leaf {
		d = obj{{"type", typed("capacitySchedulerLeafQueueInfo")}}
	}
	absUsed := fixedPercent(capacity.AbsUsedShare(v.conf.Calculator, v.tree.Cluster, q.Used))
	weight, normalized := -1.0, 0.0
	if conf.Capacity.Unit == capacity.UnitWeight {
		weight, _ = conf.Capacity.Value.Rat().Float64()
		normalized, _ = eff.Capacity.Rat().Float64()
	}
	d = append(d, obj{
		{"queuePath", q.Path}, {"capacity", percent(eff.Capacity.Rat())}, {"usedCapacity", v.usedPercent(q, i)}, {"maxCapacity", percent(eff.MaxCapacity.Rat())},
		{"absoluteCapacity", percent(eff.AbsCapacity.Rat())}, {"absoluteMaxCapacity", percent(eff.AbsMax.Rat())}, {"absoluteUsedCapacity", absUsed}, {"weight", weight}, {"normalizedWeight", normalized},
		{"numApplications", n.apps[slot]}, {"maxParallelApps", parallel(conf.MaxParallelApps)}, {"queueName", q.Name}, {"isAbsoluteResource", conf.Capacity.Unit == capacity.UnitAbsolute}, {"state", q.State.String()},
	}...)
	if !q.Leaf {
		d = append(d, field{"queues", filled("queue", v.wsChildren(q, n))})
	}
	d = append(d, obj{
		{"resourcesUsed", v.wsResource(q.Used)}, {"hideReservationQueues", false}, {"nodeLabels", []string{"*"}},
		{"allocatedContainers", q.Containers - n.reservations[slot]}, {"reservedContainers", n.reservations[slot]}, {"pendingContainers", n.outstanding[slot]},
		{"capacities", v.wsCapacities(q, i)}, {"resources", obj{{"resourceUsagesByPartition", []obj{v.wsUsage(slot, i, n)}}}},
		{"minEffectiveCapacity", v.wsResource(eff.EffMin)}, {"maxEffectiveCapacity", v.wsResource(eff.EffMax)},
		{"maximumAllocation", v.wsResource(conf.MaxAlloc)}, {"queueAcls", v.wsACLs(i)}, {"queuePriority", conf.Priority}, {"orderingPolicyInfo", v.ordering(i)},
		{"autoCreateChildQueueEnabled", false}, {"leafQueueTemplate", obj{}},
	}...)
	d = append(d, v.wsQueueKind(i)...)
	if q.Leaf {
		d = append(d, v.wsLeaf(slot, i, n)...)
	}
	return d
}

func (v *view) ordering(i int) string {
	if v.conf.Queues[i].Leaf {
		return v.conf.Queues[i].LeafOrder.String()
	}
	return v.conf.Queues[i].ChildOrder.String()
}

func (v *view) wsCapacities(q *state.Queue, i int) obj {
	eff := &v.tree.Capacities[i]
	conf := &v.conf.Queues[i]
	return obj{{"queueCapacitiesByPartition", []obj{{
		{"partitionName", ""}, {"queueCapacityVectorInfo", v.wsVector(i)},
		{"capacity", percent(eff.Capacity.Rat())}, {"usedCapacity", v.usedPercent(q, i)}, {"maxCapacity", percent(eff.MaxCapacity.Rat())},
		{"absoluteCapacity", percent(eff.AbsCapacity.Rat())}, {"absoluteUsedCapacity", fixedPercent(capacity.AbsUsedShare(v.conf.Calculator, v.tree.Cluster, q.Used))}, {"absoluteMaxCapacity", percent(eff.AbsMax.Rat())},
		{"maxAMLimitPercentage", percent(conf.MaxAMPercent.Rat())}, {"weight", -1.0}, {"normalizedWeight", 0.0},
		{"configuredMinResource", v.wsResource(eff.ConfiguredMin)}, {"configuredMaxResource", v.wsResource(eff.ConfiguredMax)},
		{"effectiveMinResource", v.wsResource(eff.EffMin)}, {"effectiveMaxResource", v.wsResource(eff.EffMax)},
	}}}}
}

func (v *view) wsUsage(slot uint32, i int, n *queueNumbers) obj {
	q := v.st.Queues.Get(slot)
	d := obj{{"partitionName", ""}, {"used", v.wsResource(q.Used)}, {"reserved", v.wsResource(q.Reserved)}, {"pending", v.wsResource(q.Pending)}}
	if !q.Leaf {
		return d
	}
	limit := v.wsResource(v.amLimit(slot, i, n))
	return append(d, obj{{"amUsed", v.wsResource(q.AMUsed)}, {"amLimit", limit}, {"userAmLimit", limit}}...)
}

func (v *view) wsACLs(i int) obj {
	q := &v.conf.Queues[i]
	return obj{{"queueAcl", []obj{
		{{"accessType", "ADMINISTER_QUEUE"}, {"accessControlList", q.AdministerACL.String()}},
		{{"accessType", "APPLICATION_MAX_PRIORITY"}, {"accessControlList", "*"}},
		{{"accessType", "SUBMIT_APP"}, {"accessControlList", q.SubmitACL.String()}},
	}}}
}

// wsLeaf is what only a leaf has.
func (v *view) wsLeaf(slot uint32, i int, n *queueNumbers) obj {
	q, conf := v.st.Queues.Get(slot), &v.conf.Queues[i]
	limit := v.userLimit(i, n.users[slot])
	am := v.wsResource(v.amLimit(slot, i, n))
	users := make([]obj, 0, len(n.users[slot]))
	for _, u := range n.users[slot] {
		users = append(users, v.wsUser(u, conf, limit, am))
	}
	userLimit, _ := conf.MinUserLimitPercent.Rat().Float64()
	factor, _ := conf.UserLimitFactor.Rat().Float64()
	if conf.UserLimitOff {
		factor = -1
	}
	return obj{
		{"numActiveApplications", q.ActiveApps}, {"numPendingApplications", q.PendingApps + q.ParkedApps}, {"numContainers", q.Containers},
		{"maxApplications", v.conf.MaxApplications(i, v.tree)}, {"maxApplicationsPerUser", v.conf.MaxApplicationsPerUser(i, v.tree)},
		{"userLimit", userLimit}, {"users", filled("user", users)}, {"userLimitFactor", factor},
		{"configuredMaxAMResourceLimit", percent(conf.MaxAMPercent.Rat()) / 100},
		{"AMResourceLimit", am}, {"usedAMResource", v.wsResource(q.AMUsed)}, {"userAMResourceLimit", am},
		{"preemptionDisabled", conf.DisablePreemption}, {"intraQueuePreemptionDisabled", conf.DisableIntraPreemption}, {"defaultPriority", conf.DefaultAppPriority}, {"isAutoCreatedLeafQueue", false},
		{"maxApplicationLifetime", conf.MaxLifetime}, {"defaultApplicationLifetime", conf.DefaultLifetime},
	}
}

func (v *view) wsUser(u *state.User, conf *capacity.Queue, limit yarn.Resource, am *shared) obj {
	name := v.st.NameOf(u.Name)
	weight, _ := conf.Weight(name).Rat().Float64()
	most := v.wsResource(capacity.WeightedUserLimit(v.conf.Calculator, limit, conf.Weight(name), v.conf.MinAlloc))
	none := v.wsResource(yarn.Resource{})
	return obj{
		{"username", name}, {"resourcesUsed", v.wsResource(u.Used)}, {"numPendingApplications", u.Pending}, {"numActiveApplications", u.Active},
		{"AMResourceUsed", v.wsResource(u.AMUsed)}, {"userResourceLimit", most},
		{"resources", obj{{"resourceUsagesByPartition", []obj{{{"partitionName", ""}, {"used", v.wsResource(u.Used)}, {"reserved", none}, {"pending", none},
			{"amUsed", v.wsResource(u.AMUsed)}, {"amLimit", am}, {"userAmLimit", none}}}}}},
		{"userWeight", weight}, {"isActive", u.IsActive()},
	}
}

// wsVector is a queue's configured capacity kind by kind.
func (v *view) wsVector(i int) obj {
	q := &v.conf.Queues[i]
	entries := make([]obj, 0, len(v.kinds))
	texts := make([]string, 0, len(v.kinds))
	for kind, name := range v.kinds {
		unit, value := q.Capacity.Unit, q.Capacity.Value
		if p := q.Capacity.Parts[kind]; p.Unit != capacity.UnitNone {
			unit, value = p.Unit, p.Value
		}
		if q.Parent < 0 {
			unit, value = capacity.UnitPercent, yarn.Fraction{Num: 100, Den: 1}
		}
		f, _ := value.Rat().Float64()
		text := javaFloat(f)
		switch unit {
		case capacity.UnitPercent:
			text += "%"
		case capacity.UnitWeight:
			text += "w"
		}
		entries = append(entries, obj{{"resourceName", name}, {"resourceValue", text}})
		texts = append(texts, name+"="+text)
	}
	return obj{{"configuredCapacityVector", "[" + strings.Join(texts, ",") + "]"}, {"capacityVectorEntries", entries}}
}

// wsHealth is the scheduler's health in YARN's shape. What a single pass did is
// in the log ("rmd events"), and not told here.
func (v *view) wsHealth() obj {
	var operations, runs []obj
	for _, name := range []string{"last-allocation", "last-release", "last-preemption", "last-reservation"} {
		operations = append(operations, obj{{"operation", name}, {"nodeId", "N/A"}, {"containerId", "N/A"}, {"queue", "N/A"}})
	}
	for _, name := range []string{"releases", "allocations", "reservations"} {
		runs = append(runs, obj{{"operation", name}, {"count", 0}, {"resources", v.wsResource(yarn.Resource{})}})
	}
	return obj{{"lastrun", v.st.Meta.NowMillis}, {"operationsInfo", operations}, {"lastRunDetails", runs}}
}
