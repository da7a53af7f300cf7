package scheduler

import (
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
	e.Container = s.State.Apps.Ref(s.State.Containers.Get(container))
	s.Emit(&e)
}

// WithdrawPreemption withdraws the warning of a container.
func (s *Scheduler) WithdrawPreemption(container state.ContainerSlot, cause yarn.WithdrawalCause) {
	s.Emit(&event.PreemptionWithdrawn{Container: s.State.Apps.Ref(s.State.Containers.Get(container)), Cause: cause})
}

// WithdrawFor withdraws the warnings for a reservation that is about to end.
func (s *Scheduler) WithdrawFor(r *state.Reservation, cause yarn.WithdrawalCause) {
	var warned []state.ContainerSlot
	for slot := range s.State.PreemptedFor(r) {
		warned = append(warned, slot)
	}
	for _, slot := range warned {
		s.WithdrawPreemption(slot, cause)
	}
}

// WithdrawMoved withdraws the warnings of the containers of an application that moves to another
// queue, and the warnings for its reservations, because the entitlements of the queues change.
func (s *Scheduler) WithdrawMoved(app state.AppSlot) {
	s.WithdrawWhere(yarn.WithdrawMoved, func(c *state.Container, p *state.Preemption) bool {
		if c.App == app {
			return true
		}
		r := s.State.Reservations.Find(p.Reservation)
		return r != 0 && s.State.Reservations.Get(r).App == app
	})
}

// WithdrawWhere withdraws the warnings for which when returns true. It keeps the warnings of
// leases, because they do not depend on entitlements.
func (s *Scheduler) WithdrawWhere(cause yarn.WithdrawalCause, when func(c *state.Container, p *state.Preemption) bool) {
	var warned []state.ContainerSlot
	s.State.Preemptions.Each(func(slot state.ContainerSlot, p *state.Preemption) bool {
		if p.Cause != yarn.PreemptLease && when(s.State.Containers.Get(slot), p) {
			warned = append(warned, slot)
		}
		return true
	})
	for _, slot := range warned {
		s.WithdrawPreemption(slot, cause)
	}
}
