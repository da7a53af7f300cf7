package scheduler

import (
	"math"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/preempt"
	"rmd/yarn"
)

// DearSet is the set of containers that loses the least work of all that could make room for an ask,
// where none ends because each loses more than the wait for it is worth. Work is told as the time in
// which a container of the ask's size does as much.
type DearSet struct {
	Node         uint32
	Containers   []uint32
	LostMillis   int64 // that it loses
	MostMillis   int64 // that it may lose now
	WaitedMillis int64 // for which the application has got no container
	LeftMillis   int64 // until room is expected otherwise; −1: not within a week
	// EndsMillis is the time at which a set loses no more than is worth it by then, if nothing on the nodes
	// changes; 0: that is not within a week.
	EndsMillis int64
}

// TooDear says why the rounds end nothing for an ask, if that is since all sets are too dear. The state is
// only read.
func (s *Scheduler) TooDear(app, ask uint32) (dear DearSet, ok bool) {
	set := &s.cfg.Preemption
	a, k := s.st.Apps.Get(app), s.st.Asks.Get(ask)
	if set.Selector == preempt.YARN || set.MaxLostMillis < 0 || k.Count == 0 || s.st.HoldsBack(k) {
		return dear, false
	}
	now := s.now
	s.now = s.st.Meta.NowMillis
	defer func() { s.now, s.at = now, s.partitions[0] }()
	r := s.roundToLookAt(k.Label, set)
	w := beneficiary{leaf: s.LeafOf(a), app: app, ask: ask}
	if may, _ := s.userCheck(w.leaf, a); !may {
		return dear, false
	}
	for _, here := range r.rightsOf(w) {
		if sets := here.candidates(w); len(sets) > 0 {
			return here.dearest(w, sets)
		}
	}
	return dear, false
}

// TakesByRank says whether a reservation of an ask has waited long enough to take from leaves of a lower
// priority, and one of them uses something. The state is only read.
func (s *Scheduler) TakesByRank(p *preempt.Partition, leaf int32, ask uint32) bool {
	k := s.st.Asks.Get(ask)
	set := &s.cfg.Preemption.QueuePriority
	if !set.Enabled || k.Reservations == 0 {
		return false
	}
	due := false
	for _, res := range s.st.ReservationsOf(s.st.Apps.Get(k.App)) {
		due = due || res.Key == k.Key && res.IncreaseOf == k.IncreaseOf && s.st.Meta.NowMillis-res.MadeMillis >= set.ReservedDelayMillis
	}
	ranks := newQueueRanks(p.Queues)
	lower := func(q preempt.Queue) bool { return q.Leaf && !q.Disabled && !q.Used.IsZero() }
	for i := range p.Queues {
		if due && lower(p.Queues[i]) && ranks.above(leaf, int32(i)) {
			return true
		}
	}
	return false
}

// rightsOf are rounds in which something may end for an ask: for the guarantee of its queue, for the
// priority of that, and for its part of what is left.
func (r *preemptionRound) rightsOf(w beneficiary) (rights []*preemptionRound) {
	if r.mayGain(w.leaf, yarn.Resource{}) {
		rights = append(rights, r)
	}
	if r.ranks != nil {
		waits := func(o rankedReservation) bool { return o.ask == w.ask }
		if waiting := r.waitingByRank(); slices.ContainsFunc(waiting, waits) {
			r.giveByRank(waiting)
			if here := r.rankedRound(w.leaf); here.mayGain(w.leaf, yarn.Resource{}) {
				rights = append(rights, here)
			}
		}
	}
	if r.balance != nil {
		if here := r.balanceRound(); here.mayGain(w.leaf, r.s.st.Asks.Get(w.ask).Size) {
			rights = append(rights, here)
		}
	}
	return rights
}

