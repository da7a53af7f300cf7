package preemption

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity/limits"
	"rmd/scheduler/capacity/order"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// leafApps is a leaf of a partition with its applications, in their order for preemption inside the
// leaf.
type leafApps struct {
	entitlement.Leaf
	apps  []state.AppSlot  // parallel to Leaf.Apps
	users []state.UserSlot // parallel to Leaf.Users
}

// leafOf returns a leaf. chosen returns what the round has already chosen from an
// application. awaited returns the size of an application's reservations that do not count as use of
// its user and of the leaf.
//
// Source: Hadoop 3.4.2, FifoIntraQueuePreemptionPlugin.createTempAppForResCalculation.
func leafOf(v *views.View, i int32, apps []state.AppSlot, toTake yarn.Resource, chosen,
	awaited func(app state.AppSlot) yarn.Resource) *leafApps {
	l := &leafApps{Leaf: entitlement.Leaf{Calculator: v.Config.Calculator, Cluster: v.State.Meta.Cluster,
		MinAlloc:   v.Config.MinAlloc,
		Guaranteed: v.At.Tree.Capacities[i].EffMin, Used: *v.Used(i), AMUsed: v.AMUsed(i), ToTake: toTake},
		apps: slices.Clone(apps)}
	sortApps(v, i, l.apps)
	places := map[state.UserSlot]int{} // in l.users
	for _, slot := range l.apps {
		a := v.State.Apps.Get(slot)
		user, ok := places[a.UserSlot]
		if !ok {
			user = len(l.users)
			places[a.UserSlot] = user
			l.users = append(l.users, a.UserSlot)
			l.Users = append(l.Users, entitlement.LeafUser{Used: *v.UserUsed(a.UserSlot), AMUsed: userAMUsed(v, a.UserSlot)})
		}
		used, am := usedOf(v, a)
		less := awaited(slot)
		l.Used, l.Users[user].Used = l.Used.Sub(less), l.Users[user].Used.Sub(less)
		l.Apps = append(l.Apps, entitlement.LeafApp{User: user, Priority: a.Priority, Used: used, AMUsed: am,
			Pending: pendingOf(v, a), Chosen: chosen(slot)})
	}
	limit := limitOfAllUsers(v, i, l)
	for k := range l.Users {
		l.Users[k].Limit = v.Weighted(limit, l.users[k])
	}
	return l
}

// nothing is the awaited function with which every reservation counts as use.
func nothing(state.AppSlot) (none yarn.Resource) { return none }

// appsOfLeaves returns the applications of each leaf that are activated or wait for activation.
func appsOfLeaves(s *views.Views) [][]state.AppSlot {
	apps := make([][]state.AppSlot, len(s.Config.Queues))
	s.State.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		if v := &s.Apps[slot]; v.Activated || v.Pending {
			apps[v.Leaf] = append(apps[v.Leaf], slot)
		}
		return true
	})
	return apps
}

// usesEnough reports whether a leaf uses enough of its guarantee for preemption inside it.
func usesEnough(v *views.View, leaf int32, set *entitlement.Settings) bool {
	const one = 1 << 32
	return v.UseRatio(leaf) >= uint64(set.Intra.MinThreshold.MulFloor(one))
}

// sortApps sorts applications by priority, highest first, and then by age. In a leaf with
// fair order and userlimit_first, applications of users that use less come first.
//
// Source: Hadoop 3.4.2, IntraQueueCandidatesSelector, TAPriorityComparator and TAFairOrderingComparator.
func sortApps(v *views.View, i int32, apps []state.AppSlot) {
	fair := v.Config.Queues[i].LeafOrder == order.Fair && v.Config.Preemption.Intra.Order == entitlement.UserLimitFirst
	first := map[state.UserSlot]uint32{} // by user: its oldest application, for users with equal usage
	for _, slot := range apps {
		a := v.State.Apps.Get(slot)
		if seq, ok := first[a.UserSlot]; !ok || a.ID.Seq < seq {
			first[a.UserSlot] = a.ID.Seq
		}
	}
	slices.SortFunc(apps, func(a, b state.AppSlot) int {
		x, y := v.State.Apps.Get(a), v.State.Apps.Get(b)
		switch {
		case !fair:
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(x.ID.Seq, y.ID.Seq))
		case x.UserSlot != y.UserSlot:
			used := func(user state.UserSlot) yarn.Resource { return v.UserUsed(user).Sub(userAMUsed(v, user)) }
			return cmp.Or(v.Config.Calculator.Compare(v.State.Meta.Cluster, used(x.UserSlot), used(y.UserSlot)),
				cmp.Compare(first[x.UserSlot], first[y.UserSlot]))
		case v.Apps[a].Key.Less(v.Apps[b].Key):
			return -1
		}
		return 1
	})
}

// limitOfAllUsers returns the limit of a user of a leaf, computed as if all users of the leaf were
// active.
func limitOfAllUsers(v *views.View, i int32, l *leafApps) yarn.Resource {
	in := v.UserLimitInput(i)
	in.ActiveUsed = in.ActiveUsed.Sub(v.Used(i).Sub(l.Used)) // a user who waits for a reservation is active
	for k, slot := range l.users {
		if used := *v.UserUsed(slot); used != l.Users[k].Used {
			part := func(used yarn.Resource) yarn.Resource {
				return limits.DominantPart(v.Config.Calculator, v.At.Total, used)
			}
			in.DominantUsed = in.DominantUsed.Sub(part(used)).Add(part(l.Users[k].Used))
		}
	}
	in.AllUsers, in.AllWeight = true, yarn.Fraction{Num: 0, Den: 1}
	for slot := range v.Users {
		if u := &v.Users[slot]; u.Known && u.Leaf == i {
			in.AllWeight = views.AddFraction(in.AllWeight, u.Weight, 1)
		}
	}
	in.AllWeight = views.AtLeastOne(in.AllWeight)
	return limits.UserLimit(in)
}

// userAMUsed returns the use of a user's AMs.
func userAMUsed(v *views.View, user state.UserSlot) yarn.Resource {
	if v.At.Label != 0 {
		return v.LabelUse(v.At.Users[user].Use).AMUsed
	}
	return v.State.Users.Get(user).AMUsed
}

// usedOf returns the use of an application, and the part of its AM. A reservation is not use of the
// application, because its ask is still pending.
func usedOf(v *views.View, a *state.App) (used, am yarn.Resource) {
	for _, c := range v.State.Containers.Of(a) {
		if !c.State.Live() || v.State.Nodes.Get(c.Node).Label != v.At.Label {
			continue
		}
		if used = used.Add(c.Size); c.AM {
			am = am.Add(c.Size)
		}
	}
	return used, am
}
