package preemption

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity/order"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// PartitionOf returns what preemption needs to know about the nodes of a label.
//
// Source: Hadoop 3.4.2, ProportionalCapacityPreemptionPolicy.cloneQueues.
func PartitionOf(s *views.Views, label state.LabelSlot) *entitlement.Partition {
	v := s.In(label, false)
	p := &entitlement.Partition{
		Calculator: s.Config.Calculator, Cluster: s.State.Meta.Cluster, Total: v.At.Total,
		Queues: make([]entitlement.Queue, len(s.Config.Queues)),
	}
	for i := range p.Queues {
		p.Queues[i] = queueOf(&v, int32(i))
	}
	addPending(&v, p.Queues)
	return p
}

// queueOf returns a queue of the partition, without its demand.
func queueOf(v *views.View, i int32) entitlement.Queue {
	q, e := &v.Config.Queues[i], &v.At.Tree.Capacities[i]
	out := entitlement.Queue{
		Parent: int32(q.Parent), Leaf: q.Leaf,
		Disabled: q.DisablePreemption, DisabledIntra: q.DisablePreemption || q.DisableIntraPreemption,
		AbsCapacity: e.AbsCapacity.Fraction(), Guaranteed: e.EffMin, Max: e.EffMax,
		Used: *v.Used(i), Reserved: v.Queue(i).Reserved,
	}
	if q.Parent >= 0 && v.Config.Queues[q.Parent].ChildOrder == order.PriorityUtilization {
		out.Priority = q.Priority
	}
	if v.At.Label != 0 {
		out.Reserved = v.LabelUse(v.At.Uses[i]).Reserved
	}
	if v.At.Lends && out.Max.IsZero() {
		out.Max = v.At.Total // a queue without the label may borrow its nodes
	}
	return out
}

// addPending adds to each leaf what its users want of the partition, each within the user
// limit.
//
// Source: Hadoop 3.4.2, AbstractLeafQueue.getTotalPendingResourcesConsideringUserLimit.
func addPending(v *views.View, queues []entitlement.Queue) {
	type demand struct{ pending, lessReserved yarn.Resource }
	wanted := make([]demand, len(v.Users)) // by slot of the user
	v.State.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if a.Outstanding == 0 || !a.Activated() {
			return true
		}
		d, pending := &wanted[a.UserSlot], pendingOf(v, a)
		d.pending = d.pending.Add(pending)
		d.lessReserved = d.lessReserved.Add(yarn.ComponentMax(pending.Sub(v.ReservedIn(a)), yarn.Resource{}))
		return true
	})
	for slot := range wanted {
		d := &wanted[slot]
		if d.pending.IsZero() {
			continue
		}
		leaf := v.Users[slot].Leaf
		room := yarn.ComponentMax(v.UserLimit(leaf, state.UserSlot(slot)).Sub(*v.UserUsed(state.UserSlot(slot))),
			yarn.Resource{})
		q := &queues[leaf]
		q.Pending = q.Pending.Add(yarn.ComponentMin(room, d.pending))
		q.PendingLessReserved = q.PendingLessReserved.Add(yarn.ComponentMin(room, d.lessReserved))
	}
}

// pendingOf returns what an application asks of the partition.
func pendingOf(v *views.View, a *state.App) (pending yarn.Resource) {
	if len(v.Partitions) == 1 {
		return a.Pending
	}
	for _, k := range v.State.Asks.Of(a) {
		if k.Label == v.At.Label {
			pending = pending.Add(k.Size.Times(k.Count))
		}
	}
	return pending
}
