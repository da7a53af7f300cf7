package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// queueLimit compares the current use of a queue with its limit. It is YARN's canAssignToThisQueue.
func (s *Scheduler) queueLimit(i int32, limit, unreservable yarn.Resource) (bool, yarn.Resource) {
	return capacity.QueueLimit(capacity.QueueLimitInput{
		Calculator:      s.cfg.Calculator,
		Total:           s.st.Meta.Cluster,
		Label:           s.at.total,
		EffMax:          s.at.tree.Capacities[i].EffMax,
		Limit:           limit,
		Used:            s.usedNow(i, nil),
		Unreservable:    unreservable,
		ContinueLooking: s.cfg.ContinueLooking,
		IgnoreExclusive: s.lending,
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
func (s *Scheduler) usedNow(i int32, released *state.Reservation) yarn.Resource {
	used := *s.used(i)
	backfills := s.backfills && (s.loan.lends() || s.cfg.Queues[i].Backfill != capacity.BackfillOff)
	switch {
	case backfills && s.mayUseAllNodes(i):
		return used.Sub(s.reservedOf(i))
	case s.loan.lends() && s.holds(i, s.loan.leaf):
		used = used.Sub(s.loan.size)
	case s.st.Preemptions.Len() > 0 && s.mayUseAllNodes(i):
		used = used.Sub(s.awaitingPreemption(i))
		if released != nil && s.awaits(released) {
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

// mayUseAllNodes reports whether the maximum of a queue is the whole current partition.
func (s *Scheduler) mayUseAllNodes(i int32) bool {
	return s.cfg.Calculator.FitsIn(s.at.total, s.at.tree.Capacities[i].EffMax)
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

func (s *Scheduler) childLimit(parent, child int32, l *Limits) yarn.Resource {
	return capacity.ChildLimit(capacity.ChildLimitInput{
		Calculator: s.cfg.Calculator,
		Total:      s.st.Meta.Cluster,
		Limit:      l.limit,
		EffMax:     s.at.tree.Capacities[parent].EffMax,
		Blocked:    l.blocked,
		Used:       s.usedNow(parent, nil),
		ChildUsed:  *s.used(child),
		MinAlloc:   s.cfg.MinAlloc,
	})
}

// currentLimit returns the limit that the ancestors of a queue would give it now, at most its own
// maximum. YARN uses the limit of the last pass. rmd computes the limit, so that a new leader
// decides alike.
func (s *Scheduler) currentLimit(i int32) yarn.Resource {
	own := s.cfg.Calculator.RoundDown(s.at.tree.Capacities[i].EffMax, s.cfg.MinAlloc)
	parent := s.queues[i].parent
	if parent < 0 {
		return own
	}
	handed := s.childLimit(parent, i, &Limits{limit: s.currentLimit(parent)})
	return s.cfg.Calculator.Min(s.st.Meta.Cluster, own, handed)
}

// withinHeadroom reports whether a container fits into the headroom of the queue plus the
// application's reservations.
func (s *Scheduler) withinHeadroom(a *state.App, k *state.Ask, l *Limits) bool {
	room := l.headroom
	if s.cfg.ContinueLooking {
		room = room.Add(s.reservedIn(a))
	}
	return s.cfg.Calculator.FitsIn(k.Size, room)
}

// userCheck is YARN's canAssignToUser. A user exactly at the limit may still get a container.
func (s *Scheduler) userCheck(i int32, a *state.App) (bool, yarn.Resource) {
	return capacity.UserCheck(capacity.UserCheckInput{
		Calculator:      s.cfg.Calculator,
		Total:           s.st.Meta.Cluster,
		Used:            *s.userUsed(a.UserSlot),
		AppReserved:     s.reservedIn(a),
		Limit:           s.UserLimit(i, a.UserSlot),
		ContinueLooking: s.cfg.ContinueLooking,
	})
}

// UserLimit returns the limit of an active user of a leaf.
func (s *Scheduler) UserLimit(i int32, user uint32) yarn.Resource {
	users := s.userLimits(&s.at.queues[i])
	if changes := s.queues[i].changes; users.known != changes {
		users.limit = capacity.UserLimit(s.userLimitInput(i))
		users.known = changes
	}
	return s.weighted(users.limit, user)
}

// userLimitInput returns the data from which the limit of a leaf's users is computed, in the
// current partition.
func (s *Scheduler) userLimitInput(i int32) capacity.UserLimitInput {
	q, e, activeUsed := &s.cfg.Queues[i], &s.at.tree.Capacities[i], s.Queue(i).ActiveUsed
	if s.at.label != 0 {
		activeUsed = s.labelUse(s.at.uses[i]).ActiveUsed
	}
	return capacity.UserLimitInput{
		Calculator: s.cfg.Calculator, Label: s.at.total, MinAlloc: s.cfg.MinAlloc,
		EffMin: e.EffMin, EffMax: e.EffMax,
		DominantUsed: s.at.queues[i].dominantUsed, ActiveUsed: activeUsed, ActiveWeight: atLeastOne(s.queues[i].activeWeight),
		MinUserLimit: q.MinUserLimitPercent, UserLimitFactor: q.UserLimitFactor, UserLimitOff: q.UserLimitOff,
		IgnoreExclusive: s.lending,
	}
}

// weighted returns the limit of a user, given the limit of a user of weight 1.
func (s *Scheduler) weighted(limit yarn.Resource, user uint32) yarn.Resource {
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
func (s *Scheduler) limitOn(d *decision, released *state.Reservation) Reason {
	a, calc := s.st.Apps.Get(d.app), s.cfg.Calculator
	leaf := s.LeafOf(a)
	used := s.userUsed(a.UserSlot).Sub(sizeOf(released))
	if calc.Compare(s.st.Meta.Cluster, used, s.UserLimit(leaf, a.UserSlot)) > 0 {
		return UserLimit
	}
	for i := leaf; i >= 0; i = s.queues[i].parent {
		most := &s.at.tree.Capacities[i].EffMax
		if s.lending {
			most = &s.at.total
		}
		used := s.used(i).Sub(sizeOf(released))
		if d.state == stateAllocated {
			used = s.usedNow(i, released)
		}
		if !calc.FitsIn(used.Add(d.size), *most) {
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
func (s *Scheduler) Headroom(slot uint32) yarn.Resource {
	s.refreshCapacities()
	a := s.st.Apps.Get(slot)
	if len(s.partitions) == 1 {
		return s.headroomHere(a)
	}
	var room yarn.Resource
	for _, p := range s.partitions {
		master := p.label == a.AMLabel && (!a.Unmanaged || a.Outstanding == 0)
		if master || s.asksFor(a, p.label) {
			s.at = p
			room = room.Add(s.headroomHere(a))
		}
	}
	s.at = s.partitions[0]
	return room
}

// headroomHere returns what an application may still get in the current partition.
func (s *Scheduler) headroomHere(a *state.App) yarn.Resource {
	i := s.LeafOf(a)
	limit := s.at.tree.Capacities[i].EffMax
	if s.at.label == 0 { // for a label, YARN uses only the maximum of the queue itself
		limit = s.currentLimit(i)
	}
	room := capacity.Headroom(capacity.HeadroomInput{
		Calculator: s.cfg.Calculator, Total: s.at.total, MinAlloc: s.cfg.MinAlloc,
		UserLimit: s.UserLimit(i, a.UserSlot), UserUsed: *s.userUsed(a.UserSlot),
		QueueLimit: limit, QueueUsed: *s.used(i),
		RootUsed: *s.used(0),
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
	if label := s.st.Label(name); label != 0 {
		return uint32(s.st.Labels.Get(uint32(label)).Nodes)
	}
	return 0 // as in YARN
}

// WithinUserLimit reports whether an application's user may get more in its leaf.
func (s *Scheduler) WithinUserLimit(app uint32) bool {
	a := s.st.Apps.Get(app)
	ok, _ := s.userCheck(s.LeafOf(a), a)
	return ok
}
