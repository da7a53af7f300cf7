package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/preempt"
	"rmd/yarn"
)

// PreemptionPartition returns what preemption needs to know about the partition of a label.
//
// Source: Hadoop 3.4.2, ProportionalCapacityPreemptionPolicy.cloneQueues.
func (s *Scheduler) PreemptionPartition(label state.LabelSlot) *preempt.Partition {
	v := s.In(label, false)
	p := &preempt.Partition{
		Calculator: s.cfg.Calculator, Cluster: s.st.Meta.Cluster, Total: v.at.total,
		Queues: make([]preempt.Queue, len(s.cfg.Queues)),
	}
	for i := range p.Queues {
		p.Queues[i] = v.preemptionQueue(int32(i))
	}
	v.addPending(p.Queues)
	return p
}

// preemptionQueue returns a queue of the partition, without its demand.
func (v *View) preemptionQueue(i int32) preempt.Queue {
	q, e := &v.cfg.Queues[i], &v.at.tree.Capacities[i]
	out := preempt.Queue{
		Parent: int32(q.Parent), Leaf: q.Leaf,
		Disabled: q.DisablePreemption, DisabledIntra: q.DisablePreemption || q.DisableIntraPreemption,
		AbsCapacity: e.AbsCapacity.Fraction(), Guaranteed: e.EffMin, Max: e.EffMax,
		Used: *v.used(i), Reserved: v.Queue(i).Reserved,
	}
	if q.Parent >= 0 && v.cfg.Queues[q.Parent].ChildOrder == capacity.PriorityUtilization {
		out.Priority = q.Priority
	}
	if v.at.label != 0 {
		out.Reserved = v.labelUse(v.at.uses[i]).Reserved
	}
	if v.at.lends && out.Max.IsZero() {
		out.Max = v.at.total // a queue without the label may borrow its nodes
	}
	return out
}

// addPending adds to each leaf what its users want of the partition, each within the user
// limit.
//
// Source: Hadoop 3.4.2, AbstractLeafQueue.getTotalPendingResourcesConsideringUserLimit.
func (v *View) addPending(queues []preempt.Queue) {
	type demand struct{ pending, lessReserved yarn.Resource }
	wanted := make([]demand, len(v.users)) // by slot of the user
	v.st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if a.Outstanding == 0 || !a.Activated() {
			return true
		}
		d, pending := &wanted[a.UserSlot], v.pendingOf(a)
		d.pending = d.pending.Add(pending)
		d.lessReserved = d.lessReserved.Add(yarn.ComponentMax(pending.Sub(v.reservedIn(a)), yarn.Resource{}))
		return true
	})
	for slot := range wanted {
		d := &wanted[slot]
		if d.pending.IsZero() {
			continue
		}
		leaf := v.users[slot].leaf
		room := yarn.ComponentMax(v.UserLimit(leaf, state.UserSlot(slot)).Sub(*v.userUsed(state.UserSlot(slot))), yarn.Resource{})
		q := &queues[leaf]
		q.Pending = q.Pending.Add(yarn.ComponentMin(room, d.pending))
		q.PendingLessReserved = q.PendingLessReserved.Add(yarn.ComponentMin(room, d.lessReserved))
	}
}

// pendingOf returns what an application asks of the partition.
func (v *View) pendingOf(a *state.App) (pending yarn.Resource) {
	if len(v.partitions) == 1 {
		return a.Pending
	}
	for _, k := range v.st.Asks.Of(a) {
		if k.Label == v.at.label {
			pending = pending.Add(k.Size.Times(k.Count))
		}
	}
	return pending
}
