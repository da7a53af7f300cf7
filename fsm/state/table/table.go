// Package table has the containers of the replicated state: records by slot, in pages that forks share
// until one of them writes, with an index by key where records have one, and lists that are linked
// through records. It knows no record.
//
// Len, Cap, Has, Get, Each, Lookup and List read. Mut and the other functions write, or belong to forks
// and snapshots. Only package state and those of its parts call them, because only events change the
// state; internal/tidy checks this. They are functions because every package that sees a State compiles
// all methods of each table for itself, used or not: with them it took three times as long.
package table

import (
	"math/bits"

	"rmd/fsm/state/index"
)

// A Slot is the place of a record in its table; 0 means none. Each table has a type of slots of its
// own, so that the compiler refuses the slot of one table where that of another is wanted.
type Slot interface{ ~uint16 | ~uint32 }

// MaxSlots bounds the slots in a snapshot, so that damaged bytes cannot cause unbounded memory use.
// After a peak, slots may lie far apart: an empty page between them costs one word.
const MaxSlots = 1 << index.SlotBits

// PageSize is the number of records in a page. The occupancy bits of a page fit in one word.
const PageSize = 64

type page[T any] struct {
	used uint64
	rec  [PageSize]T
}

// Table holds records of one type by slot, in pages that forks share. Slot 0 is never used. A table
// whose records belong to those of another table has the slots of that table.
type Table[S Slot, T any] struct {
	pages []*page[T]
	owned index.Owned
	room  []uint64 // bit p: page p has a free slot
	full  int      // the first full words of room are known to be 0
	live  int
}

// Fork returns a copy that shares all pages. Afterwards both tables copy a page before they write
// to it.
func Fork[S Slot, T any](t *Table[S, T]) Table[S, T] {
	clear(t.owned)
	return Table[S, T]{
		owned: make(index.Owned, len(t.owned)),
		pages: append([]*page[T](nil), t.pages...),
		room:  append([]uint64(nil), t.room...),
		full:  t.full,
		live:  t.live,
	}
}

// Len returns the number of records.
func (t *Table[S, T]) Len() int { return t.live }

// Cap returns one more than the highest slot that may be in use.
func (t *Table[S, T]) Cap() S { return S(len(t.pages) * PageSize) }

// Has reports whether the slot holds a record.
func (t *Table[S, T]) Has(slot S) bool {
	p := slot / PageSize
	return slot != 0 && int(p) < len(t.pages) && t.pages[p].used&(1<<(slot%PageSize)) != 0
}

// Valid reports whether a slot is 0, which refers to no record, or holds a record.
func (t *Table[S, T]) Valid(slot S) bool { return slot == 0 || t.Has(slot) }

// Get returns the record at a slot for reading. The slot must hold a record.
func (t *Table[S, T]) Get(slot S) *T { return &t.pages[slot/PageSize].rec[slot%PageSize] }

// Mut returns the record at a slot for writing.
func (t *Table[S, T]) Mut(slot S) *T { return &own(t, uint32(slot/PageSize)).rec[slot%PageSize] }

func own[S Slot, T any](t *Table[S, T], p uint32) *page[T] {
	pg := t.pages[p]
	if !t.owned.Has(p) {
		clone := *pg
		pg = &clone
		t.pages[p] = pg
		t.owned.Add(p)
	}
	return pg
}

// Alloc returns the lowest free slot and its record, which is zero.
func Alloc[S Slot, T any](t *Table[S, T]) (S, *T) {
	p := lowestRoom(t)
	if p < 0 {
		p = grow(t, nil)
	}
	pg := own(t, uint32(p))
	i := bits.TrailingZeros64(^pg.used)
	pg.used |= 1 << i
	if pg.used == ^uint64(0) {
		t.room[p/64] &^= 1 << (p % 64)
	}
	t.live++
	return S(p*PageSize + i), &pg.rec[i]
}

// NextSlot returns the slot that Alloc will return next.
func NextSlot[S Slot, T any](t *Table[S, T]) S {
	p := lowestRoom(t)
	switch {
	case p >= 0:
		return S(p*PageSize + bits.TrailingZeros64(^t.pages[p].used))
	case len(t.pages) == 0:
		return 1
	}
	return S(len(t.pages) * PageSize)
}

// Place takes the given free slot and returns its record, which is zero. Pages below it that do not
// exist yet share one empty page until something is written to them, so a single high slot costs
// little.
func Place[S Slot, T any](t *Table[S, T], slot S) *T {
	p := int(slot / PageSize)
	if len(t.pages) == 0 {
		grow(t, nil)
	}
	if len(t.pages) < p {
		for empty := new(page[T]); len(t.pages) < p; {
			grow(t, empty)
		}
	}
	if len(t.pages) == p {
		grow(t, nil)
	}
	pg := own(t, uint32(p))
	pg.used |= 1 << (slot % PageSize)
	if pg.used == ^uint64(0) {
		t.room[p/64] &^= 1 << (p % 64)
	}
	t.live++
	return &pg.rec[slot%PageSize]
}

func lowestRoom[S Slot, T any](t *Table[S, T]) int {
	for ; t.full < len(t.room); t.full++ {
		if m := t.room[t.full]; m != 0 {
			return t.full*64 + bits.TrailingZeros64(m)
		}
	}
	return -1
}

// grow appends pg, or a new page if pg is nil, and returns the page's number.
func grow[S Slot, T any](t *Table[S, T], pg *page[T]) int {
	p := len(t.pages)
	if p/64 == len(t.room) {
		t.room = append(t.room, 0)
		t.owned = append(t.owned, 0)
	}
	if pg == nil {
		pg = new(page[T])
		t.owned.Add(uint32(p))
	}
	if p == 0 {
		pg.used = 1 // slot 0 means none
	}
	t.pages = append(t.pages, pg)
	free(t, uint32(p))
	return p
}

// free marks a page as having a free slot.
func free[S Slot, T any](t *Table[S, T], p uint32) {
	t.room[p/64] |= 1 << (p % 64)
	t.full = min(t.full, int(p/64))
}

// Release empties a slot.
func Release[S Slot, T any](t *Table[S, T], slot S) {
	p := uint32(slot / PageSize)
	pg := own(t, p)
	var zero T
	pg.rec[slot%PageSize] = zero
	pg.used &^= 1 << (slot % PageSize)
	free(t, p)
	t.live--
}

// Each calls f for every record in slot order until it returns false.
func (t *Table[S, T]) Each(f func(slot S, r *T) bool) {
	for p, pg := range t.pages {
		m := pg.used
		if p == 0 {
			m &^= 1
		}
		for m != 0 {
			i := bits.TrailingZeros64(m)
			m &= m - 1
			if !f(S(p*PageSize+i), &pg.rec[i]) {
				return
			}
		}
	}
}
