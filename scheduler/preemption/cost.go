package preemption

import (
	"math"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// UnaffordableSet is the cheapest set of containers that could make room for an ask, if even this
// set loses more work than the wait is worth. Work is expressed as the time in which a container of
// the size of the ask does as much.
type UnaffordableSet struct {
	Node         state.NodeSlot
	Containers   []state.ContainerSlot
	LostMillis   int64 // the work that the set loses
	MostMillis   int64 // the work that a set may lose now
	WaitedMillis int64 // since the application got its last container
	LeftMillis   int64 // until room is expected without preemption; −1: not within a week
	// EndsMillis is the time at which a set will be cheap enough, if nothing on the nodes changes;
	// 0: not within a week.
	EndsMillis int64
}

// CostTooHigh returns the cheapest set for an ask if rounds choose nothing for the ask only because
// all sets lose too much work. Otherwise ok is false. CostTooHigh does not change the state.
func CostTooHigh(s *scheduler.Scheduler, app state.AppSlot, ask state.AskSlot) (cheapest UnaffordableSet, ok bool) {
	set := &s.Config.Preemption
	a, k := s.State.Apps.Get(app), s.State.Asks.Get(ask)
	if set.Selector == entitlement.YARN || set.MaxLostMillis < 0 || k.Count == 0 || s.State.Gangs.HoldsBack(k) {
		return cheapest, false
	}
	r := roundToLookAt(s, k.Label, set)
	w := beneficiary{leaf: s.LeafOf(a), app: app, ask: ask}
	if may, _ := r.s.UserCheck(w.leaf, a); !may {
		return cheapest, false
	}
	for _, here := range r.rightsOf(w) {
		if sets := here.candidates(w); len(sets) > 0 {
			return here.unaffordable(w, sets)
		}
	}
	return cheapest, false
}

// TakesByRank reports whether a reservation of an ask has waited long enough to take from leaves of
// a lower priority, and one of these leaves uses something. It does not change the state.
func TakesByRank(s *scheduler.Scheduler, p *entitlement.Partition, leaf int32, ask state.AskSlot) bool {
	k := s.State.Asks.Get(ask)
	set := &s.Config.Preemption.QueuePriority
	if !set.Enabled || k.Reservations == 0 {
		return false
	}
	due := false
	for _, res := range s.State.Reservations.Of(s.State.Apps.Get(k.App)) {
		due = due || res.Key == k.Key && res.IncreaseOf == k.IncreaseOf &&
			s.State.Meta.NowMillis-res.MadeMillis >= set.ReservedDelayMillis
	}
	ranks := newQueueRanks(p.Queues)
	lower := func(q entitlement.Queue) bool { return q.Leaf && !q.Disabled && !q.Used.IsZero() }
	for i := range p.Queues {
		if due && lower(p.Queues[i]) && ranks.above(leaf, int32(i)) {
			return true
		}
	}
	return false
}

// rightsOf returns the rounds that may choose containers for an ask: for the guarantee of its
// queue, for its priority, and for balance.
func (r *round) rightsOf(w beneficiary) (rights []*round) {
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
		if here := r.balanceRound(); here.mayGain(w.leaf, r.s.State.Asks.Get(w.ask).Size) {
			rights = append(rights, here)
		}
	}
	return rights
}

// unaffordable describes the cheapest set, if it loses too much work.
func (r *round) unaffordable(w beneficiary, sets []victimSet) (cheapest UnaffordableSet, ok bool) {
	s, k := r.s, r.s.State.Asks.Get(w.ask)
	best := slices.MinFunc(sets, compareSets)
	if r.worth(w, best.cost) {
		return cheapest, false
	}
	lost := best.cost / max(r.cost(1, k.Size), 1)
	cheapest = UnaffordableSet{LostMillis: int64(min(lost, math.MaxInt64)), MostMillis: r.mostMillis(w),
		WaitedMillis: r.waited(w), LeftMillis: -1, EndsMillis: r.worthAt(w, sets)}
	if left := r.left(w); left < weekMillis {
		cheapest.LeftMillis = left
	}
	for _, v := range best.victims {
		cheapest.Node, cheapest.Containers = s.State.Containers.Get(v.container).Node,
			append(cheapest.Containers, v.container)
	}
	return cheapest, true
}

// roundToLookAt returns a round on the nodes of a label that makes no decisions. Warned containers
// count as ended.
func roundToLookAt(s *scheduler.Scheduler, label state.LabelSlot, set *entitlement.Settings) *round {
	queues := PartitionOf(s.Views, label)
	budget := queues.Budget(set)
	r := NewRounds(s).newRound(label, s.State.Meta.NowMillis, queues, set, &budget)
	for _, stands := range r.standing() {
		if !s.State.Preemptions.Get(stands.victims[0]).Cause.InsideQueue() {
			for _, v := range r.victimsOf(stands.victims) {
				r.charge(v)
			}
		}
	}
	if r.late {
		budget = queues.Budget(set)
	}
	return r
}

// candidates returns the sets from which a round chooses the cheapest for an ask: sets on nodes
// that the ask has reserved, if the reservations have waited long enough, and sets on other nodes.
// It returns sets with AMs only if there is no other set, and nothing if the ask needs no set.
func (r *round) candidates(w beneficiary) (sets []victimSet) {
	st, k := r.s.State, r.s.State.Asks.Get(w.ask)
	r.lookAtNodes()
	for _, ams := range []bool{false, true} {
		for _, res := range st.Reservations.Of(st.Apps.Get(w.app)) {
			if res.Key != k.Key || res.IncreaseOf != k.IncreaseOf || st.Nodes.Get(res.Node).Label != r.s.At.Label {
				continue
			}
			if r.awaited(res) {
				return nil
			}
			if due := r.dueMillis(); due >= 0 && res.MadeMillis+due <= r.now {
				if set, ok := r.cheapest(r.nodeAt(res.Node), w, ams); ok {
					sets = append(sets, set)
				}
				if !r.mayMove(res, k) {
					return sets
				}
			}
		}
		others, free := r.compare(w, nodesCompared, ams)
		if free > 0 {
			return nil
		}
		if sets = append(sets, others...); len(sets) > 0 {
			return sets
		}
	}
	return nil
}

// dueMillis returns how long a reservation waits before containers may end for it; −1: forever.
func (e *entitlements) dueMillis() int64 {
	if e.ranked != nil {
		return e.set.QueuePriority.ReservedDelayMillis
	}
	return e.set.ReservationWaitMillis
}

// weekMillis is how far predictions look ahead.
const weekMillis = 7 * 24 * 3600 * 1000

// worthAt returns the first time at which one of the sets is cheap enough, or 0 if there is none
// within a week. It searches by doubling and bisection, so the result is exact only if a set stays
// cheap enough from then on.
func (r *round) worthAt(w beneficiary, sets []victimSet) int64 {
	now := r.now
	defer func() { r.now = now }()
	worth := func(after int64) bool {
		r.now = now + after
		r.guesses = nodesGuessed + 1
		return slices.ContainsFunc(sets, func(set victimSet) bool {
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
