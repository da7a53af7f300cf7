package check

import (
	"fmt"

	"rmd/fsm/state/record"
	"rmd/fsm/state/table"
)

// EachNameUsed calls f for every reference to a name.
func (s *Tables) EachNameUsed(f func(id record.NameSlot)) {
	s.Nodes.Each(func(_ record.NodeSlot, n *record.Node) bool { f(n.Host); f(n.RackID); return true })
	s.Users.Each(func(_ record.UserSlot, u *record.User) bool { f(u.Name); return true })
	s.Locations.Each(func(_ record.LocationSlot, l *record.Location) bool { f(l.Name); return true })
	s.Apps.Each(func(_ record.AppSlot, a *record.App) bool {
		f(a.User)
		for _, id := range a.Blacklist {
			f(id)
		}
		return true
	})
}

// CheckNames checks that names count their references, and that those without one are gone.
func (s *Tables) CheckNames() error {
	var refs table.Scratch[record.NameSlot, uint32]
	s.EachNameUsed(func(id record.NameSlot) { *refs.At(id)++ })
	var err error
	s.Names.Each(func(id record.NameSlot, n *record.Name) bool {
		if used := *refs.At(id); n.Refs != used || used == 0 {
			err = fmt.Errorf("name %q counts %d references, and %d records refer to it", n.Text, n.Refs, used)
		}
		return err == nil
	})
	return err
}
