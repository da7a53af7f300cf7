package client

import (
	"context"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// queueInfo returns a queue. As in YARN, the answer for an unknown or ambiguous name is empty and
// not an error.
func (s *Service) queueInfo(ctx context.Context, c *ipc.Call,
	req *proto.GetQueueInfoRequestProto) (*proto.GetQueueInfoResponseProto, error) {
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &proto.GetQueueInfoResponseProto{}
	slot := s.cfg.Queues.Find(v.st, req.GetQueueName())
	if slot == 0 {
		return out, nil
	}
	out.QueueInfo = v.queueTree(slot, v.queueSums(), req.GetIncludeChildQueues(), req.GetRecursive())
	if req.GetIncludeApplications() {
		out.QueueInfo.Applications = v.queueApps(req.GetQueueName())
	}
	return out, nil
}

// queueApps returns the applications that are scheduled in a queue or below it and that the caller
// may view.
func (v *view) queueApps(name string) []*proto.ApplicationReportProto {
	f := &filter{queues: v.queueFilter([]string{name}), started: always, ended: always}
	var out []*proto.ApplicationReportProto
	for _, slot := range v.pick(f) {
		if a := v.st.Apps.Get(slot); scheduled(a) && v.hasRight(a, viewApp) {
			out = append(out, v.report(a, true))
		}
	}
	return out
}

// queueTree returns a queue, with its children if children is true, and with all descendants if
// recursive is true as well.
func (v *view) queueTree(slot state.QueueSlot, sums map[state.QueueSlot]*queueSum, children,
	recursive bool) *proto.QueueInfoProto {
	p := v.queueProto(slot, sums[slot])
	if children {
		for _, child := range v.st.Queues.Get(slot).Children {
			p.ChildQueues = append(p.ChildQueues, v.queueTree(child, sums, recursive, recursive))
		}
	}
	return p
}

func (v *view) queueProto(slot state.QueueSlot, sum *queueSum) *proto.QueueInfoProto {
	q, conf := v.st.Queues.Get(slot), v.queue(slot)
	return &proto.QueueInfoProto{
		SchedulerType:                new("CapacityScheduler"),
		QueueName:                    new(q.Name),
		QueuePath:                    new(q.Path),
		AccessibleNodeLabels:         conf.Accessible,
		DefaultNodeLabelExpression:   wire.Optional(conf.DefaultLabel),
		Capacity:                     new(conf.Capacity),
		MaximumCapacity:              new(conf.MaxCapacity),
		CurrentCapacity:              new(conf.UsedCapacity),
		State:                        wire.QueueStateProto(q.State).Enum(),
		QueueStatistics:              v.queueStatistics(q, conf, sum),
		PreemptionDisabled:           new(conf.PreemptionDisabled),
		IntraQueuePreemptionDisabled: new(conf.IntraQueueDisabled),
		Weight:                       new(conf.Weight),
		MaxParallelApps:              new(conf.MaxParallelApps),
		QueueConfigurationsMap:       v.partitions(&conf.Queue),
	}
}

// partitions returns the queue's shares of the nodes of each label.
func (v *view) partitions(q *Queue) []*proto.QueueConfigurationsMapProto {
	size := func(r yarn.Resource) *proto.ResourceProto { return wire.ResourceProto(r, v.kinds) }
	out := make([]*proto.QueueConfigurationsMapProto, 0, 1+len(q.Labels))
	for _, p := range append([]Partition{q.Partition}, q.Labels...) {
		out = append(out, &proto.QueueConfigurationsMapProto{PartitionName: new(p.Label),
			QueueConfigurations: &proto.QueueConfigurationsProto{
				Capacity: new(p.Capacity), AbsoluteCapacity: new(p.AbsoluteCapacity),
				MaxCapacity: new(p.MaxCapacity), AbsoluteMaxCapacity: new(p.AbsoluteMax), MaxAMPercentage: new(p.MaxAMShare),
				EffectiveMinCapacity: size(p.EffectiveMin), EffectiveMaxCapacity: size(p.EffectiveMax),
				ConfiguredMinCapacity: size(p.ConfiguredMin), ConfiguredMaxCapacity: size(p.ConfiguredMax),
			}})
	}
	return out
}

// partition returns the queue's share of the nodes with a label.
func (q *Queue) partition(label string) *Partition {
	for i := range q.Labels {
		if q.Labels[i].Label == label {
			return &q.Labels[i]
		}
	}
	if label != "" {
		return &Partition{Label: label}
	}
	return &q.Partition
}

// queueSum has the sums over the applications of a subtree.
type queueSum struct {
	submitted, running, pending, completed, killed, failed int64
	outstanding, reserving, users                          int64
}

func (s *queueSum) add(o *queueSum) {
	s.submitted += o.submitted
	s.running += o.running
	s.pending += o.pending
	s.completed += o.completed
	s.killed += o.killed
	s.failed += o.failed
	s.outstanding += o.outstanding
	s.reserving += o.reserving
	s.users += o.users
}

func (s *queueSum) count(a *state.App) {
	s.submitted++
	switch a.State {
	case yarn.AppFinished:
		s.completed++
		return
	case yarn.AppKilled:
		s.killed++
		return
	case yarn.AppFailed:
		s.failed++
		return
	}
	s.outstanding += a.Outstanding
	s.reserving += int64(a.Reserving)
	if a.AttemptState >= state.AttemptActive && a.AttemptState <= state.AttemptFinishing {
		s.running++
	} else {
		s.pending++
	}
}

func (s *queueSum) addGone(g *state.EndedApps) {
	s.submitted += int64(g.Sum())
	s.completed += int64(g.Of(yarn.AppFinished))
	s.failed += int64(g.Of(yarn.AppFailed))
	s.killed += int64(g.Of(yarn.AppKilled))
}

// queueSums counts the applications of every queue since it was created.
func (v *view) queueSums() map[state.QueueSlot]*queueSum {
	sums := map[state.QueueSlot]*queueSum{}
	v.st.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
		sums[slot] = &queueSum{users: int64(q.ActiveUsers)}
		return true
	})
	v.st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if s := sums[a.Queue]; s != nil {
			s.count(a)
		}
		return true
	})
	if root := v.st.Queues.Root(); root != 0 {
		v.sumUp(root, sums)
	}
	for slot, s := range sums {
		s.addGone(&v.st.Queues.Get(slot).Totals.Gone)
	}
	return sums
}

