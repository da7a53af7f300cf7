package views

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/limits"
	"rmd/yarn"
)

// QueueLimit compares the current use of a queue with its limit. It is YARN's canAssignToThisQueue.
func (v *View) QueueLimit(i int32, limit, unreservable yarn.Resource) (bool, yarn.Resource) {
	return limits.QueueLimit(limits.QueueLimitInput{
		Calculator:      v.Config.Calculator,
		Total:           v.State.Meta.Cluster,
		Label:           v.At.Total,
		EffMax:          v.At.Tree.Capacities[i].EffMax,
		Limit:           limit,
		Used:            v.UsedNow(i, nil),
		Unreservable:    unreservable,
		ContinueLooking: v.Config.ContinueLooking,
		IgnoreExclusive: v.Lending,
	})
}

// Unreservable returns what the applications below a queue with children could give up when the
// queue is at its limit. In YARN this comes from metrics that name only memory and vcores, so a queue
// that uses too many GPUs stays closed even if some of them are reserved.
func (v *View) Unreservable(i int32) yarn.Resource {
	reserved := v.ReservedOf(i)
	return yarn.NewResource(reserved[yarn.Memory], reserved[yarn.VCores])
}

// UsedNow returns the use of a queue as a pass counts it, after the pass has given up the
// reservation released; nil: none. In YARN this is the size of the queue's containers and
// reservations. But room that a container uses and a reservation waits for must not count twice, so
// some reservations do not count:
//
//   - With backfill, a queue that may use all nodes counts no reservations, because only the nodes
//     limit it. And in a pass that lends the room of a reservation, the reservation's queues do not
//     count the reservation.
//   - Without, a queue that may use all nodes does not count reservations that wait for warned
//     containers. Otherwise they would keep the free room of other nodes from every application.
func (v *View) UsedNow(i int32, released *state.Reservation) yarn.Resource {
	used := *v.Used(i)
	backfills := v.Backfills && (v.Loan.Lends() || v.Config.Queues[i].Backfill != capacity.BackfillOff)
	switch {
	case backfills && v.MayUseAllNodes(i):
		return used.Sub(v.ReservedOf(i))
	case v.Loan.Lends() && v.Holds(i, v.Loan.Leaf):
		used = used.Sub(v.Loan.Size)
	case v.State.Preemptions.Len() > 0 && v.MayUseAllNodes(i):
		used = used.Sub(v.awaitingPreemption(i))
		if released != nil && v.awaits(released) {
			return used
		}
	}
	return Without(used, released)
}

// Without returns what remains of a use without a reservation; nil: none.
func Without(used yarn.Resource, r *state.Reservation) yarn.Resource {
	if r == nil {
		return used
	}
	return used.Sub(r.Size)
}

// Maximum returns the most that a queue may use. Only the nodes limit asks to which they are lent.
func (v *View) Maximum(i int32) *yarn.Resource {
	if v.Lending {
		return &v.At.Total
	}
	return &v.At.Tree.Capacities[i].EffMax
}

// FullQueue returns the first queue, from a leaf up, whose maximum has no room for a size beside what
// used says is in use there; -1 if each has. Every question about the maxima of queues comes here;
// who asks it says what counts as used.
func (v *View) FullQueue(leaf int32, size yarn.Resource, used func(i int32) yarn.Resource) int32 {
	for i := leaf; i >= 0; i = v.Queues[i].Parent {
		if !v.Config.Calculator.FitsIn(used(i).Add(size), *v.Maximum(i)) {
			return i
		}
	}
	return -1
}

// Nothing counts nothing as used: FullQueue then asks what a queue could ever have.
func Nothing(int32) (none yarn.Resource) { return none }

// MayUseAllNodes reports whether the maximum of a queue is the whole partition, as root's is. Then
// only the room on the nodes limits it.
func (v *View) MayUseAllNodes(i int32) bool {
	return v.Config.Calculator.FitsIn(v.At.Total, v.At.Tree.Capacities[i].EffMax)
}

// Holds reports whether a leaf is queue i or below it.
func (s *Views) Holds(i, leaf int32) bool {
	for ; leaf >= 0; leaf = s.Queues[leaf].Parent {
		if leaf == i {
			return true
		}
	}
	return false
}

// ChildLimit returns the limit of a child, given the limit of its parent and the room that blocked
// children keep.
func (v *View) ChildLimit(parent, child int32, limit, blocked yarn.Resource) yarn.Resource {
	return limits.ChildLimit(limits.ChildLimitInput{
		Calculator: v.Config.Calculator,
		Total:      v.State.Meta.Cluster,
		Limit:      limit,
		EffMax:     v.At.Tree.Capacities[parent].EffMax,
		Blocked:    blocked,
		Used:       v.UsedNow(parent, nil),
		ChildUsed:  *v.Used(child),
		MinAlloc:   v.Config.MinAlloc,
	})
}

// CurrentLimit returns the limit that the ancestors of a leaf would give it now, at most its own
// maximum. YARN uses the limit of the last pass. rmd computes the limit, so that a new leader
// decides alike.
func (v *View) CurrentLimit(leaf int32) yarn.Resource {
	own := v.Config.Calculator.RoundDown(v.At.Tree.Capacities[leaf].EffMax, v.Config.MinAlloc)
	return v.Config.Calculator.Min(v.State.Meta.Cluster, own, v.handed(leaf))
}

