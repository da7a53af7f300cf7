package state

import (
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
)

// Location returns the slot of an ask's entry for a host or rack, or 0 if there is none.
func (s *Demand) Location(k *Ask, name NameSlot) LocationSlot {
	return s.Locations.Find(&s.Asks, k, name)
}

// setLocation sets how many containers are asked for at a place, and returns how many were before.
func (s *Demand) setLocation(ask AskSlot, name NameSlot, count int64, relax bool) (before int64) {
	k := s.Asks.Mut(ask)
	if slot := s.Location(k, name); slot != 0 {
		before = s.Locations.Get(slot).Count
		if count == 0 {
			s.dropLocation(k, slot)
			return before
		}
		l := s.Locations.Mut(slot)
		l.Count, l.Relax = count, relax
		return before
	}
	if count == 0 {
		return 0
	}
	slot, l := table.Alloc(&s.Locations.Table)
	*l = Location{Name: s.Names.Retain(name), Count: count, Relax: relax, Next: k.Locations, Ask: ask}
	if k.Locations != 0 {
		s.Locations.Mut(k.Locations).Prev = slot
	}
	many := k.ManyLocations()
	k.Locations = slot
	k.Entries++
	switch {
	case many:
		s.Locations.Enter(&s.Asks, slot)
	case k.ManyLocations():
		s.Locations.EnterAll(&s.Asks, k)
	}
	return 0
}

func (s *Demand) dropLocation(k *Ask, slot LocationSlot) {
	if k.ManyLocations() {
		if k.Entries-1 == ManyLocations+1 { // the rest needs no index
			s.Locations.LeaveAll(&s.Asks, k)
		} else {
			s.Locations.Leave(&s.Asks, slot)
		}
	}
	l := *s.Locations.Get(slot)
	if l.Prev != 0 {
		s.Locations.Mut(l.Prev).Next = l.Next
	} else {
		k.Locations = l.Next
	}
	if l.Next != 0 {
		s.Locations.Mut(l.Next).Prev = l.Prev
	}
	table.Release(&s.Locations.Table, slot)
	s.Names.Unretain(&s.Meta, l.Name)
	k.Entries--
}

func (s *Demand) dropLocations(k *Ask) {
	if k.ManyLocations() {
		s.Locations.LeaveAll(&s.Asks, k)
	}
	for slot, l := range s.Locations.Of(k) {
		s.Names.Unretain(&s.Meta, l.Name)
		table.Release(&s.Locations.Table, slot)
	}
	k.Locations, k.Entries = 0, 1
}

func (s *Demand) takeLocation(k *Ask, name NameSlot) {
	slot := s.Location(k, name)
	if slot == 0 {
		return
	}
	l := s.Locations.Mut(slot)
	if l.Count--; l.Count == 0 {
		s.dropLocation(k, slot)
	}
}

func (s *Demand) putLocation(ask AskSlot, name NameSlot) {
	k := s.Asks.Get(ask)
	count, relax := int64(1), true
	if l := s.Location(k, name); l != 0 {
		count, relax = s.Locations.Get(l).Count+1, s.Locations.Get(l).Relax
	}
	s.setLocation(ask, name, count, relax)
}

var _ = stored(1, part.Derived[State]{Part: part.Rows(10, "locations",
	func(s *State) *table.Table[LocationSlot, Location] { return &s.Locations.Table }, (*Location).Code),
	Links:  func(s *State) { s.Locations.Link(&s.Asks) },
	Agrees: func(s *State) error { return s.Locations.Check(&s.Asks, &s.Names) }})
