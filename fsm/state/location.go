package state

import (
	"fmt"

	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
)

// Location returns the slot of an ask's entry for a host or rack, or 0 if there is none.
func (s *Demand) Location(k *Ask, name NameSlot) LocationSlot {
	if name == 0 {
		return 0
	}
	if k.ManyLocations() {
		return s.Locations.Index.Find(hashLocation(k, name), func(slot LocationSlot) bool {
			l := s.Locations.Get(slot)
			of := s.Asks.Get(l.Ask)
			return l.Name == name && of.App == k.App && of.Key == k.Key
		})
	}
	for slot, l := range s.Locations.Of(k) {
		if l.Name == name {
			return slot
		}
	}
	return 0
}

func hashLocation(k *Ask, name NameSlot) uint64 {
	h := table.Mix(uint64(k.App)<<32 | uint64(uint32(k.Key.Priority)))
	return table.Mix(table.Mix(h^uint64(k.Key.AllocationID)) ^ uint64(name))
}

func (s *Demand) hashOfLocation(slot LocationSlot) uint64 {
	l := s.Locations.Get(slot)
	return hashLocation(s.Asks.Get(l.Ask), l.Name)
}

// indexLocations adds the locations of an ask to the index.
func (s *Demand) indexLocations(k *Ask) {
	for slot := range s.Locations.Of(k) {
		s.Locations.Index.Insert(s.hashOfLocation(slot), slot, s.hashOfLocation)
	}
}

// unindexLocations removes the locations of an ask from the index.
func (s *Demand) unindexLocations(k *Ask) {
	for slot := range s.Locations.Of(k) {
		s.Locations.Index.Remove(s.hashOfLocation(slot), slot, s.hashOfLocation)
	}
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
	slot, l := s.Locations.Alloc()
	*l = Location{Name: s.Names.Retain(name), Count: count, Relax: relax, Next: k.Locations, Ask: ask}
	if k.Locations != 0 {
		s.Locations.Mut(k.Locations).Prev = slot
	}
	many := k.ManyLocations()
	k.Locations = slot
	k.Entries++
	switch {
	case many:
		s.Locations.Index.Insert(s.hashOfLocation(slot), slot, s.hashOfLocation)
	case k.ManyLocations():
		s.indexLocations(k)
	}
	return 0
}

func (s *Demand) dropLocation(k *Ask, slot LocationSlot) {
	if k.ManyLocations() {
		if k.Entries-1 == ManyLocations+1 { // the rest needs no index
			s.unindexLocations(k)
		} else {
			s.Locations.Index.Remove(s.hashOfLocation(slot), slot, s.hashOfLocation)
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
	s.Locations.Release(slot)
	s.Names.Unretain(&s.Meta, l.Name)
	k.Entries--
}

func (s *Demand) dropLocations(k *Ask) {
	if k.ManyLocations() {
		s.unindexLocations(k)
	}
	for slot, l := range s.Locations.Of(k) {
		s.Names.Unretain(&s.Meta, l.Name)
		s.Locations.Release(slot)
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

// linkLocations sets the fields of locations that are not in snapshots, and fills the index. It
// stops in a damaged list; Check reports it.
func (s *Demand) linkLocations() {
	left := s.Locations.Len()
	s.Asks.Each(func(ask AskSlot, k *Ask) bool {
		prev := LocationSlot(0)
		for slot := k.Locations; left > 0 && s.Locations.Has(slot); left-- {
			l := s.Locations.Mut(slot)
			l.Ask, l.Prev, prev = ask, prev, slot
			slot = l.Next
		}
		return true
	})
	s.Locations.Each(func(slot LocationSlot, l *Location) bool {
		if s.Asks.Has(l.Ask) && s.Asks.Get(l.Ask).ManyLocations() {
			s.Locations.Index.Insert(s.hashOfLocation(slot), slot, s.hashOfLocation)
		}
		return true
	})
}

// checkLocations checks that the index has exactly the locations of asks with many locations.
func (s *Demand) checkLocations() error {
	var indexed int
	err := error(nil)
	s.Locations.Each(func(slot LocationSlot, l *Location) bool {
		k := s.Asks.Get(l.Ask)
		if k.ManyLocations() {
			indexed++
		}
		if s.Location(k, l.Name) != slot {
			err = fmt.Errorf("location %s of an ask at slot %d is found at slot %d", s.Names.Text(l.Name), slot, s.Location(k, l.Name))
		}
		return err == nil
	})
	if err == nil && s.Locations.Index.Len() != indexed {
		err = fmt.Errorf("%d locations are looked up and there are %d", s.Locations.Index.Len(), indexed)
	}
	return err
}

var locationPart = part.Derived[State]{Part: part.Rows(10, "locations", func(s *State) *table.Table[LocationSlot, Location] { return &s.Locations.Table }, (*Location).Code),
	Links: (*State).linkLocations, Agrees: (*State).checkLocations}
