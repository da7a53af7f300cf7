package state

import (
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// linkNames counts the references to names.
func (s *State) linkNames() {
	s.tables().EachNameUsed(func(id NameSlot) {
		if s.Names.Has(id) { // Check reports a reference to none
			s.Names.Retain(id)
		}
	})
}

var _ = stored(1, part.Derived[State]{Part: part.Keyed(4, "names",
	func(s *State) *table.Keyed[NameSlot, Name, *Name] { return &s.Names.Keyed },
	func(r *Name, c *codec.Coder) { c.String(&r.Text) }),
	Links: (*State).linkNames, Agrees: agrees((*check.Tables).CheckNames)})
