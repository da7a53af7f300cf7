package yarnweb

import (
	"slices"
	"strings"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/limits"
	"rmd/scheduler/capacity/order"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// unboundedApps is YARN's value for no limit on parallel applications.
const unboundedApps = 1<<31 - 1

// javaTime formats a time as YARN formats an expiry time.
func javaTime(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000-0700")
}

func (s *API) wsScheduler(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	root := v.State.Queues.Root()
	if root == 0 || v.Conf == nil {
		return wsNotFound("the scheduler has no queues yet")
	}
	n := v.QueueSums()
	i := v.Configured("root")
	q := v.State.Queues.Get(root)
	weight, normalized, _ := wsWeight(&v.Conf.Queues[i], &v.Tree.Capacities[i])
	d := obj{
		{"type", typed("capacityScheduler")}, {"capacity", 100.0}, {"usedCapacity", usedPercent(v.Partition(0), root, i)},
		{"maxCapacity", 100.0}, {"weight", weight}, {"normalizedWeight", normalized},
		{"queueCapacityVectorInfo", v.wsVector(&v.Conf.Queues[i])},
		{"queueName", "root"}, {"queuePath", "root"}, {"maxParallelApps", parallel(v.Conf.Queues[i].MaxParallelApps)},
		{"isAbsoluteResource", false},
		{"queues", filled("queue", v.wsChildren(q, n))},
		{"capacities", v.wsCapacities(root, i)}, {"health", v.wsHealth()},
		{"maximumAllocation", v.wsResource(v.Conf.MaxAlloc)}, {"queueAcls", v.wsACLs(i)},
		{"queuePriority", v.Conf.Queues[i].Priority}, {"orderingPolicyInfo", v.Conf.Queues[i].ChildOrder.String()},
	}
	d = append(d, v.wsQueueKind(i)...)
	return s.writeWS(c, "scheduler", obj{{"schedulerInfo", d}})
}

func parallel(n int64) int64 {
	if n < 0 {
		return unboundedApps
	}
	return n
}

// usedPercent returns a queue's use of a partition, in percent of its guarantee.
func usedPercent(p *view.Partition, slot state.QueueSlot, i int) float64 {
	return view.FixedPercent(order.UsedShare(p.Conf.Calculator, p.Tree.Cluster, p.Use(slot).Used,
		p.Tree.Capacities[i].Measure(), p.Conf.MinAlloc))
}

// partitionsOf returns the partitions that are shown for a queue.
func (v *docs) partitionsOf(slot state.QueueSlot) []*view.Partition {
	return slices.DeleteFunc(v.Partitions(), func(p *view.Partition) bool { return !p.Shows(slot) })
}

// wsChildren returns the queues below a parent, leaf queues first, in YARN's order.
func (v *docs) wsChildren(q *state.Queue, n *view.QueueSums) []obj {
	out := make([]obj, 0, len(q.Children))
	for _, leaf := range []bool{true, false} {
		for _, slot := range q.Children {
			if i := v.Configured(v.QueuePath(slot)); i >= 0 && v.Conf.Queues[i].Leaf == leaf {
				out = append(out, v.wsQueue(slot, i, n))
			}
		}
	}
	return out
}

// wsQueueKind returns YARN's fields for how the capacity of a queue is configured, how the queue
// was created, and how queues below it are created.
func (v *docs) wsQueueKind(i int) obj {
	q := &v.Conf.Queues[i]
	mode := "percentage"
	switch q.Capacity.Unit {
	case amount.Weight:
		mode = "weight"
	case amount.Absolute, amount.Mixed:
		mode = "absolute"
	}
	kind := "parent"
	if q.Leaf {
		kind = "leaf"
	}
	var t capacity.Templates
	if q.AutoCreate != nil {
		t = q.AutoCreate.Templates
	}
	d := obj{{"mode", mode}, {"queueType", kind}, {"creationMethod", q.Creation.String()},
		{"autoCreationEligibility", q.ChildrenBy().Eligibility()}}
	if q.DefaultLabel != "" && q.Parent >= 0 {
		d = append(d, field{"defaultNodeLabelExpression", q.DefaultLabel})
	}
	return append(d, obj{{"autoQueueTemplateProperties", wsProperties(t.All)},
		{"autoQueueParentTemplateProperties", wsProperties(t.Parent)},
		{"autoQueueLeafTemplateProperties", wsProperties(t.Leaf)}}...)
}

func wsProperties(list []capacity.Property) obj {
	if len(list) == 0 {
		return obj{}
	}
	items := make([]obj, len(list))
	for i, p := range list {
		items[i] = obj{{"name", p.Name}, {"value", p.Value}}
	}
	return obj{{"property", items}}
}

// wsWeight returns the weight of a queue, its share of the weights of its siblings, and its
// capacity in percent of its parent. As in YARN, only queues without a weight have a percentage.
func wsWeight(conf *capacity.Queue, eff *capacity.Capacity) (weight, normalized, percent float64) {
	if conf.Capacity.Unit != amount.Weight {
		return -1, 0, view.Percent(eff.Capacity.Rat())
	}
	weight, _ = conf.Capacity.Value.Rat().Float64()
	normalized, _ = eff.Capacity.Rat().Float64()
	return weight, normalized, 0
}

// wsQueue returns the document of a queue below root.
func (v *docs) wsQueue(slot state.QueueSlot, i int, n *view.QueueSums) obj {
	q, conf, eff := v.State.Queues.Get(slot), &v.Conf.Queues[i], &v.Tree.Capacities[i]
	var d obj
	if q.Leaf {
		d = obj{{"type", typed("capacitySchedulerLeafQueueInfo")}}
	}
	absUsed := view.FixedPercent(order.AbsUsedShare(v.Conf.Calculator, v.Tree.Cluster, q.Used))
	weight, normalized, percent := wsWeight(conf, eff)
	d = append(d, obj{
		{"queuePath", q.Path}, {"capacity", percent}, {"usedCapacity", usedPercent(v.Partition(0), slot, i)},
		{"maxCapacity", view.Percent(eff.MaxCapacity.Rat())},
		{"absoluteCapacity", view.Percent(eff.AbsCapacity.Rat())}, {"absoluteMaxCapacity", view.Percent(eff.AbsMax.Rat())},
		{"absoluteUsedCapacity", absUsed}, {"weight", weight}, {"normalizedWeight", normalized},
		{"numApplications", n.Apps[slot]}, {"maxParallelApps", parallel(conf.MaxParallelApps)}, {"queueName", q.Name},
		{"isAbsoluteResource", conf.Capacity.Unit == amount.Absolute}, {"state", q.State.String()},
	}...)
	if !q.Leaf {
		d = append(d, field{"queues", filled("queue", v.wsChildren(q, n))})
	}
	d = append(d, obj{
		{"resourcesUsed", v.wsResource(q.Used)}, {"hideReservationQueues", false}, {"nodeLabels", v.Conf.AccessibleLabels(i)},
		{"allocatedContainers", q.Containers - n.Reservations[slot]}, {"reservedContainers", n.Reservations[slot]},
		{"pendingContainers", n.Outstanding[slot]},
		{"capacities", v.wsCapacities(slot, i)}, {"resources", v.wsUsages(slot, i)},
		{"minEffectiveCapacity", v.wsResource(eff.EffMin)}, {"maxEffectiveCapacity", v.wsResource(eff.EffMax)},
		{"maximumAllocation", v.wsResource(conf.MaxAlloc)}, {"queueAcls", v.wsACLs(i)}, {"queuePriority", conf.Priority},
		{"orderingPolicyInfo", v.ordering(i)},
		{"autoCreateChildQueueEnabled", conf.ChildrenBy() == capacity.Legacy},
		{"leafQueueTemplate", wsProperties(v.Conf.LeafQueueTemplate(q.Path))},
	}...)
	d = append(d, v.wsQueueKind(i)...)
	if q.Leaf {
		d = append(d, v.wsLeaf(slot, i, n)...)
	}
	return d
}

func (v *docs) ordering(i int) string {
	if v.Conf.Queues[i].Leaf {
		return v.Conf.Queues[i].LeafOrder.String()
	}
	return v.Conf.Queues[i].ChildOrder.String()
}

// wsCapacities returns a queue's capacities in each partition.
func (v *docs) wsCapacities(slot state.QueueSlot, i int) obj {
	var list []obj
	for _, p := range v.partitionsOf(slot) {
		eff, conf := &p.Tree.Capacities[i], &p.Conf.Queues[i]
		weight, normalized, percent := wsWeight(conf, eff)
		list = append(list, obj{
			{"partitionName", p.Name()}, {"queueCapacityVectorInfo", v.wsVector(conf)},
			{"capacity", percent}, {"usedCapacity", usedPercent(p, slot, i)},
			{"maxCapacity", view.Percent(eff.MaxCapacity.Rat())},
			{"absoluteCapacity", view.Percent(eff.AbsCapacity.Rat())},
			{"absoluteUsedCapacity", view.FixedPercent(order.AbsUsedShare(p.Conf.Calculator, p.Tree.Cluster, p.Use(slot).Used))},
			{"absoluteMaxCapacity", view.Percent(eff.AbsMax.Rat())},
			{"maxAMLimitPercentage", view.Percent(conf.MaxAMPercent.Rat())}, {"weight", weight},
			{"normalizedWeight", normalized},
			{"configuredMinResource", v.wsResource(eff.ConfiguredMin)},
			{"configuredMaxResource", v.wsResource(eff.ConfiguredMax)},
			{"effectiveMinResource", v.wsResource(eff.EffMin)}, {"effectiveMaxResource", v.wsResource(eff.EffMax)},
		})
	}
	return obj{{"queueCapacitiesByPartition", list}}
}

// wsUsages returns a queue's use of each partition.
func (v *docs) wsUsages(slot state.QueueSlot, i int) obj {
	leaf := v.State.Queues.Get(slot).Leaf
	var list []obj
	for _, p := range v.partitionsOf(slot) {
		use := p.Use(slot)
		d := obj{{"partitionName", p.Name()}, {"used", v.wsResource(use.Used)}, {"reserved", v.wsResource(use.Reserved)},
			{"pending", v.wsResource(use.Pending)}}
		if leaf {
			limit := v.wsResource(p.AMLimit(slot, i))
			d = append(d, obj{{"amUsed", v.wsResource(use.AMUsed)}, {"amLimit", limit}, {"userAmLimit", limit}}...)
		}
		list = append(list, d)
	}
	return obj{{"resourceUsagesByPartition", list}}
}

func (v *docs) wsACLs(i int) obj {
	q := &v.Conf.Queues[i]
	return obj{{"queueAcl", []obj{
		{{"accessType", "ADMINISTER_QUEUE"}, {"accessControlList", q.AdministerACL.String()}},
		{{"accessType", "APPLICATION_MAX_PRIORITY"}, {"accessControlList", "*"}},
		{{"accessType", "SUBMIT_APP"}, {"accessControlList", q.SubmitACL.String()}},
	}}}
}

// wsLeaf returns the fields that only leaf queues have.
func (v *docs) wsLeaf(slot state.QueueSlot, i int, n *view.QueueSums) obj {
	q, conf := v.State.Queues.Get(slot), &v.Conf.Queues[i]
	limit := v.Partition(0).UserLimit(i, n.Users[slot])
	am := v.wsResource(v.Partition(0).AMLimit(slot, i))
	users := make([]obj, 0, len(n.Users[slot]))
	for _, user := range n.Users[slot] {
		users = append(users, v.wsUser(user, slot, i, limit))
	}
	userLimit, _ := conf.MinUserLimitPercent.Rat().Float64()
	factor, _ := conf.UserLimitFactor.Rat().Float64()
	disabled, intra := v.Conf.PreemptionDisabled(i)
	if conf.UserLimitOff {
		factor = -1
	}
	return obj{
		{"numActiveApplications", q.ActiveApps}, {"numPendingApplications", q.PendingApps + q.NonRunnableApps},
		{"numContainers", q.Containers},
		{"maxApplications", v.Conf.MaxApplications(i, v.TreeOf)},
		{"maxApplicationsPerUser", v.Conf.MaxApplicationsPerUser(i, v.TreeOf)},
		{"userLimit", userLimit}, {"users", filled("user", users)}, {"userLimitFactor", factor},
		{"configuredMaxAMResourceLimit", view.Percent(conf.MaxAMPercent.Rat()) / 100},
		{"AMResourceLimit", am}, {"usedAMResource", v.wsResource(q.AMUsed)}, {"userAMResourceLimit", am},
		{"preemptionDisabled", disabled}, {"intraQueuePreemptionDisabled", intra},
		{"defaultPriority", conf.DefaultAppPriority}, {"isAutoCreatedLeafQueue", conf.Creation == capacity.Legacy},
		{"maxApplicationLifetime", conf.MaxLifetime}, {"defaultApplicationLifetime", conf.DefaultLifetime},
	}
}

// wsUser returns the document of a user in a leaf queue. slot is the queue's place in the state, i
// its place in the configuration.
func (v *docs) wsUser(user state.UserSlot, slot state.QueueSlot, i int, limit yarn.Resource) obj {
	u, conf := v.State.Users.Get(user), &v.Conf.Queues[i]
	name := v.State.Names.Text(u.Name)
	weight, _ := conf.Weight(name).Rat().Float64()
	most := v.wsResource(limits.WeightedUserLimit(v.Conf.Calculator, limit, conf.Weight(name), v.Conf.MinAlloc))
	none := v.wsResource(yarn.Resource{})
	var all yarn.Resource
	var list []obj
	for _, p := range v.partitionsOf(slot) {
		use := v.State.UserUse(user, p.Label)
		all = all.Add(use.Used)
		list = append(list, obj{{"partitionName", p.Name()}, {"used", v.wsResource(use.Used)}, {"reserved", none},
			{"pending", none},
			{"amUsed", v.wsResource(use.AMUsed)}, {"amLimit", v.wsResource(p.AMLimit(slot, i))}, {"userAmLimit", none}})
	}
	return obj{
		{"username", name}, {"resourcesUsed", v.wsResource(all)}, {"numPendingApplications", u.Pending},
		{"numActiveApplications", u.Active},
		{"AMResourceUsed", v.wsResource(u.AMUsed)}, {"userResourceLimit", most},
		{"resources", obj{{"resourceUsagesByPartition", list}}},
		{"userWeight", weight}, {"isActive", u.IsActive()},
	}
}

// wsVector returns a queue's configured capacity by resource kind.
func (v *docs) wsVector(q *capacity.Queue) obj {
	entries := make([]obj, 0, len(v.Kinds))
	texts := make([]string, 0, len(v.Kinds))
	for kind, name := range v.Kinds {
		unit, value := q.Capacity.Unit, q.Capacity.Value
		if p := q.Capacity.Parts[kind]; p.Unit != amount.None {
			unit, value = p.Unit, p.Value
		}
		if q.Parent < 0 {
			unit, value = amount.Percent, yarn.Fraction{Num: 100, Den: 1}
		}
		f, _ := value.Rat().Float64()
		text := javaFloat(f)
		switch unit {
		case amount.Percent:
			text += "%"
		case amount.Weight:
			text += "w"
		}
		entries = append(entries, obj{{"resourceName", name}, {"resourceValue", text}})
		texts = append(texts, name+"="+text)
	}
	return obj{{"configuredCapacityVector", "[" + strings.Join(texts, ",") + "]"}, {"capacityVectorEntries", entries}}
}

// wsHealth returns the scheduler's health in YARN's format. It has no values: "rmd events" shows
// the results of single passes from the log.
func (v *docs) wsHealth() obj {
	var operations, runs []obj
	for _, name := range []string{"last-allocation", "last-release", "last-preemption", "last-reservation"} {
		operations = append(operations, obj{{"operation", name}, {"nodeId", "N/A"}, {"containerId", "N/A"}, {"queue", "N/A"}})
	}
	for _, name := range []string{"releases", "allocations", "reservations"} {
		runs = append(runs, obj{{"operation", name}, {"count", 0}, {"resources", v.wsResource(yarn.Resource{})}})
	}
	return obj{{"lastrun", v.State.Meta.NowMillis}, {"operationsInfo", operations}, {"lastRunDetails", runs}}
}
