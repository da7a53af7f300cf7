package preemption

import (
	"rmd/fsm/state"
	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// rankedTaking is preemption by priority: a leaf below its guarantee takes containers of leaves of
// a lower priority for its reservations, however much those leaves use.
//
// Source: Hadoop 3.4.2, QueuePriorityContainerCandidateSelector. YARN takes from queues with
// disable_preemption too; this does not.
type rankedTaking struct {
	*queueRanks
	partition *entitlement.Partition
	budget    *yarn.Resource
	leaf      int32           // the leaf that takes
	gives     []bool          // by leaf: whether a waiting leaf has priority over it
	gained    []yarn.Resource // by leaf: its reservations for which the round makes room
}

// rankedRound returns a copy of the round in which a leaf takes from leaves of a lower priority, or
// nil if preemption by priority is off.
func (r *round) rankedRound(leaf int32) *round {
	if r.ranks == nil {
		return nil
	}
	here := *r
	taking := *r.ranks
	taking.leaf = leaf
	here.ranked, here.nodes, here.offers, here.kill = &taking, nil, nil, nil
	return &here
}

// newRankedTaking returns the data that is the same for all leaves that take, or nil if preemption
// by priority is off.
func newRankedTaking(queues *entitlement.Partition, set *entitlement.Settings, budget *yarn.Resource) *rankedTaking {
	if !set.QueuePriority.Enabled {
		return nil
	}
	return &rankedTaking{queueRanks: newQueueRanks(queues.Queues), partition: queues, budget: budget,
		gained: make([]yarn.Resource, len(queues.Queues))}
}

// mayLose reports whether all containers belong to leaves of a lower priority and fit into the
// budget of the round.
func (k *rankedTaking) mayLose(set []victim) bool {
	var all yarn.Resource
	for _, v := range set {
		if v.am || k.queues[v.leaf].Disabled || !k.above(k.leaf, v.leaf) {
			return false
		}
		all = all.Add(v.size)
	}
	return k.partition.Calculator.Compare(k.partition.Cluster, *k.budget, all) >= 0
}

// chooseByRank makes room for reservations that have waited long enough, of leaves that have
// priority over others and are below their guarantee. It first tries containers of queues above
// their guarantee.
func (r *round) chooseByRank() {
	if r.ranks == nil {
		return
	}
	st, waiting := r.s.State, r.waitingByRank()
	r.giveByRank(waiting)
	here := r.rankedRound(-1)
	for _, w := range waiting {
		slot := st.Reservations.Find(w.number)
		if slot == 0 || r.spent() || r.ranks.partition.Satisfied(w.leaf, r.ranks.gained[w.leaf]) {
			continue
		}
		res := st.Reservations.Get(slot)
		if ok, _ := r.s.UserCheck(w.leaf, st.Apps.Get(w.app)); !ok || r.awaited(res) || r.unmet(w.beneficiary) <= 0 {
			continue
		}
		if due := r.set.ReservationWaitMillis; due >= 0 && res.MadeMillis+due <= r.now &&
			r.mayGain(w.leaf, yarn.Resource{}) && r.chooseForReservation(w.beneficiary, res) {
			here.forgetNodes()
			continue
		}
		here.ranked.leaf, here.scans, here.sets, here.guesses, here.guess = w.leaf, r.scans, r.sets, r.guesses, waitLeft{}
		if here.chooseForReservation(w.beneficiary, res) {
			r.forgetNodes()
		}
		r.scans, r.sets, r.guesses = here.scans, here.sets, here.guesses
	}
	here.forgetNodes()
}

// giveByRank finds the leaves from which a waiting leaf may take.
func (e *entitlements) giveByRank(waiting []rankedReservation) {
	e.ranks.gives = e.ranks.belowAny(func(yield func(int32) bool) {
		for _, w := range waiting {
			if !yield(w.leaf) {
				return
			}
		}
	})
	for i, q := range e.ranks.queues {
		e.ranks.gives[i] = e.ranks.gives[i] && q.Leaf && !q.Disabled
	}
}

// mayMove reports whether a reservation may move to a node where less work is lost.
func (e *entitlements) mayMove(res *state.Reservation, k *state.Ask) bool {
	return e.ranked == nil || e.set.QueuePriority.MoveReservation && movable(e.s.State, res, k)
}

// rankedReservation is a reservation of a leaf that has priority over another leaf.
type rankedReservation struct {
	beneficiary
	number uint64
}

// waitingByRank returns the reservations on nodes of the partition that are old enough to take by
// priority, in the order of ranks. A reservation whose node already has room counts as gained.
func (r *round) waitingByRank() (waiting []rankedReservation) {
	st := r.s.State
	for _, number := range rankedReservations(r.s.Views, r.ranks.queueRanks) {
		res := st.Reservations.Get(st.Reservations.Find(number))
		if st.Nodes.Get(res.Node).Label != r.s.At.Label || r.now-res.MadeMillis < r.set.QueuePriority.ReservedDelayMillis {
			continue
		}
		leaf := r.s.LeafOfReservation(res)
		if r.s.Config.Calculator.FitsIn(res.Size, r.s.RoomOn(res.Node)) {
			r.gained(res)
			continue
		}
		if ask, ok := askOfReservation(st, res); ok && !st.Gangs.HoldsBack(st.Asks.Get(ask)) {
			waiting = append(waiting, rankedReservation{beneficiary{leaf: leaf, app: res.App, ask: ask}, number})
		}
	}
	return waiting
}

// gained records that the round makes room for a reservation.
func (e *entitlements) gained(res *state.Reservation) {
	if e.ranks != nil {
		of := &e.ranks.gained[e.s.LeafOfReservation(res)]
		*of = of.Add(res.Size)
	}
}

// unmet returns how many containers an ask wants beyond those reservations for which room is being
// made.
func (r *round) unmet(w beneficiary) int64 {
	k := r.s.State.Asks.Get(w.ask)
	n := k.Count
	for _, res := range r.s.State.Reservations.Of(r.s.State.Apps.Get(w.app)) {
		if res.Key == k.Key && res.IncreaseOf == k.IncreaseOf && r.awaited(res) {
			n--
		}
	}
	return n
}

// judgeRanked judges a standing set that was chosen by priority.
func (r *round) judgeRanked(set standingSet) {
	here := r.rankedRound(r.s.LeafOfReservation(r.reservationOf(&set)))
	if here == nil {
		r.withdraw(set, yarn.WithdrawNotEntitled)
		return
	}
	here.judgeOne(set)
	r.kill = append(r.kill, here.kill...)
}
