package scheduler

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// Suppose calls f with a fork of the state in place of the state: f may apply events and lift limits,
// and what it asks is answered for the fork. Afterwards the scheduler has its state again.
func (s *Scheduler) Suppose(f func()) {
	st := s.st
	s.Rebase(st.Fork())
	partitions, trees := s.partitions, make([]*capacity.Tree, len(s.partitions))
	for i, p := range partitions {
		trees[i] = p.tree
	}
	f()
	for i, p := range partitions {
		p.tree = trees[i]
	}
	s.Rebase(st)
}

// LiftMaxima takes away the maxima of a leaf and its ancestors on the nodes of the ask's label. Only f
// of Suppose may call it.
func (s *Scheduler) LiftMaxima(leaf int32, ask state.AskSlot) {
	p := s.partitions[s.st.Asks.Get(ask).Label]
	p.tree = p.cfg.WithoutMaxima(int(leaf)).Compute(p.total)
	for i := range s.queues {
		s.queues[i].touch()
	}
	s.ActivateAll() // the limits of AMs depend on the maxima
}

// LiftUserLimit lets the users of a leaf use all nodes of the ask's label. Only f of Suppose may call
// it, and nothing may change afterwards.
func (s *Scheduler) LiftUserLimit(leaf int32, ask state.AskSlot) {
	p := s.partitions[s.st.Asks.Get(ask).Label]
	p.queues[leaf].own = userLimits{limit: p.total.Times(1024), known: s.queues[leaf].changes} // 1024: a user's weight may be small
}

// StartAnyway starts an application that a limit on parallel applications holds back. Only f of
// Suppose may call it.
func (s *Scheduler) StartAnyway(app state.AppSlot) {
	a := s.st.Apps.Get(app)
	s.Emit(&event.AttemptStarted{App: a.ID.Seq, Attempt: a.Attempt})
	s.askForAM(app)
}

// Resize changes the size for which an ask asks, and cancels its reservations. Only f of Suppose may
// call it.
func (s *Scheduler) Resize(ask state.AskSlot, size yarn.Resource) {
	k := s.st.Asks.Get(ask)
	s.CancelOtherSizes(k.App, k.Key, 0, size)
	s.Emit(&event.AskChanged{App: s.st.Apps.Get(k.App).ID.Seq, Key: k.Key, Name: yarn.Any, Count: k.Count, Size: size, Relax: k.Relax})
}

// EndDelays lets all asks wait so long that they may leave their hosts and racks, and borrow nodes of
// other labels. It reports whether there are any that must. Only forks may call it.
func (s *Scheduler) EndDelays() (any bool) {
	var asks []state.AskSlot
	s.st.Asks.Each(func(slot state.AskSlot, k *state.Ask) bool {
		if k.Count > 0 && k.IncreaseOf == 0 {
			asks = append(asks, slot)
		}
		return true
	})
	for _, slot := range asks {
		k := s.st.Asks.Get(slot)
		a := s.st.Apps.Get(k.App)
		named, borrows := k.Entries > 1, s.lends && s.borrower(k)
		any = any || named || borrows
		if named {
			s.Emit(&event.AskCountersUpdated{App: a.ID.Seq, Key: k.Key, Opportunities: math.MaxInt32, ReReservations: k.ReReservations})
		}
		if borrows {
			s.updateMisses(a, k.Key, s.OffersToMiss())
		}
	}
	return any
}
