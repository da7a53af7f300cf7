package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// queueLimit compares the current use of a queue with its limit. It is YARN's canAssignToThisQueue.
func (v *View) queueLimit(i int32, limit, unreservable yarn.Resource) (bool, yarn.Resource) {
	return capacity.QueueLimit(capacity.QueueLimitInput{
		Calculator:      v.cfg.Calculator,
		Total:           v.st.Meta.Cluster,
		Label:           v.at.total,
		EffMax:          v.at.tree.Capacities[i].EffMax,
		Limit:           limit,
		Used:            v.usedNow(i, nil),
		Unreservable:    unreservable,
		ContinueLooking: v.cfg.ContinueLooking,
		IgnoreExclusive: v.lending,
	})
}

// usedNow returns the use of a queue as a pass counts it, after the pass has given up the
// reservation released; nil: none. In YARN this is the size of the queue's containers and
// reservations. But room that a container uses and a reservation waits for must not count twice, so
// some reservations do not count:
//
//   - With backfill, a queue that may use all nodes counts no reservations, because only the nodes
//     limit it. And in a pass that lends the room of a reservation, the reservation's queues do not
//     count the reservation.
//   - Without, a queue that may use all nodes does not count reservations that wait for warned
//     containers. Otherwise they would keep the free room of other nodes from every application.
func (v *View) usedNow(i int32, released *state.Reservation) yarn.Resource {
	used := *v.used(i)
	backfills := v.backfills && (v.loan.lends() || v.cfg.Queues[i].Backfill != capacity.BackfillOff)
	switch {
	case backfills && v.mayUseAllNodes(i):
		return used.Sub(v.reservedOf(i))
	case v.loan.lends() && v.holds(i, v.loan.leaf):
		used = used.Sub(v.loan.size)
	case v.st.Preemptions.Len() > 0 && v.mayUseAllNodes(i):
		used = used.Sub(v.awaitingPreemption(i))
		if released != nil && v.awaits(released) {
			return used
		}
	}
	return used.Sub(sizeOf(released))
}

// sizeOf returns the size of a reservation; nil: nothing.
func sizeOf(r *state.Reservation) (none yarn.Resource) {
	if r == nil {
		return none
	}
	return r.Size
}

// maximum returns the most that a queue may use. Only the nodes limit asks to which they are lent.
func (v *View) maximum(i int32) *yarn.Resource {
	if v.lending {
		return &v.at.total
	}
	return &v.at.tree.Capacities[i].EffMax
}

// mayUseAllNodes reports whether the maximum of a queue is the whole partition, as root's is. Then
// only the room on the nodes limits it.
func (v *View) mayUseAllNodes(i int32) bool {
	return v.cfg.Calculator.FitsIn(v.at.total, v.at.tree.Capacities[i].EffMax)
}

// holds reports whether a leaf is queue i or below it.
func (s *Scheduler) holds(i, leaf int32) bool {
	for ; leaf >= 0; leaf = s.queues[leaf].parent {
		if leaf == i {
			return true
		}
	}
	return false
}

func (v *View) childLimit(parent, child int32, l *Limits) yarn.Resource {
	return capacity.ChildLimit(capacity.ChildLimitInput{
		Calculator: v.cfg.Calculator,
		Total:      v.st.Meta.Cluster,
		Limit:      l.limit,
		EffMax:     v.at.tree.Capacities[parent].EffMax,
		Blocked:    l.blocked,
		Used:       v.usedNow(parent, nil),
		ChildUsed:  *v.used(child),
		MinAlloc:   v.cfg.MinAlloc,
	})
}

// currentLimit returns the limit that the ancestors of a queue would give it now, at most its own
// maximum. YARN uses the limit of the last pass. rmd computes the limit, so that a new leader
// decides alike.
func (v *View) currentLimit(i int32) yarn.Resource {
	own := v.cfg.Calculator.RoundDown(v.at.tree.Capacities[i].EffMax, v.cfg.MinAlloc)
	parent := v.queues[i].parent
	if parent < 0 {
		return own
	}
	handed := v.childLimit(parent, i, &Limits{limit: v.currentLimit(parent)})
	return v.cfg.Calculator.Min(v.st.Meta.Cluster, own, handed)
}

// withinHeadroom reports whether a container fits into the headroom of the queue plus the
// application's reservations.
func (v *View) withinHeadroom(a *state.App, k *state.Ask, l *Limits) bool {
	room := l.headroom
	if v.cfg.ContinueLooking {
		room = room.Add(v.reservedIn(a))
	}
	return v.cfg.Calculator.FitsIn(k.Size, room)
}

// userCheck is YARN's canAssignToUser. A user exactly at the limit may still get a container.
func (v *View) userCheck(i int32, a *state.App) (bool, yarn.Resource) {
	return capacity.UserCheck(capacity.UserCheckInput{
		Calculator:      v.cfg.Calculator,
		Total:           v.st.Meta.Cluster,
		Used:            *v.userUsed(a.UserSlot),
		AppReserved:     v.reservedIn(a),
		Limit:           v.UserLimit(i, a.UserSlot),
		ContinueLooking: v.cfg.ContinueLooking,
	})
}

