package record

import (
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
	Index index.Index[LocationSlot] // of asks with many locations, by ask and name
}

// The hosts and racks of an ask form a list. Most asks name few, and a walk over the list is the
// fastest search. An ask with many locations has an index: an AM may name 100,000 hosts, and each
// offered node searches for its host and its rack.

// ManyLocations is the largest number of locations without an index.
const ManyLocations = 64

// ManyLocations reports whether the index has the locations of the ask.
func (k *Ask) ManyLocations() bool { return k.Entries-1 > ManyLocations }
