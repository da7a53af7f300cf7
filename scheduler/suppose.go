package scheduler

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// LiftMaxima takes away the maxima of a leaf and its ancestors on the nodes of the ask's label. Only f
// of Suppose may call it.
func (s *Scheduler) LiftMaxima(leaf int32, ask state.AskSlot) {
	s.Views.LiftMaxima(leaf, s.State.Asks.Get(ask).Label)
	s.ActivateAll() // the limits of AMs depend on the maxima
}

// StartAnyway starts an application that a limit on parallel applications holds back. Only f of
// Suppose may call it.
func (s *Scheduler) StartAnyway(app state.AppSlot) {
	a := s.State.Apps.Get(app)
	s.Emit(&event.AttemptStarted{App: a.ID.Seq, Attempt: a.Attempt})
	s.askForAM(app)
}

// Resize changes the size for which an ask asks, and cancels its reservations. Only f of Suppose may
// call it.
func (s *Scheduler) Resize(ask state.AskSlot, size yarn.Resource) {
	k := s.State.Asks.Get(ask)
	s.CancelOtherSizes(k.App, k.Key, 0, size)
	s.Emit(&event.AskChanged{App: s.State.Apps.Get(k.App).ID.Seq, Key: k.Key, Name: yarn.Any, Count: k.Count, Size: size,
		Relax: k.Relax})
}

// EndDelays lets all asks wait so long that they may leave their hosts and racks, and borrow nodes of
// other labels. It reports whether there are any that must. Only forks may call it.
func (s *Scheduler) EndDelays() (any bool) {
	var asks []state.AskSlot
	s.State.Asks.Each(func(slot state.AskSlot, k *state.Ask) bool {
		if k.Count > 0 && k.IncreaseOf == 0 {
			asks = append(asks, slot)
		}
		return true
	})
	for _, slot := range asks {
		k := s.State.Asks.Get(slot)
		a := s.State.Apps.Get(k.App)
		named, borrows := k.Entries > 1, s.Lends && s.borrower(k)
		any = any || named || borrows
		if named {
			s.Emit(&event.AskCountersUpdated{App: a.ID.Seq, Key: k.Key, Opportunities: math.MaxInt32,
				ReReservations: k.ReReservations})
		}
		if borrows {
			s.updateMisses(a, k.Key, s.OffersToMiss())
		}
	}
	return any
}