// handed returns the limit that the ancestors of a queue give it if no sibling keeps room from it.
func (v *View) handed(i int32) yarn.Resource {
	parent := v.Queues[i].Parent
	if parent < 0 {
		return v.At.Total
	}
	return v.ChildLimit(parent, i, v.handed(parent), yarn.Resource{})
}

// UserCheck is YARN's canAssignToUser. A user exactly at the limit may still get a container.
func (v *View) UserCheck(i int32, a *state.App) (bool, yarn.Resource) {
	return limits.UserCheck(limits.UserCheckInput{
		Calculator:      v.Config.Calculator,
		Total:           v.State.Meta.Cluster,
		Used:            *v.UserUsed(a.UserSlot),
		AppReserved:     v.ReservedIn(a),
		Limit:           v.UserLimit(i, a.UserSlot),
		ContinueLooking: v.Config.ContinueLooking,
	})
}

// UserLimit returns the limit of an active user of a leaf.
func (v *View) UserLimit(i int32, user state.UserSlot) yarn.Resource {
	users := v.UserLimits(&v.At.Queues[i])
	if changes := v.Queues[i].Changes; users.known != changes {
		users.limit = limits.UserLimit(v.UserLimitInput(i))
		users.known = changes
	}
	return v.Weighted(users.limit, user)
}

// UserLimitInput returns the data from which the limit of a leaf's users is computed.
func (v *View) UserLimitInput(i int32) limits.UserLimitInput {
	q, e, activeUsed := &v.Config.Queues[i], &v.At.Tree.Capacities[i], v.Queue(i).ActiveUsed
	if v.At.Label != 0 {
		activeUsed = v.LabelUse(v.At.Uses[i]).ActiveUsed
	}
	return limits.UserLimitInput{
		Calculator: v.Config.Calculator, Label: v.At.Total, MinAlloc: v.Config.MinAlloc,
		EffMin: e.EffMin, EffMax: e.EffMax,
		DominantUsed: v.At.Queues[i].dominantUsed, ActiveUsed: activeUsed, ActiveWeight: AtLeastOne(v.Queues[i].activeWeight),
		MinUserLimit: q.MinUserLimitPercent, UserLimitFactor: q.UserLimitFactor, UserLimitOff: q.UserLimitOff,
		IgnoreExclusive: v.Lending,
	}
}

// Weighted returns the limit of a user, given the limit of a user of weight 1.
func (s *Views) Weighted(limit yarn.Resource, user state.UserSlot) yarn.Resource {
	w := s.Users[user].Weight
	if w == yarn.One {
		return limit
	}
	return limits.WeightedUserLimit(s.Config.Calculator, limit, w, s.Config.MinAlloc)
}

// AtLeastOne returns 1 if a sum of weights is 0, and otherwise the sum.
func AtLeastOne(w yarn.Fraction) yarn.Fraction {
	if w.Num <= 0 {
		return yarn.One
	}
	return w
}

// Headroom returns what an application may still get, as its AM sees it: the sum over the
// partitions of its AM and of its asks. It is never negative, not even if the cluster has become
// smaller than its use.
//
// Source: Hadoop 3.4.2, CapacityHeadroomProvider.getHeadroom, which also counts partitions of asks
// that no longer exist.
func (s *Views) Headroom(slot state.AppSlot) yarn.Resource {
	s.RefreshCapacities()
	a := s.State.Apps.Get(slot)
	if len(s.Partitions) == 1 {
		v := s.On(s.Partitions[0])
		return v.headroomHere(a)
	}
	var room yarn.Resource
	for _, p := range s.Partitions {
		master := p.Label == a.AMLabel && (!a.Unmanaged || a.Outstanding == 0)
		if master || s.asksFor(a, p.Label) {
			v := s.On(p)
			room = room.Add(v.headroomHere(a))
		}
	}
	return room
}

// headroomHere returns what an application may still get on these nodes.
func (v *View) headroomHere(a *state.App) yarn.Resource {
	i := v.LeafOf(a)
	limit := v.At.Tree.Capacities[i].EffMax
	if v.At.Label == 0 { // for a label, YARN uses only the maximum of the queue itself
		limit = v.CurrentLimit(i)
	}
	room := limits.Headroom(limits.HeadroomInput{
		Calculator: v.Config.Calculator, Total: v.At.Total, MinAlloc: v.Config.MinAlloc,
		UserLimit: v.UserLimit(i, a.UserSlot), UserUsed: *v.UserUsed(a.UserSlot),
		QueueLimit: limit, QueueUsed: *v.Used(i),
		RootUsed: *v.Used(0),
	})
	return yarn.ComponentMax(room, yarn.Resource{})
}

// ClusterNodes returns the number of nodes of the cluster as an application's AM sees it. If the
// application's queue has a default label, only the nodes of that label count.
func (s *Views) ClusterNodes(a *state.App) uint32 {
	name := s.Config.Queues[s.LeafOf(a)].DefaultLabel
	if name == "" {
		return uint32(s.State.Meta.UsableNodes)
	}
	if label := s.State.Labels.Find(name); label != 0 {
		return uint32(s.State.Labels.Get(label).Nodes)
	}
	return 0 // as in YARN
}

// WithinUserLimit reports whether an application's user may get more in its leaf.
func (v *View) WithinUserLimit(app state.AppSlot) bool {
	a := v.State.Apps.Get(app)
	ok, _ := v.UserCheck(v.LeafOf(a), a)
	return ok
}
