package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// Before a container is preempted its AM is warned, with a deadline. The state has the warnings. Each
// ends in one of three ways: it is withdrawn, the container ends by itself, or the container is
// preempted at the deadline. A round of preemption decides which; only the end of a reservation, a
// move of an application and a configuration without preemption withdraw at once.

// AskPreemption warns a container. The caller leaves e.Container out.
func (s *Scheduler) AskPreemption(container uint32, e event.PreemptionAsked) {
	e.Container = s.st.Ref(s.st.Containers.Get(container))
	s.Emit(&e)
}

// WithdrawPreemption takes the warning of a container back.
func (s *Scheduler) WithdrawPreemption(container uint32, cause yarn.WithdrawalCause) {
	s.Emit(&event.PreemptionWithdrawn{Container: s.st.Ref(s.st.Containers.Get(container)), Cause: cause})
}

// withdrawFor takes the warnings back that stand for a reservation, which is about to end.
func (s *Scheduler) withdrawFor(r *state.Reservation, cause yarn.WithdrawalCause) {
	var warned []uint32
	for slot := range s.st.PreemptedFor(r) {
		warned = append(warned, slot)
	}
	for _, slot := range warned {
		s.WithdrawPreemption(slot, cause)
	}
}

// WithdrawMoved takes the warnings of an application that moves to another queue back, and those that
// stand for its reservations: what queues are owed is another thing then.
func (s *Scheduler) WithdrawMoved(app uint32) {
	s.withdrawWhere(yarn.WithdrawMoved, func(c *state.Container, p *state.Preemption) bool {
		if c.App == app {
			return true
		}
		r := s.st.Reservation(p.Reservation)
		return r != 0 && s.st.Reservations.Get(r).App == app
	})
}

// WithdrawAll takes all warnings back, those of leases apart.
func (s *Scheduler) WithdrawAll(cause yarn.WithdrawalCause) {
	s.withdrawWhere(cause, func(*state.Container, *state.Preemption) bool { return true })
}

// withdrawWhere leaves the warnings of leases alone: they have nothing to do with what queues are owed.
func (s *Scheduler) withdrawWhere(cause yarn.WithdrawalCause, when func(c *state.Container, p *state.Preemption) bool) {
	var warned []uint32
	s.st.Preemptions.Each(func(slot uint32, p *state.Preemption) bool {
		if p.Cause != yarn.PreemptLease && when(s.st.Containers.Get(slot), p) {
			warned = append(warned, slot)
		}
		return true
	})
	for _, slot := range warned {
		s.WithdrawPreemption(slot, cause)
	}
}
