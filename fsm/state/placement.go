package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
)

var _ = applies((*State).applicationPlaced)

func (s *State) applicationPlaced(e *event.ApplicationPlaced) error {
	slot := s.Apps.Find(e.App)
	switch {
	case slot == 0 || e.Rule == 0:
		return broken(e, "no application %d, or rule %d", e.App, e.Rule)
	case s.Placements.Has(slot) || s.Apps.Get(slot).AttemptState != AttemptNone:
		return broken(e, "it was placed, or has an attempt")
	}
	*table.Place(&s.Placements.Table, slot) = Placement{Rule: e.Rule, Text: e.Text, Why: e.Why, For: e.For}
	s.fold(uint64(slot)<<32 | uint64(e.Rule))
	for _, text := range []string{e.Text, e.Why, e.For} {
		s.fold(table.Hash(text))
	}
	return nil
}

var _ = stored(1, part.Derived[State]{Part: part.Rows(33, "placements",
	func(s *State) *table.Table[AppSlot, Placement] { return &s.Placements.Table }, (*Placement).Code),
	Agrees: agrees((*check.Tables).CheckPlacements)})
