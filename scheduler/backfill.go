package scheduler

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// Backfill lends the idle room of a reserved node. It delays no reservation:
//
//	lent      lendReserved   to a container that takes nothing which the reservation waits for; to one
//	                         that ends before the reservation could be fulfilled, by the lifetimes that
//	                         applications have declared; or to one that may be ended when the room is
//	                         needed, and has not declared to need it for longer. Only the latter two
//	                         have a lease
//	recalled  recall         other containers have ended earlier than they had declared, so that the
//	                         leases are all that the reservation waits for
//	overdue   EndLeases      a deadline has passed: the borrower ends
//	over      fsm/state      the reservation ends: its leases end too, the containers go on
//
// The nodes of gangs lend nothing, and gangs borrow nothing.
// What is lent counts in all limits, as anything else that is allocated does.

// loan is the room that the present pass lends; the zero value lends nothing.
type loan struct {
	reservation uint64
	size        yarn.Resource // of the reservation
	leaf        int32         // that is charged for it
	until       int64         // when the reservation can be fulfilled at the earliest
}

// lends says whether the present pass lends room of a reserved node.
func (l loan) lends() bool { return l.reservation != 0 }

// lendReserved is a pass that offers the idle room of a reserved node. While the reservation waits for
// nothing but its own leases and for containers that are to end, no more is lent.
func (s *Scheduler) lendReserved(node uint32) outcome {
	n := s.st.Nodes.Get(node)
	if !s.backfills || n.Reservation == 0 || s.st.Meta.Level < event.LevelLeases || !s.hasRoom(n) {
		return outcome{}
	}
	r := s.st.Reservations.Get(n.Reservation)
	room := s.roomOn(r.Node)
	if r.Members != 0 || s.cfg.Calculator.FitsIn(r.Size, room) {
		return outcome{}
	}
	s.loan = loan{r.Number, r.Size, s.LeafOf(s.st.Apps.Get(r.App)), s.earliest(r, room)}
	s.levelLimits[0] = Limits{limit: s.at.total}
	a := s.assign(0, node, &s.levelLimits[0])
	s.loan = loan{}
	return a
}

// earliest is when a reservation can be fulfilled at the earliest, beginning with a room: by then enough
// of the other containers of its node may have ended. One that has declared nothing may end at any
// moment, and so may one that is older than it has declared, or is asked to end.
func (s *Scheduler) earliest(r *state.Reservation, room yarn.Resource) int64 {
	return s.enoughAt(r, room, func(slot uint32, c *state.Container) int64 {
		if s.st.Preemptions.Has(slot) {
			return s.now
		}
		return s.st.Apps.Get(c.App).DeclaredEnd(c.AllocatedMillis, c.AM)
	})
}

// enoughAt is when a reservation's node has room for it, if each of the containers that have no lease
// ends when it is said to. A container that the reservation is to make larger does not end.
func (s *Scheduler) enoughAt(r *state.Reservation, room yarn.Resource, endOf func(slot uint32, c *state.Container) int64) int64 {
	ends := s.ends[:0]
	for slot, c := range s.st.ContainersOn(s.st.Nodes.Get(r.Node)) {
		if c.State.Live() && !s.st.Leases.Has(slot) && slot != r.IncreaseOf {
			ends = append(ends, containerEnd{max(endOf(slot, c), s.now), c.Size})
		}
	}
	s.ends = ends
	return s.enough(r.Size, room, ends)
}

// enough is when a size fits into what is free and what ends.
func (s *Scheduler) enough(size, room yarn.Resource, ends []containerEnd) int64 {
	slices.SortFunc(ends, func(a, b containerEnd) int { return cmp.Compare(a.at, b.at) })
	for _, e := range ends {
		if room = room.Add(e.size); s.cfg.Calculator.FitsIn(size, room) {
			return e.at
		}
	}
	return never
}

// lease is the deadline of the lease that an ask would get in the present pass; ok says whether it gets
// one. An AM borrows nothing: that its room is needed should end no application.
func (s *Scheduler) lease(a *state.App, k *state.Ask, n *state.Node) (deadline int64, ok bool) {
	policy := s.cfg.Queues[s.LeafOf(a)].Backfill
	switch {
	case policy == capacity.BackfillOff || k.IncreaseOf != 0 || s.st.HoldsBack(k) || !s.cfg.Calculator.FitsIn(k.Size, n.Unallocated()):
		return 0, false
	case s.fitsBeside(k.Size, n):
		return event.NoLease, true
	case k.AM:
		return 0, false
	}
	end := a.DeclaredEnd(s.now, false)
	if end > s.now && end <= s.loan.until {
		return s.loan.until, true
	}
	return 0, policy == capacity.BackfillPreemptable && !s.tooLong(end)
}

