package state

import (
	"fmt"

	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// eachNameUsed calls f for every reference to a name.
func (s *Cluster) eachNameUsed(f func(id NameSlot)) {
	s.Nodes.Each(func(_ NodeSlot, n *Node) bool { f(n.Host); f(n.RackID); return true })
	s.Users.Each(func(_ UserSlot, u *User) bool { f(u.Name); return true })
	s.Locations.Each(func(_ LocationSlot, l *Location) bool { f(l.Name); return true })
	s.Apps.Each(func(_ AppSlot, a *App) bool {
		f(a.User)
		for _, id := range a.Blacklist {
			f(id)
		}
		return true
	})
}

// linkNames counts the references to names.
func (s *Cluster) linkNames() {
	s.eachNameUsed(func(id NameSlot) {
		if s.Names.Has(id) { // Check reports a reference to none
			s.Names.Retain(id)
		}
	})
}

// checkNames checks that names count their references, and that those without one are gone.
func (s *State) checkNames() error {
	var refs table.Scratch[NameSlot, uint32]
	s.eachNameUsed(func(id NameSlot) { *refs.At(id)++ })
	var err error
	s.Names.Each(func(id NameSlot, n *Name) bool {
		if used := *refs.At(id); n.Refs != used || used == 0 {
			err = fmt.Errorf("name %q counts %d references, and %d records refer to it", n.Text, n.Refs, used)
		}
		return err == nil
	})
	return err
}

var namePart = derived{part: keyedRows(4, "names", func(s *State) *table.Keyed[NameSlot, Name, *Name] { return &s.Names.Keyed }, func(r *Name, c *codec.Coder) { c.String(&r.Text) }),
	links: (*State).linkNames, agrees: (*State).checkNames}
