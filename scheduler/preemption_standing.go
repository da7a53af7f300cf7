package scheduler

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// standingSet is the warned containers that make room for one reservation. They end together or not
// at all.
type standingSet struct {
	number  uint64 // the number of the reservation
	victims []state.ContainerSlot
}

// judge decides about the sets with standing warnings, those of the oldest reservations first. It
// withdraws a set that is not needed or not allowed any more, and ends a set whose deadline has
// passed.
func (r *preemptionRound) judge() {
	for _, set := range r.standing() {
		switch cause := r.s.st.Preemptions.Get(set.victims[0]).Cause; {
		case cause.InsideQueue():
			r.standsInside = append(r.standsInside, set)
			r.askAll(&set, 1)
		case cause == yarn.PreemptBalance:
			r.standsBalance = append(r.standsBalance, set)
			r.askAll(&set, 1)
		case cause == yarn.PreemptQueuePriority:
			r.judgeRanked(set)
		default:
			r.judgeOne(set)
		}
	}
}

func (r *preemptionRound) judgeOne(set standingSet) {
	if cause := r.judgeSet(&set); cause != 0 {
		r.withdraw(set, cause)
		return
	}
	more := r.further(&set)
	r.spare(&set, more)
	for _, c := range set.victims {
		r.charge(r.victimOf(c))
	}
	if r.inside != nil {
		size := r.reservationOf(&set).Size
		r.inside.gain(size, size)
	} else {
		r.gained(r.reservationOf(&set))
		r.gainFurther(&set, more)
	}
	if len(set.victims) > 0 && r.s.st.Preemptions.Get(set.victims[0]).DeadlineMillis <= r.s.now {
		r.kill = append(r.kill, set.victims...)
	}
}

// standing returns the sets on nodes of the partition, in the order of their reservations.
func (r *preemptionRound) standing() []standingSet {
	var sets []standingSet
	r.s.st.Preemptions.Each(func(slot state.ContainerSlot, w *state.Preemption) bool {
		if w.Reservation != 0 && w.Cause != yarn.PreemptLease && r.s.st.Nodes.Get(r.s.st.Containers.Get(slot).Node).Label == r.s.at.label {
			sets = append(sets, standingSet{w.Reservation, []state.ContainerSlot{slot}})
		}
		return true
	})
	slices.SortStableFunc(sets, func(a, b standingSet) int { return cmp.Compare(a.number, b.number) })
	merged := sets[:0]
	for _, set := range sets {
		if n := len(merged); n > 0 && merged[n-1].number == set.number {
			merged[n-1].victims = append(merged[n-1].victims, set.victims...)
		} else {
			merged = append(merged, set)
		}
	}
	return merged
}

// judgeSet returns the cause for which a set must be withdrawn, or 0 if the set stands.
func (r *preemptionRound) judgeSet(set *standingSet) yarn.WithdrawalCause {
	st, calc := r.s.st, r.s.cfg.Calculator
	res := st.Reservations.Get(st.Reservations.Find(set.number))
	app := st.Apps.Get(res.App)
	leaf := r.s.LeafOf(app)
	room := r.s.roomOn(res.Node)
	if calc.FitsIn(res.Size, room) {
		return yarn.WithdrawFulfilled
	}
	if r.tooMany(res) {
		return yarn.WithdrawNotEntitled
	}
	for _, c := range set.victims {
		room = room.Add(st.Containers.Get(c).Size)
		if (r.s.apps[st.Containers.Get(c).App].leaf == leaf) != (r.inside != nil) {
			return yarn.WithdrawMoved
		}
	}
	switch {
	case !calc.FitsIn(res.Size, room):
		return yarn.WithdrawNoRoom
	case r.s.cfg.Queues[leaf].Path != st.Preemptions.Get(set.victims[0]).Queue:
		return yarn.WithdrawMoved
	case !r.mayGain(leaf, r.stillGains(res)) || !r.mayLose(r.victimsOf(set.victims)):
		return yarn.WithdrawNotEntitled
	}
	return 0
}

// tooMany reports whether an ask no longer wants a container on a reserved node, because it wants
// fewer than when the containers were warned: older reservations of the ask get room for as many as
// it wants.
func (r *preemptionRound) tooMany(res *state.Reservation) bool {
	a := r.s.st.Apps.Get(res.App)
	ask := r.s.st.AskFor(a, res.Key, res.IncreaseOf)
	if ask == 0 {
		return true
	}
	k := r.s.st.Asks.Get(ask)
	wanted := k.Count
	if wanted >= int64(k.Reservations) {
		return false
	}
	for _, other := range r.s.st.Reservations.Of(a) {
		if other.Key == res.Key && other.IncreaseOf == res.IncreaseOf && other.Number < res.Number && r.awaited(other) {
			wanted--
		}
	}
	return wanted <= 0
}

