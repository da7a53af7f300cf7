package record

import "rmd/fsm/state/table"

// Name is an interned host, rack or user. refs counts the fields of type NameSlot that have it; not in
// snapshots.
type Name struct {
	Text string
	Refs uint32
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

// Intern returns the number of a name, which it adds if needed, and counts one reference. The
// caller must release it with unretain.
func (t *Names) Intern(m *Meta, text string) NameSlot {
	id := t.Find(text)
	if id == 0 {
		var n *Name
		id, n = table.Alloc(&t.Keyed.Table)
		n.Text = text
		m.Fold(table.Hash(text))
		table.InsertKeyed(&t.Keyed, id)
	}
	return t.Retain(id)
}

// Retain counts one more reference to a name.
func (t *Names) Retain(id NameSlot) NameSlot {
	t.Mut(id).Refs++
	return id
}

// Unretain gives up one reference to a name, or none for 0. The name leaves the table with the
// last one.
func (t *Names) Unretain(m *Meta, id NameSlot) {
	if id == 0 {
		return
	}
	n := t.Mut(id)
	if n.Refs--; n.Refs == 0 {
		t.drop(m, id)
	}
}

func (t *Names) drop(m *Meta, id NameSlot) {
	table.ReleaseKeyed(&t.Keyed, id)
	m.Fold(uint64(id))
}

// Hash returns the hash of the key.
func (n *Name) Hash() uint64 { return table.Hash(n.Text) }

// Same reports whether the keys are equal.
func (n *Name) Same(other *Name) bool { return n.Text == other.Text }
