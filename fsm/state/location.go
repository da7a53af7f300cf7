package state

import (
	"fmt"

	"rmd/fsm/state/index"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// Location is a host or rack entry of an Ask. Its count is above 0.
type Location struct {
	Count int64
	Name  NameSlot
	Next  LocationSlot
	prev  LocationSlot // not in snapshots: follows from Next
	ask   AskSlot      // slot of the Ask; not in snapshots
	Relax bool
}

func (l *Location) code(c *codec.Coder) {
	codec.Slot(c, &l.Name)
	c.I64(&l.Count)
	c.Bool(&l.Relax)
	codec.Slot(c, &l.Next)
}

// Locations is the table of the hosts and racks of asks.
type Locations struct {
	table.Table[LocationSlot, Location]
	index index.Index[LocationSlot] // of asks with many locations, by ask and name
}

// The hosts and racks of an ask form a list. Most asks name few, and a walk over the list is the
// fastest search. An ask with many locations has an index: an AM may name 100,000 hosts, and each
// offered node searches for its host and its rack.

// manyLocations is the largest number of locations without an index.
const manyLocations = 64

// Location returns the slot of an ask's entry for a host or rack, or 0 if there is none.
func (s *Demand) Location(k *Ask, name NameSlot) LocationSlot {
	if name == 0 {
		return 0
	}
	if k.manyLocations() {
		return s.Locations.index.Find(hashLocation(k, name), func(slot LocationSlot) bool {
			l := s.Locations.Get(slot)
			of := s.Asks.Get(l.ask)
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

func (k *Ask) manyLocations() bool { return k.Entries-1 > manyLocations }

func hashLocation(k *Ask, name NameSlot) uint64 {
	h := table.Mix(uint64(k.App)<<32 | uint64(uint32(k.Key.Priority)))
	return table.Mix(table.Mix(h^uint64(k.Key.AllocationID)) ^ uint64(name))
}

func (s *Demand) hashOfLocation(slot LocationSlot) uint64 {
	l := s.Locations.Get(slot)
	return hashLocation(s.Asks.Get(l.ask), l.Name)
}

// indexLocations adds the locations of an ask to the index.
func (s *Demand) indexLocations(k *Ask) {
	for slot := range s.Locations.Of(k) {
		s.Locations.index.Insert(s.hashOfLocation(slot), slot, s.hashOfLocation)
	}
}

// unindexLocations removes the locations of an ask from the index.
func (s *Demand) unindexLocations(k *Ask) {
	for slot := range s.Locations.Of(k) {
		s.Locations.index.Remove(s.hashOfLocation(slot), slot, s.hashOfLocation)
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
	*l = Location{Name: s.Names.retain(name), Count: count, Relax: relax, Next: k.Locations, ask: ask}
	if k.Locations != 0 {
		s.Locations.Mut(k.Locations).prev = slot
	}
	many := k.manyLocations()
	k.Locations = slot
	k.Entries++
	switch {
	case many:
		s.Locations.index.Insert(s.hashOfLocation(slot), slot, s.hashOfLocation)
	case k.manyLocations():
		s.indexLocations(k)
	}
	return 0
}

func (s *Demand) dropLocation(k *Ask, slot LocationSlot) {
	if k.manyLocations() {
		if k.Entries-1 == manyLocations+1 { // the rest needs no index
			s.unindexLocations(k)
		} else {
			s.Locations.index.Remove(s.hashOfLocation(slot), slot, s.hashOfLocation)
		}
	}
	l := *s.Locations.Get(slot)
	if l.prev != 0 {
		s.Locations.Mut(l.prev).Next = l.Next
	} else {
		k.Locations = l.Next
	}
	if l.Next != 0 {
		s.Locations.Mut(l.Next).prev = l.prev
	}
	s.Locations.Release(slot)
	s.Names.unretain(&s.Meta, l.Name)
	k.Entries--
}

func (s *Demand) dropLocations(k *Ask) {
	if k.manyLocations() {
		s.unindexLocations(k)
	}
	for slot, l := range s.Locations.Of(k) {
		s.Names.unretain(&s.Meta, l.Name)
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
			l.ask, l.prev, prev = ask, prev, slot
			slot = l.Next
		}
		return true
	})
	s.Locations.Each(func(slot LocationSlot, l *Location) bool {
		if s.Asks.Has(l.ask) && s.Asks.Get(l.ask).manyLocations() {
			s.Locations.index.Insert(s.hashOfLocation(slot), slot, s.hashOfLocation)
		}
		return true
	})
}

// checkLocations checks that the index has exactly the locations of asks with many locations.
func (s *Demand) checkLocations() error {
	var indexed int
	err := error(nil)
	s.Locations.Each(func(slot LocationSlot, l *Location) bool {
		k := s.Asks.Get(l.ask)
		if k.manyLocations() {
			indexed++
		}
		if s.Location(k, l.Name) != slot {
			err = fmt.Errorf("location %s of an ask at slot %d is found at slot %d", s.Names.Text(l.Name), slot, s.Location(k, l.Name))
		}
		return err == nil
	})
	if err == nil && s.Locations.index.Len() != indexed {
		err = fmt.Errorf("%d locations are looked up and there are %d", s.Locations.index.Len(), indexed)
	}
	return err
}

var locationPart = derived{part: rows(10, "locations", func(s *State) *table.Table[LocationSlot, Location] { return &s.Locations.Table }, (*Location).code),
	links: (*State).linkLocations, agrees: (*State).checkLocations}
