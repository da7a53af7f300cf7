package state

import (
	"fmt"

	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// Name is an interned host, rack or user. refs counts the fields of type NameSlot that have it; not in
// snapshots.
type Name struct {
	Text string
	refs uint32
}

// Names is the table of names.
type Names struct {
	table.Keyed[NameSlot, Name, *Name]
}

// The table of names has the hosts, racks and users that other records refer to. A name counts
// these records, and leaves the table with the last one. Otherwise an AM that names many hosts
// would fill the table for good. The next new name gets the number of one that has left.

// Text returns the text of an interned name, or "" for 0.
func (t *Names) Text(id NameSlot) string {
	if id == 0 {
		return ""
	}
	return t.Get(id).Text
}

// Find returns the slot of a name, or 0 if nothing refers to it.
func (t *Names) Find(text string) NameSlot {
	return t.Lookup(table.Hash(text), func(r *Name) bool { return r.Text == text })
}

// intern returns the number of a name, which it adds if needed, and counts one reference. The
// caller must release it with unretain.
func (t *Names) intern(m *Meta, text string) NameSlot {
	id := t.Find(text)
	if id == 0 {
		var n *Name
		id, n = t.Alloc()
		n.Text = text
		m.fold(table.Hash(text))
		t.Insert(id)
	}
	return t.retain(id)
}

// retain counts one more reference to a name.
func (t *Names) retain(id NameSlot) NameSlot {
	t.Mut(id).refs++
	return id
}

// unretain gives up one reference to a name, or none for 0. The name leaves the table with the
// last one.
func (t *Names) unretain(m *Meta, id NameSlot) {
	if id == 0 {
		return
	}
	n := t.Mut(id)
	if n.refs--; n.refs == 0 {
		t.drop(m, id)
	}
}

func (t *Names) drop(m *Meta, id NameSlot) {
	t.Release(id)
	m.fold(uint64(id))
}

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
			s.Names.retain(id)
		}
	})
}

// checkNames checks that names count their references, and that those without one are gone.
func (s *State) checkNames() error {
	var refs table.Scratch[NameSlot, uint32]
	s.eachNameUsed(func(id NameSlot) { *refs.At(id)++ })
	var err error
	s.Names.Each(func(id NameSlot, n *Name) bool {
		if used := *refs.At(id); n.refs != used || used == 0 {
			err = fmt.Errorf("name %q counts %d references, and %d records refer to it", n.Text, n.refs, used)
		}
		return err == nil
	})
	return err
}

func (n *Name) Hash() uint64          { return table.Hash(n.Text) }
func (n *Name) Same(other *Name) bool { return n.Text == other.Text }

var namePart = derived{part: keyedRows(4, "names", func(s *State) *table.Keyed[NameSlot, Name, *Name] { return &s.Names.Keyed }, func(r *Name, c *codec.Coder) { c.String(&r.Text) }),
	links: (*State).linkNames, agrees: (*State).checkNames}
