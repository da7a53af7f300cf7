package scheduler

import (
	"math"

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
	// EndsMillis is the time at which a set loses no more than the wait is worth by then, if nothing on
	// the nodes changes; 0: what runs there grows dearer as fast as the wait.
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
	if may, _ := s.userCheck(w.leaf, a); !may || !r.mayGain(w.leaf, yarn.Resource{}) {
		return dear, false
	}
	best, cheapest := preemptionSet{cost: math.MaxUint64}, false
	for _, c := range r.candidates(w) {
		if c.cost <= r.mostWork(w) {
			return dear, false
		}
		if at := r.worthAt(w, &c); at != 0 && (dear.EndsMillis == 0 || at < dear.EndsMillis) {
			dear.EndsMillis = at
		}
		if !cheapest || comparePreemptionSets(c, best) < 0 {
			best, cheapest = c, true
		}
	}
	unit := max(r.cost(1, k.Size), 1)
	dear.LostMillis, dear.MostMillis, dear.WaitedMillis = int64(min(best.cost/unit, math.MaxInt64)), int64(min(r.mostWork(w)/unit, math.MaxInt64)), r.waited(w)
	for _, v := range best.victims {
		dear.Node, dear.Containers = s.st.Containers.Get(v.container).Node, append(dear.Containers, v.container)
	}
	return dear, cheapest
}

// roundToLookAt is a round on the nodes of a label that decides nothing: what was asked to end counts as
// gone.
func (s *Scheduler) roundToLookAt(label state.LabelID, set *preempt.Settings) *preemptionRound {
	queues := s.PreemptionPartition(label)
	budget := queues.Budget(set)
	s.at = s.partitions[label]
	s.withoutInside(queues.Queues)
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
			if due := r.set.ReservationWaitMillis; due >= 0 && res.MadeMillis+due <= r.s.now {
				if set, ok := r.cheapest(r.nodeAt(res.Node), w, masters); ok {
					sets = append(sets, set)
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

// worthAt is the first time at which a set loses no more work than the wait for it is worth by then; 0:
// that is not within a week.
func (r *preemptionRound) worthAt(w beneficiary, set *preemptionSet) int64 {
	now := r.s.now
	defer func() { r.s.now = now }()
	worth := func(after int64) bool {
		r.s.now = now + after
		var cost uint64
		for _, v := range set.victims {
			cost = satAdd(cost, r.victimOf(v.container).cost)
		}
		return cost <= r.mostWork(w)
	}
	const week = 7 * 24 * 3600 * 1000
	late := int64(1000)
	for ; !worth(late); late *= 2 {
		if late > week {
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
