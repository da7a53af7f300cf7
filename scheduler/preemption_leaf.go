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
	apps  []state.AppSlot  // parallel to Leaf.Apps
	users []state.UserSlot // parallel to Leaf.Users
}

// leafForPreemption returns a leaf. chosen returns what the round has
// already chosen from an application. awaited returns the size of an application's reservations
// that do not count as use of its user and of the leaf.
//
// Source: Hadoop 3.4.2, FifoIntraQueuePreemptionPlugin.createTempAppForResCalculation.
func (v *View) leafForPreemption(i int32, apps []state.AppSlot, toTake yarn.Resource, chosen, awaited func(app state.AppSlot) yarn.Resource) *leafApps {
	l := &leafApps{Leaf: preempt.Leaf{Calculator: v.cfg.Calculator, Cluster: v.st.Meta.Cluster, MinAlloc: v.cfg.MinAlloc,
		Guaranteed: v.at.tree.Capacities[i].EffMin, Used: *v.used(i), AMUsed: v.amUsed(i), ToTake: toTake}, apps: slices.Clone(apps)}
	v.sortForPreemption(i, l.apps)
	places := map[state.UserSlot]int{} // in l.users
	for _, slot := range l.apps {
		a := v.st.Apps.Get(slot)
		user, ok := places[a.UserSlot]
		if !ok {
			user = len(l.users)
			places[a.UserSlot] = user
			l.users = append(l.users, a.UserSlot)
			l.Users = append(l.Users, preempt.LeafUser{Used: *v.userUsed(a.UserSlot), AMUsed: v.userAMUsed(a.UserSlot)})
		}
		used, am := v.usedOf(a)
		less := awaited(slot)
		l.Used, l.Users[user].Used = l.Used.Sub(less), l.Users[user].Used.Sub(less)
		l.Apps = append(l.Apps, preempt.LeafApp{User: user, Priority: a.Priority, Used: used, AMUsed: am, Pending: v.pendingOf(a), Chosen: chosen(slot)})
	}
	limit := v.limitOfAllUsers(i, l)
	for k := range l.Users {
		l.Users[k].Limit = v.weighted(limit, l.users[k])
	}
	return l
}

// nothing is the awaited function with which every reservation counts as use.
func nothing(state.AppSlot) (none yarn.Resource) { return none }

// appsOfLeaves returns the applications of each leaf that are activated or wait for activation.
func (s *Scheduler) appsOfLeaves() [][]state.AppSlot {
	apps := make([][]state.AppSlot, len(s.cfg.Queues))
	s.st.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		if v := &s.apps[slot]; v.activated || v.pending {
			apps[v.leaf] = append(apps[v.leaf], slot)
		}
		return true
	})
	return apps
}

// usesEnough reports whether a leaf uses enough of its guarantee for preemption inside it.
func (v *View) usesEnough(leaf int32, set *preempt.Settings) bool {
	const one = 1 << 32
	return v.UseRatio(leaf) >= uint64(set.Intra.MinThreshold.MulFloor(one))
}

// sortForPreemption sorts applications by priority, highest first, and then by age. In a leaf with
// fair order and userlimit_first, applications of users that use less come first.
//
// Source: Hadoop 3.4.2, IntraQueueCandidatesSelector, TAPriorityComparator and TAFairOrderingComparator.
func (v *View) sortForPreemption(i int32, apps []state.AppSlot) {
	fair := v.cfg.Queues[i].LeafOrder == capacity.Fair && v.cfg.Preemption.Intra.Order == preempt.UserLimitFirst
	first := map[state.UserSlot]uint32{} // by user: its oldest application, for users with equal usage
	for _, slot := range apps {
		a := v.st.Apps.Get(slot)
		if seq, ok := first[a.UserSlot]; !ok || a.ID.Seq < seq {
			first[a.UserSlot] = a.ID.Seq
		}
	}
	slices.SortFunc(apps, func(a, b state.AppSlot) int {
		x, y := v.st.Apps.Get(a), v.st.Apps.Get(b)
		switch {
		case !fair:
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(x.ID.Seq, y.ID.Seq))
		case x.UserSlot != y.UserSlot:
			used := func(user state.UserSlot) yarn.Resource { return v.userUsed(user).Sub(v.userAMUsed(user)) }
			return cmp.Or(v.cfg.Calculator.Compare(v.st.Meta.Cluster, used(x.UserSlot), used(y.UserSlot)), cmp.Compare(first[x.UserSlot], first[y.UserSlot]))
		case v.apps[a].key.less(v.apps[b].key):
			return -1
		}
		return 1
	})
}

// limitOfAllUsers returns the limit of a user of a leaf, computed as if
// all users of the leaf were active.
func (v *View) limitOfAllUsers(i int32, l *leafApps) yarn.Resource {
	in := v.userLimitInput(i)
	in.ActiveUsed = in.ActiveUsed.Sub(v.used(i).Sub(l.Used)) // a user who waits for a reservation is active
	for k, slot := range l.users {
		if used := *v.userUsed(slot); used != l.Users[k].Used {
			part := func(used yarn.Resource) yarn.Resource {
				return capacity.DominantPart(v.cfg.Calculator, v.at.total, used)
			}
			in.DominantUsed = in.DominantUsed.Sub(part(used)).Add(part(l.Users[k].Used))
		}
	}
	in.AllUsers, in.AllWeight = true, yarn.Fraction{Num: 0, Den: 1}
	for slot := range v.users {
		if u := &v.users[slot]; u.known && u.leaf == i {
			in.AllWeight = addFraction(in.AllWeight, u.weight, 1)
		}
	}
	in.AllWeight = atLeastOne(in.AllWeight)
	return capacity.UserLimit(in)
}

// userAMUsed returns the use of a user's AMs.
func (v *View) userAMUsed(user state.UserSlot) yarn.Resource {
	if v.at.label != 0 {
		return v.labelUse(v.at.users[user].use).AMUsed
	}
	return v.st.Users.Get(user).AMUsed
}

// usedOf returns the use of an application, and the part of its AM. A
// reservation is not use of the application, because its ask is still pending.
func (v *View) usedOf(a *state.App) (used, am yarn.Resource) {
	for _, c := range v.st.Containers.Of(a) {
		if !c.State.Live() || v.st.Nodes.Get(c.Node).Label != v.at.label {
			continue
		}
		if used = used.Add(c.Size); c.AM {
			am = am.Add(c.Size)
		}
	}
	return used, am
}
