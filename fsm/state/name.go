package state

// NameOf returns the text of an interned name; "" for 0.
func (s *State) NameOf(id NameID) string {
	if id == 0 {
		return ""
	}
	return s.Names.Get(id).Text
}

// NameID returns the number of a name, or 0 when nobody has used it yet.
func (s *State) NameID(text string) NameID {
	return s.byName.find(hashString(text), func(slot uint32) bool { return s.Names.Get(slot).Text == text })
}

// intern returns the number of a name, giving it one if need be. Names are
// hosts, racks and users: few. Those of a forgotten node are released, the others are kept for ever.
func (s *State) intern(text string) NameID {
	if id := s.NameID(text); id != 0 {
		return id
	}
	id, n := s.Names.alloc()
	n.Text = text
	s.fold(hashString(text))
	s.byName.insert(hashString(text), id, s.hashOfName)
	return id
}

func (s *State) hashOfName(slot uint32) uint64 { return hashString(s.Names.Get(slot).Text) }
