package scheduler

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/preempt"
	"rmd/yarn"
)

// leafApps is a leaf of a partition with its applications, in their order for preemption inside the
// leaf.
type leafApps struct {
	preempt.Leaf
	apps  []uint32 // parallel to Leaf.Apps
	users []uint32 // parallel to Leaf.Users
}

// leafForPreemption returns a leaf of the current partition. chosen returns what the round has
// already chosen from an application. awaited returns the size of an application's reservations
// that do not count as use of its user and of the leaf.
//
// Source: Hadoop 3.4.2, FifoIntraQueuePreemptionPlugin.createTempAppForResCalculation.
func (s *Scheduler) leafForPreemption(i int32, apps []uint32, toTake yarn.Resource, chosen, awaited func(app uint32) yarn.Resource) *leafApps {
	l := &leafApps{Leaf: preempt.Leaf{Calculator: s.cfg.Calculator, Cluster: s.st.Meta.Cluster, MinAlloc: s.cfg.MinAlloc,
		Guaranteed: s.at.tree.Capacities[i].EffMin, Used: *s.used(i), AMUsed: s.amUsed(i), ToTake: toTake}, apps: slices.Clone(apps)}
	s.sortForPreemption(i, l.apps)
	places := map[uint32]int{} // in l.users
	for _, slot := range l.apps {
		a := s.st.Apps.Get(slot)
		user, ok := places[a.UserSlot]
		if !ok {
			user = len(l.users)
			places[a.UserSlot] = user
			l.users = append(l.users, a.UserSlot)
			l.Users = append(l.Users, preempt.LeafUser{Used: *s.userUsed(a.UserSlot), AMUsed: s.userAMUsed(a.UserSlot)})
		}
		used, am := s.usedOf(a)
		less := awaited(slot)
		l.Used, l.Users[user].Used = l.Used.Sub(less), l.Users[user].Used.Sub(less)
		l.Apps = append(l.Apps, preempt.LeafApp{User: user, Priority: a.Priority, Used: used, AMUsed: am, Pending: s.pendingOf(a), Chosen: chosen(slot)})
	}
	limit := s.limitOfAllUsers(i, l)
	for k := range l.Users {
		l.Users[k].Limit = s.weighted(limit, l.users[k])
	}
	return l
}

// nothing is the awaited function with which every reservation counts as use.
func nothing(uint32) (none yarn.Resource) { return none }

// appsOfLeaves returns the applications of each leaf that are activated or wait for activation.
func (s *Scheduler) appsOfLeaves() [][]uint32 {
	apps := make([][]uint32, len(s.cfg.Queues))
	s.st.Apps.Each(func(slot uint32, a *state.App) bool {
		if v := &s.apps[slot]; v.activated || v.pending {
			apps[v.leaf] = append(apps[v.leaf], slot)
		}
		return true
	})
	return apps
}

// usesEnough reports whether a leaf uses enough of its guarantee for preemption inside it.
func (s *Scheduler) usesEnough(leaf int32, set *preempt.Settings) bool {
	const one = 1 << 32
	return s.UseRatio(leaf) >= uint64(set.Intra.MinThreshold.MulFloor(one))
}

// sortForPreemption sorts applications by priority, highest first, and then by age. In a leaf with
// fair order and userlimit_first, applications of users that use less come first.
//
// Source: Hadoop 3.4.2, IntraQueueCandidatesSelector, TAPriorityComparator and TAFairOrderingComparator.
func (s *Scheduler) sortForPreemption(i int32, apps []uint32) {
	fair := s.cfg.Queues[i].LeafOrder == capacity.Fair && s.cfg.Preemption.Intra.Order == preempt.UserLimitFirst
	first := map[uint32]uint32{} // by user: its oldest application, for users with equal usage
	for _, slot := range apps {
		a := s.st.Apps.Get(slot)
		if seq, ok := first[a.UserSlot]; !ok || a.ID.Seq < seq {
			first[a.UserSlot] = a.ID.Seq
		}
	}
	slices.SortFunc(apps, func(a, b uint32) int {
		x, y := s.st.Apps.Get(a), s.st.Apps.Get(b)
		switch {
		case !fair:
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(x.ID.Seq, y.ID.Seq))
		case x.UserSlot != y.UserSlot:
			used := func(user uint32) yarn.Resource { return s.userUsed(user).Sub(s.userAMUsed(user)) }
			return cmp.Or(s.cfg.Calculator.Compare(s.st.Meta.Cluster, used(x.UserSlot), used(y.UserSlot)), cmp.Compare(first[x.UserSlot], first[y.UserSlot]))
		case s.apps[a].key.less(s.apps[b].key):
			return -1
		}
		return 1
	})
}

// limitOfAllUsers returns the limit of a user of a leaf in the current partition, computed as if
// all users of the leaf were active.
func (s *Scheduler) limitOfAllUsers(i int32, l *leafApps) yarn.Resource {
	in := s.userLimitInput(i)
	in.ActiveUsed = in.ActiveUsed.Sub(s.used(i).Sub(l.Used)) // a user who waits for a reservation is active
	for k, slot := range l.users {
		if used := *s.userUsed(slot); used != l.Users[k].Used {
			part := func(used yarn.Resource) yarn.Resource {
				return capacity.DominantPart(s.cfg.Calculator, s.at.total, used)
			}
			in.DominantUsed = in.DominantUsed.Sub(part(used)).Add(part(l.Users[k].Used))
		}
	}
	in.AllUsers, in.AllWeight = true, yarn.Fraction{Num: 0, Den: 1}
	for slot := range s.users {
		if u := &s.users[slot]; u.known && u.leaf == i {
			in.AllWeight = addFraction(in.AllWeight, u.weight, 1)
		}
	}
	in.AllWeight = atLeastOne(in.AllWeight)
	return capacity.UserLimit(in)
}

// userAMUsed returns the use of a user's AMs in the current partition.
func (s *Scheduler) userAMUsed(user uint32) yarn.Resource {
	if s.at.label != 0 {
		return s.labelUse(s.at.users[user].use).AMUsed
	}
	return s.st.Users.Get(user).AMUsed
}

// usedOf returns the use of an application in the current partition, and the part of its AM. A
// reservation is not use of the application, because its ask is still pending.
func (s *Scheduler) usedOf(a *state.App) (used, am yarn.Resource) {
	for _, c := range s.st.ContainersOf(a) {
		if !c.State.Live() || s.st.Nodes.Get(c.Node).Label != s.at.label {
			continue
		}
		if used = used.Add(c.Size); c.AM {
			am = am.Add(c.Size)
		}
	}
	return used, am
}
