package preemption

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
func (r *round) judge() {
	for _, set := range r.standing() {
		switch cause := r.s.State.Preemptions.Get(set.victims[0]).Cause; {
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

func (r *round) judgeOne(set standingSet) {
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
	if len(set.victims) > 0 && r.s.State.Preemptions.Get(set.victims[0]).DeadlineMillis <= r.now {
		r.end(&set)
	}
}

// end ends the containers of a set, whose deadline has passed.
func (r *round) end(set *standingSet) {
	r.kill = append(r.kill, set.victims...)
	if !r.forGuarantees() {
		return
	}
	leaf := r.s.LeafOfReservation(r.reservationOf(set))
	for _, c := range set.victims {
		r.lostFor(leaf, r.s.State.Containers.Get(c))
	}
}

// standing returns the sets on nodes of the partition, in the order of their reservations.
func (r *round) standing() []standingSet {
	var sets []standingSet
	r.s.State.Preemptions.Each(func(slot state.ContainerSlot, w *state.Preemption) bool {
		if w.Reservation != 0 && w.Cause != yarn.PreemptLease &&
			r.s.State.Nodes.Get(r.s.State.Containers.Get(slot).Node).Label == r.s.At.Label {
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
func (r *round) judgeSet(set *standingSet) yarn.WithdrawalCause {
	st, calc := r.s.State, r.s.Config.Calculator
	res := st.Reservations.Get(st.Reservations.Find(set.number))
	app := st.Apps.Get(res.App)
	leaf := r.s.LeafOf(app)
	room := r.s.RoomOn(res.Node)
	if calc.FitsIn(res.Size, room) {
		return yarn.WithdrawFulfilled
	}
	if r.tooMany(res) {
		return yarn.WithdrawNotEntitled
	}
	for _, c := range set.victims {
		room = room.Add(st.Containers.Get(c).Size)
		if (r.s.Apps[st.Containers.Get(c).App].Leaf == leaf) != (r.inside != nil) {
			return yarn.WithdrawMoved
		}
	}
	switch {
	case !calc.FitsIn(res.Size, room):
		return yarn.WithdrawNoRoom
	case r.s.Config.Queues[leaf].Path != st.Preemptions.Get(set.victims[0]).Queue:
		return yarn.WithdrawMoved
	case !r.mayGain(leaf, r.stillGains(res)) || !r.mayLose(r.victimsOf(set.victims)):
		return yarn.WithdrawNotEntitled
	}
	return 0
}

// tooMany reports whether an ask no longer wants a container on a reserved node, because it wants
// fewer than when the containers were warned: older reservations of the ask get room for as many as
// it wants.
func (r *round) tooMany(res *state.Reservation) bool {
	a := r.s.State.Apps.Get(res.App)
	ask := r.s.State.AskFor(a, res.Key, res.IncreaseOf)
	if ask == 0 {
		return true
	}
	k := r.s.State.Asks.Get(ask)
	wanted := k.Count
	if wanted >= int64(k.Reservations) {
		return false
	}
	for _, other := range r.s.State.Reservations.Of(a) {
		if other.Key == res.Key && other.IncreaseOf == res.IncreaseOf && other.Number < res.Number && r.awaited(other) {
			wanted--
		}
	}
	return wanted <= 0
}

// stillGains returns what the owner of a reservation must still be entitled to. Between queues this
// is nothing, because the reservation already counts as used.
func (e *entitlements) stillGains(res *state.Reservation) yarn.Resource {
	if e.inside != nil {
		return res.Size
	}
	return yarn.Resource{}
}

// withdraw withdraws the warnings of a set. It also cancels the reservation if the queues are
// within their maxima only because the set would end.
func (r *round) withdraw(set standingSet, cause yarn.WithdrawalCause) {
	slot := r.s.State.Reservations.Find(set.number)
	res := r.s.State.Reservations.Get(slot)
	if r.s.State.Preemptions.Get(set.victims[0]).Cause == yarn.PreemptBalance {
		r.countReserved(r.s.LeafOfReservation(res), res.Size)
	}
	r.sched.WithdrawFor(res, cause)
	if cause != yarn.WithdrawFulfilled && !r.withinMaxima(r.s.LeafOf(r.s.State.Apps.Get(res.App)), yarn.Resource{}) {
		r.drop(slot)
	}
}

// spare withdraws the warnings of containers that are not needed any more because other room has
// appeared, the most expensive first. The others make room for the reservation and for more further
// containers of its ask.
func (r *round) spare(set *standingSet, more int64) {
	st := r.s.State
	res := st.Reservations.Get(st.Reservations.Find(set.number))
	room := r.s.RoomOn(res.Node)
	victims := r.victimsOf(set.victims)
	for _, v := range victims {
		room = room.Add(v.size)
	}
	slices.SortStableFunc(victims, func(a, b victim) int { return cmp.Compare(b.cost, a.cost) })
	set.victims = set.victims[:0]
	for _, v := range victims {
		if less := room.Sub(v.size); r.s.Config.Calculator.FitsIn(res.Size.Times(1+more), less) {
			r.sched.WithdrawPreemption(v.container, yarn.WithdrawNotChosen)
			room = less
		} else {
			set.victims = append(set.victims, v.container)
		}
	}
}

// further returns for how many further containers of the ask of a reservation a set makes room: no
// more than the ask wants and its leaf may get.
func (r *round) further(set *standingSet) int64 {
	res := r.reservationOf(set)
	ask := r.s.State.AskFor(r.s.State.Apps.Get(res.App), res.Key, res.IncreaseOf)
	if !r.forGuarantees() || ask == 0 || res.IncreaseOf != 0 {
		return 0
	}
	k, leaf := r.s.State.Asks.Get(ask), r.s.LeafOfReservation(res)
	room := r.s.RoomOn(res.Node).Sub(res.Size)
	for _, v := range r.victimsOf(set.victims) {
		room = room.Add(v.size)
	}
	more := min(r.s.Config.Calculator.AvailableContainers(room, res.Size), k.Count-int64(k.Reservations)-r.making[ask])
	for more > 0 && !r.mayGain(leaf, res.Size.Times(more)) {
		more--
	}
	return max(more, 0)
}

// gainFurther records that the leaf of a reservation gets further containers from its set.
func (r *round) gainFurther(set *standingSet, more int64) {
	if more == 0 {
		return
	}
	res := r.reservationOf(set)
	size := res.Size.Times(more)
	r.gain(r.s.LeafOfReservation(res), size, size)
	r.making[r.s.State.AskFor(r.s.State.Apps.Get(res.App), res.Key, res.IncreaseOf)] += more
}
