package scheduler

import (
	"cmp"
	"math"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/views"
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

// lendReserved runs a pass that offers the idle room of a reserved node. It lends nothing while the
// reservation waits only for its own leases and for containers that are about to end.
func (p *pass) lendReserved(node state.NodeSlot) *decision {
	lending := *p
	if lending.Loan = p.s.loanOf(node); !lending.Loan.Lends() {
		return nil
	}
	return lending.offerNode(node)
}

// loanOf returns what a pass on a reserved node lends.
func (s *Scheduler) loanOf(node state.NodeSlot) views.Loan {
	n := s.State.Nodes.Get(node)
	if !s.Backfills || n.Reservation == 0 || !s.HasRoom(n) {
		return views.Loan{}
	}
	r := s.State.Reservations.Get(n.Reservation)
	room := s.RoomOn(r.Node)
	if r.Members != 0 || s.Config.Calculator.FitsIn(r.Size, room) {
		return views.Loan{}
	}
	return views.Loan{Reservation: r.Number, Size: r.Size, Leaf: s.LeafOf(s.State.Apps.Get(r.App)),
		Until: s.earliest(r, room)}
}

// earliest returns the earliest time at which a reservation can be fulfilled if its node now has
// this much room. A container may end at any moment if it has no declared lifetime, is older than
// declared, or is warned.
func (s *Scheduler) earliest(r *state.Reservation, room yarn.Resource) int64 {
	return s.enoughAt(r, room, func(slot state.ContainerSlot, c *state.Container) int64 {
		if s.State.Preemptions.Has(slot) {
			return s.now
		}
		return s.State.Apps.Get(c.App).DeclaredEnd(c.AllocatedMillis, c.AM)
	})
}

// enoughAt returns the time at which the node of a reservation has room for it, if each container
// without a lease ends at the time that endOf returns. A container that the reservation will
// increase does not end.
func (s *Scheduler) enoughAt(r *state.Reservation, room yarn.Resource,
	endOf func(slot state.ContainerSlot, c *state.Container) int64) int64 {
	ends := s.ends[:0]
	for slot, c := range s.State.Containers.On(s.State.Nodes.Get(r.Node)) {
		if c.State.Live() && !s.State.Leases.Has(slot) && slot != r.IncreaseOf {
			ends = append(ends, containerEnd{max(endOf(slot, c), s.now), c.Size})
		}
	}
	s.ends = ends
	return s.enough(r.Size, room, ends)
}

// enough returns the time at which size fits into the free room and the room of the containers that
// have ended, or never.
func (s *rules) enough(size, room yarn.Resource, ends []containerEnd) int64 {
	slices.SortFunc(ends, func(a, b containerEnd) int { return cmp.Compare(a.at, b.at) })
	for _, e := range ends {
		if room = room.Add(e.size); s.Config.Calculator.FitsIn(size, room) {
			return e.at
		}
	}
	return Never
}

// lease returns the deadline of the lease that an ask would get in this view. ok is false if
// it gets none. AMs get no lease, because the recall of an AM would end its application.
func (v *pass) lease(a *state.App, k *state.Ask, n *state.Node) (deadline int64, ok bool) {
	policy := v.Config.Queues[v.LeafOf(a)].Backfill
	switch {
	case policy == capacity.BackfillOff || k.IncreaseOf != 0 || v.State.Gangs.HoldsBack(k) ||
		!v.Config.Calculator.FitsIn(k.Size, n.Unallocated()):
		return 0, false
	case v.fitsBeside(k.Size, n):
		return event.NoLease, true
	case k.AM:
		return 0, false
	}
	end := a.DeclaredEnd(v.s.now, false)
	if end > v.s.now && end <= v.Loan.Until {
		return v.Loan.Until, true
	}
	return 0, policy == capacity.BackfillPreemptable && !v.tooLong(end)
}

// tooLong reports whether a container would outlast the time at which the reservation can be
// fulfilled, according to the declared lifetimes. The recall of such a container would only lose
// its work. If the reservation may be fulfilled at any moment, no container is too long, because
// nothing is known about the containers for which it waits.
func (v *pass) tooLong(end int64) bool {
	return end > v.Loan.Until && v.Loan.Until > v.s.now
}

// fitsBeside reports whether a container takes nothing for which the reservation waits: of every
// resource that the container uses, the node then still has as much as the reservation needs. Such
// a container may run forever.
func (v *pass) fitsBeside(size yarn.Resource, n *state.Node) bool {
	left := n.Unallocated().Sub(size)
	for i := range v.KindsThatCount() {
		if size[i] > 0 && left[i] < v.Loan.Size[i] {
			return false
		}
	}
	return true
}

func (v *pass) mayLease(a *state.App, k *state.Ask, n *state.Node) bool {
	_, ok := v.lease(a, k, n)
	return ok
}

// recall recalls leases when the reservation waits only for them. Borrowers without a deadline end
// now. The others have as long as preempted containers have.
func (s *Scheduler) recall(r *state.Reservation) {
	if s.State.Leases.Len() == 0 {
		return
	}
	room := s.RoomOn(r.Node)
	if !s.Config.Calculator.FitsIn(r.Size, room) {
		return
	}
	queue := s.Config.Queues[s.LeafOf(s.State.Apps.Get(r.App))].Path
	for _, slot := range s.needed(r, room) {
		s.recallLease(slot, queue, s.now+s.Config.Preemption.MaxWaitMillis)
	}
}

// needed returns the leases without whose end the reservation has no room, and that are not
// recalled yet. It spares those with a deadline first, and of these the oldest.
func (s *rules) needed(r *state.Reservation, room yarn.Resource) []state.ContainerSlot {
	var leased []state.ContainerSlot
	for slot := range s.State.LeasedFrom(r) {
		if !s.State.Preemptions.Has(slot) {
			leased = append(leased, slot)
		}
	}
	slices.SortFunc(leased, func(a, b state.ContainerSlot) int {
		x, y := s.State.Leases.Get(a), s.State.Leases.Get(b)
		c, d := s.State.Containers.Get(a), s.State.Containers.Get(b)
		return cmp.Or(compareBools(x.DeadlineMillis == 0, y.DeadlineMillis == 0),
			cmp.Compare(c.AllocatedMillis, d.AllocatedMillis), cmp.Compare(c.App, d.App), cmp.Compare(c.Number, d.Number))
	})
	return slices.DeleteFunc(leased, func(slot state.ContainerSlot) bool {
		less := room.Sub(s.State.Containers.Get(slot).Size)
		if !s.Config.Calculator.FitsIn(r.Size, less) {
			return false
		}
		room = less
		return true
	})
}

// recallLease warns the container of a lease that it will end at the given time, or at its own
// deadline if that is earlier.
func (s *Scheduler) recallLease(slot state.ContainerSlot, queue string, at int64) {
	l := *s.State.Leases.Get(slot)
	if l.DeadlineMillis == 0 {
		at = s.now
	} else {
		at = max(min(at, l.DeadlineMillis), s.now)
	}
	s.AskPreemption(slot, event.PreemptionAsked{Reservation: l.Reservation, Queue: queue, Cause: yarn.PreemptLease,
		DeadlineMillis: at})
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
func (s *rules) leaseEnd(slot state.ContainerSlot, l *state.Lease) int64 {
	switch {
	case s.State.Preemptions.Has(slot):
		return s.State.Preemptions.Get(slot).DeadlineMillis
	case l.DeadlineMillis == 0:
		return math.MaxInt64
	}
	return l.DeadlineMillis
}

// FirstLeaseEnd returns when the next container on borrowed room must end, in Unix milliseconds; the
// largest number if none must.
func (s *rules) FirstLeaseEnd() int64 {
	first := int64(math.MaxInt64)
	s.State.Leases.Each(func(slot state.ContainerSlot, l *state.Lease) bool {
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
	s.State.Leases.Each(func(slot state.ContainerSlot, l *state.Lease) bool {
		if s.leaseEnd(slot, l) <= s.now {
			over = append(over, due{slot, s.State.Preemptions.Has(slot)})
		}
		return true
	})
	for _, d := range over {
		if d.warned {
			s.recalled = append(s.recalled, d.slot)
			continue
		}
		r := s.State.Reservations.Get(s.State.Reservations.Find(s.State.Leases.Get(d.slot).Reservation))
		s.recallLease(d.slot, s.Config.Queues[s.LeafOf(s.State.Apps.Get(r.App))].Path, s.now)
	}
}