// stillGains returns what the owner of a reservation must still be entitled to. Between queues this
// is nothing, because the reservation already counts as used.
func (r *preemptionRound) stillGains(res *state.Reservation) yarn.Resource {
	if r.inside != nil {
		return res.Size
	}
	return yarn.Resource{}
}

// withdraw withdraws the warnings of a set. It also cancels the reservation if the queues are
// within their maxima only because the set would end.
func (r *preemptionRound) withdraw(set standingSet, cause yarn.WithdrawalCause) {
	slot := r.s.st.Reservations.Find(set.number)
	res := r.s.st.Reservations.Get(slot)
	if r.s.st.Preemptions.Get(set.victims[0]).Cause == yarn.PreemptBalance {
		r.countReserved(r.s.leafOfReservation(res), res.Size)
	}
	r.s.withdrawFor(res, cause)
	if cause != yarn.WithdrawFulfilled && !r.withinMaxima(r.s.LeafOf(r.s.st.Apps.Get(res.App)), yarn.Resource{}) {
		r.drop(slot)
	}
}

// spare withdraws the warnings of containers that are not needed any more because other room has
// appeared, the most expensive first. The others make room for the reservation and for more further
// containers of its ask.
func (r *preemptionRound) spare(set *standingSet, more int64) {
	st := r.s.st
	res := st.Reservations.Get(st.Reservations.Find(set.number))
	room := r.s.roomOn(res.Node)
	victims := r.victimsOf(set.victims)
	for _, v := range victims {
		room = room.Add(v.size)
	}
	slices.SortStableFunc(victims, func(a, b victim) int { return cmp.Compare(b.cost, a.cost) })
	set.victims = set.victims[:0]
	for _, v := range victims {
		if less := room.Sub(v.size); r.s.cfg.Calculator.FitsIn(res.Size.Times(1+more), less) {
			r.s.WithdrawPreemption(v.container, yarn.WithdrawNotChosen)
			room = less
		} else {
			set.victims = append(set.victims, v.container)
		}
	}
}

// further returns for how many further containers of the ask of a reservation a set makes room: no
// more than the ask wants and its leaf may get.
func (r *preemptionRound) further(set *standingSet) int64 {
	res := r.reservationOf(set)
	ask := r.s.st.AskFor(r.s.st.Apps.Get(res.App), res.Key, res.IncreaseOf)
	if !r.forGuarantees() || ask == 0 || res.IncreaseOf != 0 {
		return 0
	}
	k, leaf := r.s.st.Asks.Get(ask), r.s.leafOfReservation(res)
	room := r.s.roomOn(res.Node).Sub(res.Size)
	for _, v := range r.victimsOf(set.victims) {
		room = room.Add(v.size)
	}
	more := min(r.s.cfg.Calculator.AvailableContainers(room, res.Size), k.Count-int64(k.Reservations)-r.making[ask])
	for more > 0 && !r.mayGain(leaf, res.Size.Times(more)) {
		more--
	}
	return max(more, 0)
}

// gainFurther records that the leaf of a reservation gets further containers from its set.
func (r *preemptionRound) gainFurther(set *standingSet, more int64) {
	if more == 0 {
		return
	}
	res := r.reservationOf(set)
	size := res.Size.Times(more)
	r.gain(r.s.leafOfReservation(res), size, size)
	r.making[r.s.st.AskFor(r.s.st.Apps.Get(res.App), res.Key, res.IncreaseOf)] += more
}

// preemptedFor counts the reservations of an ask whose room comes from preempted containers that
// have not ended on their nodes yet. The ask must not take room elsewhere instead of them, or the
// containers would have ended for nothing.
func (s *Scheduler) preemptedFor(a *state.App, k *state.Ask) (n int64) {
	if k.Reservations == 0 || !s.cfg.Preemption.Enabled {
		return 0
	}
	for _, r := range s.st.Reservations.Of(a) {
		if r.Key == k.Key && r.IncreaseOf == k.IncreaseOf && s.hasPreempted(r) {
			n++
		}
	}
	return n
}

// hasPreempted reports whether containers were preempted for a reservation and have not ended on
// their node yet.
func (s *Scheduler) hasPreempted(r *state.Reservation) bool {
	if !s.cfg.Preemption.Enabled {
		return false
	}
	for _, c := range s.st.Containers.On(s.st.Nodes.Get(r.Node)) {
		if !c.State.Live() && c.ExitStatus == yarn.ExitPreempted {
			return s.cfg.Calculator.FitsIn(r.Size, s.roomOn(r.Node))
		}
	}
	return false
}

// roomOn returns the free room of a node, plus the room of ended containers that the NodeManager
// has not reported yet, plus the room of leases.
func (s *Scheduler) roomOn(node state.NodeSlot) yarn.Resource {
	n := s.st.Nodes.Get(node)
	room := n.Unallocated()
	for slot, c := range s.st.Containers.On(n) {
		if !c.State.Live() || s.st.Leases.Has(slot) {
			room = room.Add(c.Size)
		}
	}
	return room
}
