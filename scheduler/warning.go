package scheduler

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// Before a container is preempted, rmd warns its AM, with a deadline. The state holds the warnings.
// A warning ends when it is withdrawn, when the container ends by itself, or when the container is
// preempted at the deadline. A round of preemption decides. Only three things withdraw a warning at
// once: the end of its reservation, a move of an application, and a configuration without
// preemption.

// AskPreemption warns a container. It sets e.Container.
func (s *Scheduler) AskPreemption(container state.ContainerSlot, e event.PreemptionAsked) {
	e.Container = s.st.Apps.Ref(s.st.Containers.Get(container))
	s.Emit(&e)
}

// WithdrawPreemption withdraws the warning of a container.
func (s *Scheduler) WithdrawPreemption(container state.ContainerSlot, cause yarn.WithdrawalCause) {
	s.Emit(&event.PreemptionWithdrawn{Container: s.st.Apps.Ref(s.st.Containers.Get(container)), Cause: cause})
}

// withdrawFor withdraws the warnings for a reservation that is about to end.
func (s *Scheduler) withdrawFor(r *state.Reservation, cause yarn.WithdrawalCause) {
	var warned []state.ContainerSlot
	for slot := range s.st.PreemptedFor(r) {
		warned = append(warned, slot)
	}
	for _, slot := range warned {
		s.WithdrawPreemption(slot, cause)
	}
}

// WithdrawMoved withdraws the warnings of the containers of an application that moves to another
// queue, and the warnings for its reservations, because the entitlements of the queues change.
func (s *Scheduler) WithdrawMoved(app state.AppSlot) {
	s.withdrawWhere(yarn.WithdrawMoved, func(c *state.Container, p *state.Preemption) bool {
		if c.App == app {
			return true
		}
		r := s.st.Reservations.Find(p.Reservation)
		return r != 0 && s.st.Reservations.Get(r).App == app
	})
}

// withdrawAll withdraws all warnings, except those of leases.
func (s *Scheduler) withdrawAll() {
	s.withdrawWhere(yarn.WithdrawDisabled, func(*state.Container, *state.Preemption) bool { return true })
}

// withdrawWhere withdraws the warnings for which when returns true. It keeps the warnings of
// leases, because they do not depend on entitlements.
func (s *Scheduler) withdrawWhere(cause yarn.WithdrawalCause, when func(c *state.Container, p *state.Preemption) bool) {
	var warned []state.ContainerSlot
	s.st.Preemptions.Each(func(slot state.ContainerSlot, p *state.Preemption) bool {
		if p.Cause != yarn.PreemptLease && when(s.st.Containers.Get(slot), p) {
			warned = append(warned, slot)
		}
		return true
	})
	for _, slot := range warned {
		s.WithdrawPreemption(slot, cause)
	}
}

// awaitingPreemption returns the size of a queue's reservations on these nodes that wait
// for warned containers. Reservations that wait for borrowers do not count.
func (v *View) awaitingPreemption(i int32) yarn.Resource {
	if v.at.awaiting == nil {
		v.at.awaiting = v.sumAwaiting()
	}
	return v.at.awaiting[i]
}

func (v *View) sumAwaiting() []yarn.Resource {
	var numbers []uint64
	v.st.Preemptions.Each(func(_ state.ContainerSlot, p *state.Preemption) bool {
		if p.Reservation != 0 && p.Cause != yarn.PreemptLease {
			numbers = append(numbers, p.Reservation)
		}
		return true
	})
	slices.Sort(numbers)
	sums := make([]yarn.Resource, len(v.cfg.Queues))
	for _, number := range slices.Compact(numbers) {
		r := v.st.Reservations.Get(v.st.Reservations.Find(number))
		if !v.here(r) {
			continue
		}
		for i := v.leafOfReservation(r); i >= 0; i = v.queues[i].parent {
			sums[i] = sums[i].Add(r.Size)
		}
	}
	return sums
}

// awaits reports whether a reservation waits for warned containers that have not borrowed its room.
func (s *Scheduler) awaits(r *state.Reservation) bool {
	for _, p := range s.st.PreemptedFor(r) {
		if p.Cause != yarn.PreemptLease {
			return true
		}
	}
	return false
}

// forgetAwaiting discards the cached results of awaitingPreemption.
func (s *Scheduler) forgetAwaiting() {
	for _, p := range s.partitions {
		p.awaiting = nil
	}
}
