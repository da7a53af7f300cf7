package record

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
	Prev  LocationSlot // not in snapshots: follows from Next
	Ask   AskSlot      // slot of the Ask; not in snapshots
	Relax bool
}

// Code encodes the record, or decodes into it.
func (l *Location) Code(c *codec.Coder) {
	codec.Slot(c, &l.Name)
	c.I64(&l.Count)
	c.Bool(&l.Relax)
	codec.Slot(c, &l.Next)
}

// Locations is the table of the hosts and racks of asks.
type Locations struct {
	table.Table[LocationSlot, Location]
	Index index.Index // of asks with many locations, by ask and name
}

// The hosts and racks of an ask form a list. Most asks name few, and a walk over the list is the
// fastest search. An ask with many locations has an index: an AM may name 100,000 hosts, and each
// offered node searches for its host and its rack.

// ManyLocations is the largest number of locations without an index.
const ManyLocations = 64

// ManyLocations reports whether the index has the locations of the ask.
func (k *Ask) ManyLocations() bool { return k.Entries-1 > ManyLocations }

// Find returns the slot of an ask's entry for a host or rack, or 0 if there is none.
func (t *Locations) Find(asks *Asks, k *Ask, name NameSlot) LocationSlot {
	if name == 0 {
		return 0
	}
	if k.ManyLocations() {
		return LocationSlot(t.Index.Find(hashLocation(k, name), func(slot uint32) bool {
			l := t.Get(LocationSlot(slot))
			of := asks.Get(l.Ask)
			return l.Name == name && of.App == k.App && of.Key == k.Key
		}))
	}
	for slot, l := range t.Of(k) {
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

// hashIn returns the function that hashes locations of asks.
func (t *Locations) hashIn(asks *Asks) func(slot uint32) uint64 {
	return func(slot uint32) uint64 {
		l := t.Get(LocationSlot(slot))
		return hashLocation(asks.Get(l.Ask), l.Name)
	}
}

// Enter adds a location to the index.
func (t *Locations) Enter(asks *Asks, slot LocationSlot) {
	hash := t.hashIn(asks)
	t.Index.Insert(hash(uint32(slot)), uint32(slot), hash)
}

// Leave removes a location from the index.
func (t *Locations) Leave(asks *Asks, slot LocationSlot) {
	hash := t.hashIn(asks)
	t.Index.Remove(hash(uint32(slot)), uint32(slot), hash)
}

// EnterAll adds the locations of an ask to the index.
func (t *Locations) EnterAll(asks *Asks, k *Ask) {
	for slot := range t.Of(k) {
		t.Enter(asks, slot)
	}
}

// LeaveAll removes the locations of an ask from the index.
func (t *Locations) LeaveAll(asks *Asks, k *Ask) {
	for slot := range t.Of(k) {
		t.Leave(asks, slot)
	}
}

// Link sets the fields of locations that are not in snapshots, and fills the index. It stops in a
// damaged list; Check reports it.
func (t *Locations) Link(asks *Asks) {
	left := t.Len()
	asks.Each(func(ask AskSlot, k *Ask) bool {
		prev := LocationSlot(0)
		for slot := k.Locations; left > 0 && t.Has(slot); left-- {
			l := t.Mut(slot)
			l.Ask, l.Prev, prev = ask, prev, slot
			slot = l.Next
		}
		return true
	})
	t.Each(func(slot LocationSlot, l *Location) bool {
		if asks.Has(l.Ask) && asks.Get(l.Ask).ManyLocations() {
			t.Enter(asks, slot)
		}
		return true
	})
}

// Check checks that the index has exactly the locations of asks with many locations.
func (t *Locations) Check(asks *Asks, names *Names) (err error) {
	var indexed int
	t.Each(func(slot LocationSlot, l *Location) bool {
		k := asks.Get(l.Ask)
		if k.ManyLocations() {
			indexed++
		}
		if at := t.Find(asks, k, l.Name); at != slot {
			err = fmt.Errorf("location %s of an ask at slot %d is found at slot %d", names.Text(l.Name), slot, at)
		}
		return err == nil
	})
	if err == nil && t.Index.Len() != indexed {
		err = fmt.Errorf("%d locations are looked up and there are %d", t.Index.Len(), indexed)
	}
	return err
}
