package scheduler

import (
	"cmp"
	"math"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// Backfill lends the idle room of a reserved node to other containers. It delays no reservation:
//
//	lendReserved  lends room to a container that takes nothing for which the reservation waits; to one
//	              that ends before the reservation could be fulfilled, by the lifetimes that
//	              applications have declared; or to one that may be ended when the room is needed and
//	              has not declared to need it for longer. Only the latter two get a lease
//	recall        recalls leases when other containers have ended earlier than they had declared, so
//	              that the reservation waits only for the leases
//	EndLeases     ends borrowers whose deadline has passed
//	fsm/state     ends the leases when the reservation ends; the containers continue
//
// The nodes of gangs lend nothing, and gangs borrow nothing. Borrowed room counts in all limits, as
// any other allocation.

// loan is the room that a pass lends. The zero value lends nothing.
type loan struct {
	reservation uint64
	size        yarn.Resource // of the reservation
	leaf        int32         // the leaf to which the reservation is charged
	until       int64         // the earliest time at which the reservation can be fulfilled
}

// lends reports whether there is room of a reserved node to lend.
func (l loan) lends() bool { return l.reservation != 0 }

// lendReserved runs a pass that offers the idle room of a reserved node. It lends nothing while the
// reservation waits only for its own leases and for containers that are about to end.
func (p *pass) lendReserved(node state.NodeSlot) *decision {
	lending := *p
	if lending.loan = p.loanOf(node); !lending.loan.lends() {
		return nil
	}
	return lending.offerNode(node)
}

// loanOf returns what a pass on a reserved node lends.
func (s *Scheduler) loanOf(node state.NodeSlot) loan {
	n := s.st.Nodes.Get(node)
	if !s.backfills || n.Reservation == 0 || !s.hasRoom(n) {
		return loan{}
	}
	r := s.st.Reservations.Get(n.Reservation)
	room := s.roomOn(r.Node)
	if r.Members != 0 || s.cfg.Calculator.FitsIn(r.Size, room) {
		return loan{}
	}
	return loan{r.Number, r.Size, s.LeafOf(s.st.Apps.Get(r.App)), s.earliest(r, room)}
}

// earliest returns the earliest time at which a reservation can be fulfilled if its node now has
// this much room. A container may end at any moment if it has no declared lifetime, is older than
// declared, or is warned.
func (s *Scheduler) earliest(r *state.Reservation, room yarn.Resource) int64 {
	return s.enoughAt(r, room, func(slot state.ContainerSlot, c *state.Container) int64 {
		if s.st.Preemptions.Has(slot) {
			return s.now
		}
		return s.st.Apps.Get(c.App).DeclaredEnd(c.AllocatedMillis, c.AM)
	})
}

// enoughAt returns the time at which the node of a reservation has room for it, if each container
// without a lease ends at the time that endOf returns. A container that the reservation will
// increase does not end.
func (s *Scheduler) enoughAt(r *state.Reservation, room yarn.Resource, endOf func(slot state.ContainerSlot, c *state.Container) int64) int64 {
	ends := s.ends[:0]
	for slot, c := range s.st.Containers.On(s.st.Nodes.Get(r.Node)) {
		if c.State.Live() && !s.st.Leases.Has(slot) && slot != r.IncreaseOf {
			ends = append(ends, containerEnd{max(endOf(slot, c), s.now), c.Size})
		}
	}
	s.ends = ends
	return s.enough(r.Size, room, ends)
}

// enough returns the time at which size fits into the free room and the room of the containers that
// have ended, or never.
func (s *Scheduler) enough(size, room yarn.Resource, ends []containerEnd) int64 {
	slices.SortFunc(ends, func(a, b containerEnd) int { return cmp.Compare(a.at, b.at) })
	for _, e := range ends {
		if room = room.Add(e.size); s.cfg.Calculator.FitsIn(size, room) {
			return e.at
		}
	}
	return never
}

// lease returns the deadline of the lease that an ask would get in this view. ok is false if
// it gets none. AMs get no lease, because the recall of an AM would end its application.
func (v *View) lease(a *state.App, k *state.Ask, n *state.Node) (deadline int64, ok bool) {
	policy := v.cfg.Queues[v.LeafOf(a)].Backfill
	switch {
	case policy == capacity.BackfillOff || k.IncreaseOf != 0 || v.st.Gangs.HoldsBack(k) || !v.cfg.Calculator.FitsIn(k.Size, n.Unallocated()):
		return 0, false
	case v.fitsBeside(k.Size, n):
		return event.NoLease, true
	case k.AM:
		return 0, false
	}
	end := a.DeclaredEnd(v.now, false)
	if end > v.now && end <= v.loan.until {
		return v.loan.until, true
	}
	return 0, policy == capacity.BackfillPreemptable && !v.tooLong(end)
}

// tooLong reports whether a container would outlast the time at which the reservation can be
// fulfilled, according to the declared lifetimes. The recall of such a container would only lose
// its work. If the reservation may be fulfilled at any moment, no container is too long, because
// nothing is known about the containers for which it waits.
func (v *View) tooLong(end int64) bool {
	return end > v.loan.until && v.loan.until > v.now
}

// fitsBeside reports whether a container takes nothing for which the reservation waits: of every
// resource that the container uses, the node then still has as much as the reservation needs. Such
// a container may run forever.
func (v *View) fitsBeside(size yarn.Resource, n *state.Node) bool {
	left := n.Unallocated().Sub(size)
	for i := range v.kindsThatCount() {
		if size[i] > 0 && left[i] < v.loan.size[i] {
			return false
		}
	}
	return true
}

func (v *View) mayLease(a *state.App, k *state.Ask, n *state.Node) bool {
	_, ok := v.lease(a, k, n)
	return ok
}

// recall recalls leases when the reservation waits only for them. Borrowers without a deadline end
// now. The others have as long as preempted containers have.
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

// needed returns the leases without whose end the reservation has no room, and that are not
// recalled yet. It spares those with a deadline first, and of these the oldest.
func (s *Scheduler) needed(r *state.Reservation, room yarn.Resource) []state.ContainerSlot {
	var leased []state.ContainerSlot
	for slot := range s.st.LeasedFrom(r) {
		if !s.st.Preemptions.Has(slot) {
			leased = append(leased, slot)
		}
	}
	slices.SortFunc(leased, func(a, b state.ContainerSlot) int {
		x, y := s.st.Leases.Get(a), s.st.Leases.Get(b)
		c, d := s.st.Containers.Get(a), s.st.Containers.Get(b)
		return cmp.Or(cmp.Compare(boolToInt(x.DeadlineMillis == 0), boolToInt(y.DeadlineMillis == 0)),
			cmp.Compare(c.AllocatedMillis, d.AllocatedMillis), cmp.Compare(c.App, d.App), cmp.Compare(c.Number, d.Number))
	})
	return slices.DeleteFunc(leased, func(slot state.ContainerSlot) bool {
		less := room.Sub(s.st.Containers.Get(slot).Size)
		if !s.cfg.Calculator.FitsIn(r.Size, less) {
			return false
		}
		room = less
		return true
	})
}

// recallLease warns the container of a lease that it will end at the given time, or at its own
// deadline if that is earlier.
func (s *Scheduler) recallLease(slot state.ContainerSlot, queue string, at int64) {
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

// TakeRecalled returns the containers that must end now because the room that they borrowed is
// needed.
func (s *Scheduler) TakeRecalled() []state.ContainerSlot {
	recalled := s.recalled
	s.recalled = nil
	return recalled
}

// leaseEnd returns when the container of a lease must end: at the deadline of its warning, or else
// of the lease. It returns the largest number if the lease has no deadline.
func (s *Scheduler) leaseEnd(slot state.ContainerSlot, l *state.Lease) int64 {
	switch {
	case s.st.Preemptions.Has(slot):
		return s.st.Preemptions.Get(slot).DeadlineMillis
	case l.DeadlineMillis == 0:
		return math.MaxInt64
	}
	return l.DeadlineMillis
}

// FirstLeaseEnd returns when the next container on borrowed room must end, in Unix milliseconds; the
// largest number if none must.
func (s *Scheduler) FirstLeaseEnd() int64 {
	first := int64(math.MaxInt64)
	s.st.Leases.Each(func(slot state.ContainerSlot, l *state.Lease) bool {
		first = min(first, s.leaseEnd(slot, l))
		return true
	})
	return first
}

// EndLeases ends the containers whose leases have expired: TakeRecalled returns them.
func (s *Scheduler) EndLeases() {
	type due struct {
		slot   state.ContainerSlot
		warned bool
	}
	var over []due
	s.st.Leases.Each(func(slot state.ContainerSlot, l *state.Lease) bool {
		if s.leaseEnd(slot, l) <= s.now {
			over = append(over, due{slot, s.st.Preemptions.Has(slot)})
		}
		return true
	})
	for _, d := range over {
		if d.warned {
			s.recalled = append(s.recalled, d.slot)
			continue
		}
		r := s.st.Reservations.Get(s.st.Reservations.Find(s.st.Leases.Get(d.slot).Reservation))
		s.recallLease(d.slot, s.cfg.Queues[s.LeafOf(s.st.Apps.Get(r.App))].Path, s.now)
	}
}
