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
func (s *Scheduler) PreemptionPartition(label state.LabelID) *preempt.Partition {
	s.refreshCapacities()
	s.at = s.partitions[label]
	p := &preempt.Partition{
		Calculator: s.cfg.Calculator, Cluster: s.st.Meta.Cluster, Total: s.at.total,
		Queues: make([]preempt.Queue, len(s.cfg.Queues)),
	}
	for i := range p.Queues {
		p.Queues[i] = s.preemptionQueue(int32(i))
	}
	s.addPending(p.Queues)
	s.at = s.partitions[0]
	return p
}

// preemptionQueue returns a queue of the current partition, without its demand.
func (s *Scheduler) preemptionQueue(i int32) preempt.Queue {
	q, e := &s.cfg.Queues[i], &s.at.tree.Capacities[i]
	out := preempt.Queue{
		Parent: int32(q.Parent), Leaf: q.Leaf,
		Disabled: q.DisablePreemption, DisabledIntra: q.DisablePreemption || q.DisableIntraPreemption,
		AbsCapacity: e.AbsCapacity.Fraction(), Guaranteed: e.EffMin, Max: e.EffMax,
		Used: *s.used(i), Reserved: s.Queue(i).Reserved,
	}
	if q.Parent >= 0 && s.cfg.Queues[q.Parent].ChildOrder == capacity.PriorityUtilization {
		out.Priority = q.Priority
	}
	if s.at.label != 0 {
		out.Reserved = s.labelUse(s.at.uses[i]).Reserved
	}
	if s.at.lends && out.Max.IsZero() {
		out.Max = s.at.total // a queue without the label may borrow its nodes
	}
	return out
}

// addPending adds to each leaf what its users want of the current partition, each within the user
// limit.
//
// Source: Hadoop 3.4.2, AbstractLeafQueue.getTotalPendingResourcesConsideringUserLimit.
func (s *Scheduler) addPending(queues []preempt.Queue) {
	type demand struct{ pending, lessReserved yarn.Resource }
	wanted := make([]demand, len(s.users)) // by slot of the user
	s.st.Apps.Each(func(_ uint32, a *state.App) bool {
		if a.Outstanding == 0 || !a.Activated() {
			return true
		}
		d, pending := &wanted[a.UserSlot], s.pendingOf(a)
		d.pending = d.pending.Add(pending)
		d.lessReserved = d.lessReserved.Add(yarn.ComponentMax(pending.Sub(s.reservedIn(a)), yarn.Resource{}))
		return true
	})
	for slot := range wanted {
		d := &wanted[slot]
		if d.pending.IsZero() {
			continue
		}
		leaf := s.users[slot].leaf
		room := yarn.ComponentMax(s.UserLimit(leaf, uint32(slot)).Sub(*s.userUsed(uint32(slot))), yarn.Resource{})
		q := &queues[leaf]
		q.Pending = q.Pending.Add(yarn.ComponentMin(room, d.pending))
		q.PendingLessReserved = q.PendingLessReserved.Add(yarn.ComponentMin(room, d.lessReserved))
	}
}

// pendingOf returns what an application asks of the current partition.
func (s *Scheduler) pendingOf(a *state.App) (pending yarn.Resource) {
	if len(s.partitions) == 1 {
		return a.Pending
	}
	for _, k := range s.st.AsksOf(a) {
		if k.Label == s.at.label {
			pending = pending.Add(k.Size.Times(k.Count))
		}
	}
	return pending
}