func (v *view) sumUp(slot state.QueueSlot, sums map[state.QueueSlot]*queueSum) {
	for _, child := range v.st.Queues.Get(slot).Children {
		v.sumUp(child, sums)
		sums[slot].add(sums[child])
	}
}

// queueStatistics returns the numbers of YARN's queue metrics.
func (v *view) queueStatistics(q *state.Queue, conf *queue, s *queueSum) *proto.QueueStatisticsProto {
	used := q.Used.Sub(q.Reserved)
	free := yarn.ComponentMax(conf.EffectiveMin.Sub(q.Used), yarn.Resource{})
	if v.calc.Compare(v.st.Meta.Cluster, conf.EffectiveMin, q.Used) <= 0 {
		free = yarn.Resource{}
	}
	return &proto.QueueStatisticsProto{
		NumAppsSubmitted: new(s.submitted), NumAppsRunning: new(s.running), NumAppsPending: new(s.pending),
		NumAppsCompleted: new(s.completed), NumAppsKilled: new(s.killed), NumAppsFailed: new(s.failed),
		NumActiveUsers:    new(s.users),
		AvailableMemoryMB: new(free[yarn.Memory]), AllocatedMemoryMB: new(used[yarn.Memory]),
		PendingMemoryMB: new(q.Pending[yarn.Memory]), ReservedMemoryMB: new(q.Reserved[yarn.Memory]),
		AvailableVCores: new(free[yarn.VCores]), AllocatedVCores: new(used[yarn.VCores]),
		PendingVCores: new(q.Pending[yarn.VCores]), ReservedVCores: new(q.Reserved[yarn.VCores]),
		AllocatedContainers: new(q.Containers - s.reserving), PendingContainers: new(s.outstanding),
		ReservedContainers: new(s.reserving),
	}
}

// queueUserACLs returns the caller's rights in each queue, parents first.
func (s *Service) queueUserACLs(ctx context.Context, c *ipc.Call,
	_ *proto.GetQueueUserAclsInfoRequestProto) (*proto.GetQueueUserAclsInfoResponseProto, error) {
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &proto.GetQueueUserAclsInfoResponseProto{}
	groups := s.cfg.Access.Groups(v.user)
	var walk func(slot state.QueueSlot)
	walk = func(slot state.QueueSlot) {
		q := v.st.Queues.Get(slot)
		p := &proto.QueueUserACLInfoProto{QueueName: new(q.Path)}
		submit, administer := s.cfg.Queues.May(v.st, slot, v.user, groups)
		if submit {
			p.UserAcls = append(p.UserAcls, proto.QueueACLProto_QACL_SUBMIT_APPLICATIONS)
		}
		if administer {
			p.UserAcls = append(p.UserAcls, proto.QueueACLProto_QACL_ADMINISTER_QUEUE)
		}
		out.QueueUserAcls = append(out.QueueUserAcls, p)
		for _, child := range q.Children {
			walk(child)
		}
	}
	if root := v.st.Queues.Root(); root != 0 {
		walk(root)
	}
	return out, nil
}
