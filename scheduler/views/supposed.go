package views

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
)

// Suppose calls f with a fork of the state in place of the state: f may apply events and lift limits,
// and what it asks is answered for the fork. Afterwards the views have their state again.
func (s *Views) Suppose(f func()) {
	st := s.State
	s.Rebase(st.Fork())
	partitions, trees := s.Partitions, make([]*capacity.Tree, len(s.Partitions))
	for i, p := range partitions {
		trees[i] = p.Tree
	}
	f()
	for i, p := range partitions {
		p.Tree = trees[i]
	}
	s.Rebase(st)
}

// LiftMaxima takes away the maxima of a leaf and its ancestors on the nodes of a label. Only f of
// Suppose may call it.
func (s *Views) LiftMaxima(leaf int32, label state.LabelSlot) {
	p := s.Partitions[label]
	p.Tree = p.Config.WithoutMaxima(int(leaf)).Compute(p.Total)
	for i := range s.Queues {
		s.Queues[i].touch()
	}
}

// LiftUserLimit lets the users of a leaf use all nodes of the ask's label. Only f of Suppose may call
// it, and nothing may change afterwards.
func (s *Views) LiftUserLimit(leaf int32, ask state.AskSlot) {
	p := s.Partitions[s.State.Asks.Get(ask).Label]
	// 1024: a user's weight may be small
	p.Queues[leaf].own = userLimits{limit: p.Total.Times(1024), known: s.Queues[leaf].Changes}
}