// dearest tells of the set that loses the least work, if that is too much.
func (r *preemptionRound) dearest(w beneficiary, sets []preemptionSet) (dear DearSet, ok bool) {
	s, k := r.s, r.s.st.Asks.Get(w.ask)
	best := slices.MinFunc(sets, comparePreemptionSets)
	if r.worth(w, best.cost) {
		return dear, false
	}
	lost := best.cost / max(r.cost(1, k.Size), 1)
	dear = DearSet{LostMillis: int64(min(lost, math.MaxInt64)), MostMillis: r.mostMillis(w), WaitedMillis: r.waited(w), LeftMillis: -1, EndsMillis: r.worthAt(w, sets)}
	if left := r.left(w); left < weekMillis {
		dear.LeftMillis = left
	}
	for _, v := range best.victims {
		dear.Node, dear.Containers = s.st.Containers.Get(v.container).Node, append(dear.Containers, v.container)
	}
	return dear, true
}

// roundToLookAt is a round on the nodes of a label that decides nothing: what was asked to end counts as
// gone.
func (s *Scheduler) roundToLookAt(label state.LabelID, set *preempt.Settings) *preemptionRound {
	queues := s.PreemptionPartition(label)
	budget := queues.Budget(set)
	s.at = s.partitions[label]
	r := s.newPreemptionRound(s.at, queues, set, &budget)
	for _, stands := range r.standing() {
		if !s.st.Preemptions.Get(stands.victims[0]).Cause.InsideQueue() {
			for _, v := range r.victimsOf(stands.victims) {
				r.charge(v)
			}
		}
	}
	return r
}

// candidates are the sets of which a round takes the cheapest for an ask: on the nodes that its
// reservations hold, if these have waited long enough, and on others. Those with AMs are there only if there is
// no other. There are none if the ask needs no set.
func (r *preemptionRound) candidates(w beneficiary) (sets []preemptionSet) {
	st, k := r.s.st, r.s.st.Asks.Get(w.ask)
	r.lookAtNodes()
	for _, masters := range []bool{false, true} {
		for _, res := range st.ReservationsOf(st.Apps.Get(w.app)) {
			if res.Key != k.Key || res.IncreaseOf != k.IncreaseOf || st.Nodes.Get(res.Node).Label != r.p.label {
				continue
			}
			if r.awaited(res) {
				return nil
			}
			if due := r.dueMillis(); due >= 0 && res.MadeMillis+due <= r.s.now {
				if set, ok := r.cheapest(r.nodeAt(res.Node), w, masters); ok {
					sets = append(sets, set)
				}
				if !r.mayMove(res, k) {
					return sets
				}
			}
		}
		others, free := r.compare(w, nodesCompared, masters)
		if free > 0 {
			return nil
		}
		if sets = append(sets, others...); len(sets) > 0 {
			return sets
		}
	}
	return nil
}

// dueMillis is how long a reservation waits before containers may end for it; −1: they never do.
func (r *preemptionRound) dueMillis() int64 {
	if r.ranked != nil {
		return r.set.QueuePriority.ReservedDelayMillis
	}
	return r.set.ReservationWaitMillis
}

// weekMillis bounds what is told of the future.
const weekMillis = 7 * 24 * 3600 * 1000

// worthAt is a time at which one of some sets loses no more work than is worth it then, the first as far
// as more is worth it from then on; 0: that is not within a week.
func (r *preemptionRound) worthAt(w beneficiary, sets []preemptionSet) int64 {
	now := r.s.now
	defer func() { r.s.now = now }()
	worth := func(after int64) bool {
		r.s.now = now + after
		r.guesses = nodesGuessed + 1
		return slices.ContainsFunc(sets, func(set preemptionSet) bool {
			var cost uint64
			for _, v := range set.victims {
				cost = satAdd(cost, r.victimOf(v.container).cost)
			}
			return r.worth(w, cost)
		})
	}
	late := int64(1000)
	for ; !worth(late); late *= 2 {
		if late > weekMillis {
			return 0
		}
	}
	for early := late / 2; late-early > 1000; {
		if at := (early + late) / 2; worth(at) {
			late = at
		} else {
			early = at
		}
	}
	return now + late
}
