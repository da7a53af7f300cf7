package state

import (
	"iter"

	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

var _ = stored(1, part.Rows(30, "preempted",
	func(s *State) *table.Table[AppSlot, Preempted] { return &s.Preempted.Table }, (*Preempted).Code))
var _ = stored(1, part.Single(31, "preemption-totals", func(s *State, c *codec.Coder) { s.PreemptionTotals.Code(c) }))

// PreemptedFor returns the warned containers that are to make room for a reservation, with their
// slots. All are on the reservation's node.
func (s *Running) PreemptedFor(r *Reservation) iter.Seq2[ContainerSlot, *Preemption] {
	return func(yield func(ContainerSlot, *Preemption) bool) {
		if s.Preemptions.Len() == 0 {
			return
		}
		for slot := range s.Containers.On(s.Nodes.Get(r.Node)) {
			if s.Preemptions.Has(slot) && s.Preemptions.Get(slot).Reservation == r.Number &&
				!yield(slot, s.Preemptions.Get(slot)) {
				return
			}
		}
	}
}

// awaitsPreemption reports whether a reservation still waits for warned containers. Before the
// reservation ends, they must end or their warnings must be withdrawn.
func (s *Running) awaitsPreemption(r *Reservation) bool {
	for range s.PreemptedFor(r) {
		return true
	}
	return false
}

var _ = applies((*State).preemptionAsked)

func (s *Running) preemptionAsked(e *event.PreemptionAsked) error {
	slot, c, a, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	switch {
	case s.Preemptions.Has(slot):
		return broken(e, "it is warned already")
	case !e.Cause.Known() || e.DeadlineMillis < s.Meta.NowMillis || e.Under.Negative() || e.Over.Negative():
		return broken(e, "no such cause, a deadline in the past, or a negative amount")
	case e.Reservation != 0 && !s.Reservations.MakesRoom(slot, c, e.Reservation):
		return broken(e, "its end makes no room for the reservation")
	case e.Cause == yarn.PreemptLease && !s.Leases.From(slot, e.Reservation):
		return broken(e, "the reservation has lent it nothing")
	}
	w := s.changeContainer(change.WarningBegun, slot, c)
	w.Warned, w.Number = e.Cause, e.Reservation
	*table.Place(&s.Preemptions.Table, slot) = Preemption{Reservation: e.Reservation, Queue: e.Queue, Cause: e.Cause,
		AskedMillis: s.Meta.NowMillis, DeadlineMillis: e.DeadlineMillis, Under: e.Under, Over: e.Over,
		Sets: e.Sets, Cost: e.Cost}
	if a.Open() { // otherwise no AM can receive the warning
		s.Containers.AddUndelivered(slot, a)
	}
	s.fold(uint64(slot)<<8 | uint64(e.Cause))
	s.fold(e.Reservation)
	s.fold(uint64(e.DeadlineMillis))
	s.fold(table.Hash(e.Queue))
	return nil
}

var _ = applies((*State).preemptionWithdrawn)

func (s *Running) preemptionWithdrawn(e *event.PreemptionWithdrawn) error {
	slot, c, err := s.containerOf(e, e.Container)
	if err != nil {
		return err
	}
	if !s.Preemptions.Has(slot) || !e.Cause.Known() {
		return broken(e, "it is not warned, or there is no such cause")
	}
	s.releasePreemption(slot, c, e.Cause)
	s.PreemptionTotals.Withdrawn[e.Cause]++
	s.fold(uint64(slot)<<8 | uint64(e.Cause))
	return nil
}

// endPreemption removes the warning of a container that ends. If the container was preempted, it
// updates the losses of its application, the totals, and the reservation's count.
func (s *Running) endPreemption(slot ContainerSlot, c *Container, exit int32) {
	if !s.Preemptions.Has(slot) {
		return
	}
	w := *s.Preemptions.Get(slot)
	s.releasePreemption(slot, c, 0)
	if exit != yarn.ExitPreempted {
		return
	}
	lost := s.Resizes.ResourceSeconds(c, s.Meta.NowMillis)
	t := &s.PreemptionTotals
	t.Preempted[w.Cause]++
	t.ResourceSeconds = t.ResourceSeconds.Add(lost)
	if r := s.Reservations.Find(w.Reservation); r != 0 {
		s.Reservations.Mut(r).Preempted++
	}
	more := Preempted{Containers: uint64(count(!c.AM)), AMs: uint64(count(c.AM)), Size: c.Size, ResourceSeconds: lost}
	for t := range s.Queues.Totals(s.Apps.Get(c.App).Queue) {
		t.Preempted = t.Preempted.Add(more)
	}
	p := s.Preempted.Ensure(c.App)
	*p = p.Add(more)
	s.fold(p.Containers<<32 | p.AMs)
	s.foldResource(p.ResourceSeconds)
}

// releasePreemption removes a warning, which was withdrawn for a cause or, if it is 0, whose container
// ends.
func (s *Running) releasePreemption(slot ContainerSlot, c *Container, cause yarn.WithdrawalCause) {
	s.changeContainer(change.WarningEnded, slot, c).Withdrawn = cause
	table.Release(&s.Preemptions.Table, slot)
}

// redeliverPreemptions makes an AM that registers receive the warnings of all its containers,
// including those that an earlier AM has received.
func (s *Running) redeliverPreemptions(a *App) {
	if s.Preemptions.Len() == 0 {
		return
	}
	for slot := range s.Containers.Of(a) {
		if s.Preemptions.Has(slot) {
			s.Preemptions.Mut(slot).ToldIn = 0
			s.Containers.AddUndelivered(slot, a)
		}
	}
}

var _ = stored(1, part.Derived[State]{Part: part.Rows(29, "preemptions",
	func(s *State) *table.Table[ContainerSlot, Preemption] { return &s.Preemptions.Table }, (*Preemption).Code),
	Agrees: agrees((*check.Tables).CheckPreemptions)})
