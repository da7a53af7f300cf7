package record

import (
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

// Drop removes the Placement of an application.
func (t *Placements) Drop(app AppSlot) {
	if t.Has(app) {
		table.Release(&t.Table, app)
	}
}

// Code encodes the record, or decodes into it.
func (p *Placement) Code(c *codec.Coder) {
	c.U32(&p.Rule)
	c.String(&p.Text)
	c.String(&p.Why)
	c.String(&p.For)
}
