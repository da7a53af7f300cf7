package state

// NameOf returns the text of an interned name, or "" for 0.
func (s *State) NameOf(id NameID) string {
	if id == 0 {
		return ""
	}
	return s.Names.Get(id).Text
}

// NameID returns the number of a name, or 0 if it is not interned.
func (s *State) NameID(text string) NameID {
	return s.byName.find(hashString(text), func(slot uint32) bool { return s.Names.Get(slot).Text == text })
}

// intern returns the number of a name, which it adds if needed. Names are hosts, racks and users,
// so they are few. releaseNames removes those of forgotten nodes; other names are never removed.
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