// tooLong says whether a container that declares to end at a time would be ended for the reservation at
// hand before, if all end as they have declared. So it would only lose its work. A reservation that may be
// fulfilled at any moment has none that is too long: nothing is known of what it waits for.
func (s *Scheduler) tooLong(end int64) bool {
	return end > s.loan.until && s.loan.until > s.now
}

// fitsBeside says whether a container takes nothing that the reservation waits for: of every kind that
// the container has, the node then still has free what the reservation needs. It may stay for ever.
func (s *Scheduler) fitsBeside(size yarn.Resource, n *state.Node) bool {
	left := n.Unallocated().Sub(size)
	for i := range s.kindsThatCount() {
		if size[i] > 0 && left[i] < s.loan.size[i] {
			return false
		}
	}
	return true
}

func (s *Scheduler) mayLease(a *state.App, k *state.Ask, n *state.Node) bool {
	_, ok := s.lease(a, k, n)
	return ok
}

// recall asks for leases back when they are all that a reservation still waits for. Those without a
// deadline end now, the others have as long as containers have that are preempted.
func (s *Scheduler) recall(r *state.Reservation) {
	if s.st.Leases.Len() == 0 {
		return
	}
	room := s.roomOn(r.Node)
	if !s.cfg.Calculator.FitsIn(r.Size, room) {
		return
	}
	queue := s.cfg.Queues[s.LeafOf(s.st.Apps.Get(r.App))].Path
	for _, slot := range s.needed(r, room) {
		s.recallLease(slot, queue, s.now+s.cfg.Preemption.MaxWaitMillis)
	}
}

// needed are the leases without which a reservation has no room, and which are not asked for yet. Those
// with a deadline are spared first, and of these the oldest.
func (s *Scheduler) needed(r *state.Reservation, room yarn.Resource) []uint32 {
	var leased []uint32
	for slot := range s.st.LeasedFrom(r) {
		if !s.st.Preemptions.Has(slot) {
			leased = append(leased, slot)
		}
	}
	slices.SortFunc(leased, func(a, b uint32) int {
		x, y := s.st.Leases.Get(a), s.st.Leases.Get(b)
		c, d := s.st.Containers.Get(a), s.st.Containers.Get(b)
		return cmp.Or(cmp.Compare(boolToInt(x.DeadlineMillis == 0), boolToInt(y.DeadlineMillis == 0)),
			cmp.Compare(c.AllocatedMillis, d.AllocatedMillis), cmp.Compare(c.App, d.App), cmp.Compare(c.Number, d.Number))
	})
	return slices.DeleteFunc(leased, func(slot uint32) bool {
		less := room.Sub(s.st.Containers.Get(slot).Size)
		if !s.cfg.Calculator.FitsIn(r.Size, less) {
			return false
		}
		room = less
		return true
	})
}

// recallLease warns the container of a lease that it ends, at a time or at its deadline if that is
// sooner.
func (s *Scheduler) recallLease(slot uint32, queue string, at int64) {
	l := *s.st.Leases.Get(slot)
	if l.DeadlineMillis == 0 {
		at = s.now
	} else {
		at = max(min(at, l.DeadlineMillis), s.now)
	}
	s.AskPreemption(slot, event.PreemptionAsked{Reservation: l.Reservation, Queue: queue, Cause: yarn.PreemptLease, DeadlineMillis: at})
	if at <= s.now {
		s.recalled = append(s.recalled, slot)
	}
}

// TakeRecalled returns the containers that are to end now for the room that they have borrowed.
func (s *Scheduler) TakeRecalled() []uint32 {
	recalled := s.recalled
	s.recalled = nil
	return recalled
}

// EndLeases has the containers end whose leases are over by the clock: TakeRecalled returns them.
func (s *Scheduler) EndLeases() {
	type due struct {
		slot   uint32
		warned bool
	}
	var over []due
	s.st.Leases.Each(func(slot uint32, l *state.Lease) bool {
		if s.st.Preemptions.Has(slot) {
			if s.st.Preemptions.Get(slot).DeadlineMillis <= s.now {
				over = append(over, due{slot, true})
			}
		} else if l.DeadlineMillis != 0 && l.DeadlineMillis <= s.now {
			over = append(over, due{slot, false})
		}
		return true
	})
	for _, d := range over {
		if d.warned {
			s.recalled = append(s.recalled, d.slot)
			continue
		}
		r := s.st.Reservations.Get(s.st.Reservation(s.st.Leases.Get(d.slot).Reservation))
		s.recallLease(d.slot, s.cfg.Queues[s.LeafOf(s.st.Apps.Get(r.App))].Path, s.now)
	}
}
