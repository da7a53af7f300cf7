package state

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// Placements has the rules that placed applications, by the slot of the App.
type Placements struct {
	table.Table[AppSlot, Placement]
}

// Placement records which placement rule chose an application's queue. Moving the application
// removes its Placement.
type Placement struct {
	Rule uint32 // from 1, in the configuration of that time
	Text string // the text of the rule
	Why  string // why the rule's own queue could not be used, if the rule's fallback was used
	For  string // the user, named by a tag, for whom it was placed; empty: the submitting user
}

// Of returns how an application was placed, or nil if no rule placed it.
func (t *Placements) Of(app AppSlot) *Placement {
	if !t.Has(app) {
		return nil
	}
	return t.Get(app)
}

var _ = applies((*State).applicationPlaced)

func (s *State) applicationPlaced(e *event.ApplicationPlaced) error {
	slot := s.Apps.Find(e.App)
	switch {
	case slot == 0 || e.Rule == 0:
		return broken(e, "no application %d, or rule %d", e.App, e.Rule)
	case s.Placements.Has(slot) || s.Apps.Get(slot).AttemptState != AttemptNone:
		return broken(e, "it was placed, or has an attempt")
	}
	*s.Placements.Place(slot) = Placement{Rule: e.Rule, Text: e.Text, Why: e.Why, For: e.For}
	s.fold(uint64(slot)<<32 | uint64(e.Rule))
	for _, text := range []string{e.Text, e.Why, e.For} {
		s.fold(table.Hash(text))
	}
	return nil
}

// drop removes the Placement of an application.
func (t *Placements) drop(app AppSlot) {
	if t.Has(app) {
		t.Release(app)
	}
}

func (s *State) checkPlacements() (err error) {
	s.Placements.Each(func(slot AppSlot, p *Placement) bool {
		if p.Rule == 0 {
			err = fmt.Errorf("application %s was placed by rule 0", s.Apps.Get(slot).ID)
		}
		return err == nil
	})
	return err
}

func (p *Placement) code(c *codec.Coder) {
	c.U32(&p.Rule)
	c.String(&p.Text)
	c.String(&p.Why)
	c.String(&p.For)
}

var placementPart = derived{part: rows(33, "placements", func(s *State) *table.Table[AppSlot, Placement] { return &s.Placements.Table }, (*Placement).code),
	agrees: (*State).checkPlacements}