// UserLimit returns the limit of an active user of a leaf.
func (v *View) UserLimit(i int32, user state.UserSlot) yarn.Resource {
	users := v.userLimits(&v.at.queues[i])
	if changes := v.queues[i].changes; users.known != changes {
		users.limit = capacity.UserLimit(v.userLimitInput(i))
		users.known = changes
	}
	return v.weighted(users.limit, user)
}

// userLimitInput returns the data from which the limit of a leaf's users is computed.
func (v *View) userLimitInput(i int32) capacity.UserLimitInput {
	q, e, activeUsed := &v.cfg.Queues[i], &v.at.tree.Capacities[i], v.Queue(i).ActiveUsed
	if v.at.label != 0 {
		activeUsed = v.labelUse(v.at.uses[i]).ActiveUsed
	}
	return capacity.UserLimitInput{
		Calculator: v.cfg.Calculator, Label: v.at.total, MinAlloc: v.cfg.MinAlloc,
		EffMin: e.EffMin, EffMax: e.EffMax,
		DominantUsed: v.at.queues[i].dominantUsed, ActiveUsed: activeUsed, ActiveWeight: atLeastOne(v.queues[i].activeWeight),
		MinUserLimit: q.MinUserLimitPercent, UserLimitFactor: q.UserLimitFactor, UserLimitOff: q.UserLimitOff,
		IgnoreExclusive: v.lending,
	}
}

// weighted returns the limit of a user, given the limit of a user of weight 1.
func (s *Scheduler) weighted(limit yarn.Resource, user state.UserSlot) yarn.Resource {
	w := s.users[user].weight
	if w == yarn.One {
		return limit
	}
	return capacity.WeightedUserLimit(s.cfg.Calculator, limit, w, s.cfg.MinAlloc)
}

// atLeastOne returns 1 if a sum of weights is 0, and otherwise the sum.
func atLeastOne(w yarn.Fraction) yarn.Fraction {
	if w.Num <= 0 {
		return yarn.One
	}
	return w
}

// limitOn checks a decision against the user limit and the maxima of the leaf and its ancestors. It
// returns NoReason if they allow it.
func (v *View) limitOn(d *decision, released *state.Reservation) Reason {
	a, calc := v.st.Apps.Get(d.app), v.cfg.Calculator
	leaf := v.LeafOf(a)
	used := v.userUsed(a.UserSlot).Sub(sizeOf(released))
	if calc.Compare(v.st.Meta.Cluster, used, v.UserLimit(leaf, a.UserSlot)) > 0 {
		return UserLimit
	}
	for i := leaf; i >= 0; i = v.queues[i].parent {
		used := v.used(i).Sub(sizeOf(released))
		if d.state == stateAllocated {
			used = v.usedNow(i, released)
		}
		if !calc.FitsIn(used.Add(d.size), *v.maximum(i)) {
			return QueueMaxCapacity
		}
	}
	return NoReason
}

// Headroom returns what an application may still get, as its AM sees it: the sum over the
// partitions of its AM and of its asks. It is never negative, not even if the cluster has become
// smaller than its use.
//
// Source: Hadoop 3.4.2, CapacityHeadroomProvider.getHeadroom, which also counts partitions of asks
// that no longer exist.
func (s *Scheduler) Headroom(slot state.AppSlot) yarn.Resource {
	s.refreshCapacities()
	a := s.st.Apps.Get(slot)
	if len(s.partitions) == 1 {
		v := s.view(s.partitions[0])
		return v.headroomHere(a)
	}
	var room yarn.Resource
	for _, p := range s.partitions {
		master := p.label == a.AMLabel && (!a.Unmanaged || a.Outstanding == 0)
		if master || s.asksFor(a, p.label) {
			v := s.view(p)
			room = room.Add(v.headroomHere(a))
		}
	}
	return room
}

// headroomHere returns what an application may still get on these nodes.
func (v *View) headroomHere(a *state.App) yarn.Resource {
	i := v.LeafOf(a)
	limit := v.at.tree.Capacities[i].EffMax
	if v.at.label == 0 { // for a label, YARN uses only the maximum of the queue itself
		limit = v.currentLimit(i)
	}
	room := capacity.Headroom(capacity.HeadroomInput{
		Calculator: v.cfg.Calculator, Total: v.at.total, MinAlloc: v.cfg.MinAlloc,
		UserLimit: v.UserLimit(i, a.UserSlot), UserUsed: *v.userUsed(a.UserSlot),
		QueueLimit: limit, QueueUsed: *v.used(i),
		RootUsed: *v.used(0),
	})
	return yarn.ComponentMax(room, yarn.Resource{})
}

// ClusterNodes returns the number of nodes of the cluster as an application's AM sees it. If the
// application's queue has a default label, only the nodes of that label count.
func (s *Scheduler) ClusterNodes(a *state.App) uint32 {
	name := s.cfg.Queues[s.LeafOf(a)].DefaultLabel
	if name == "" {
		return uint32(s.st.Meta.UsableNodes)
	}
	if label := s.st.Labels.Find(name); label != 0 {
		return uint32(s.st.Labels.Get(label).Nodes)
	}
	return 0 // as in YARN
}

// WithinUserLimit reports whether an application's user may get more in its leaf.
func (v *View) WithinUserLimit(app state.AppSlot) bool {
	a := v.st.Apps.Get(app)
	ok, _ := v.userCheck(v.LeafOf(a), a)
	return ok
}
