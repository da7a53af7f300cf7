package record

import (
	"rmd/fsm/state/length"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// Histories is the table of histories of lengths.
type Histories struct {
	table.Table[LengthsSlot, Lengths]
}

// The state records how long containers ran, so that any replica can estimate when running
// containers will end. A history covers all containers, those of a queue, of a user in a queue, or
// of the applications of one name of a user in a queue. There are at most lengthSets*lengthWays
// histories. The key of a history chooses its set. In a full set, a new history replaces the one
// that was not used for the longest time.
const (
	lengthSets = 1024
	lengthWays = 4
)

// Lengths is the histogram of the lengths of some containers.
type Lengths struct {
	Key  uint64 // a hash that identifies the containers; see lengthKeys
	Used uint64 // Meta.Completed when a length was last recorded
	length.Histogram
}

// OfAll returns the history of all containers, or nil if there is none yet.
func (h *Histories) OfAll() *Lengths {
	if slot := h.At(LengthsOfAll); slot != 0 {
		return h.Get(slot)
	}
	return nil
}

// LengthsOfAll is the key of the history of all containers.
const LengthsOfAll = 1

// hashOfAppName hashes an application's name without its digits. The names of a recurring job often
// differ only by a date or a number.
func hashOfAppName(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < '0' || c > '9' {
			h = (h ^ uint64(c)) * 1099511628211
		}
	}
	return h
}

// At returns the slot of a history, or 0 if there is none.
func (h *Histories) At(key uint64) LengthsSlot {
	first := firstLengths(key)
	for slot := first; slot < first+lengthWays; slot++ {
		if h.Has(slot) && h.Get(slot).Key == key {
			return slot
		}
	}
	return 0
}

func firstLengths(key uint64) LengthsSlot { return 1 + LengthsSlot(key%lengthSets)*lengthWays }

// Add adds a history and returns its slot.
func (h *Histories) Add(key uint64) LengthsSlot {
	first := firstLengths(key)
	oldest := first
	for slot := first; slot < first+lengthWays; slot++ {
		if !h.Has(slot) {
			table.Place(&h.Table, slot).Key = key
			return slot
		}
		if h.Get(slot).Used < h.Get(oldest).Used {
			oldest = slot
		}
	}
	*h.Mut(oldest) = Lengths{Key: key}
	return oldest
}

// Code encodes the record, or decodes into it.
func (l *Lengths) Code(c *codec.Coder) {
	c.U64(&l.Key)
	c.U64(&l.Used)
	l.Histogram.Code(c)
}
