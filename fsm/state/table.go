package state

import (
	"math/bits"

	"rmd/fsm/state/index"
)

// pageSize is the number of records in a page. The occupancy bits of a page fit in one word.
const pageSize = 64

type page[T any] struct {
	used uint64
	rec  [pageSize]T
}

// Table holds records of one type by slot, in pages that forks share. Slot 0 is never used. A table
// whose records belong to those of another table has the slots of that table.
type Table[S slot, T any] struct {
	pages []*page[T]
	owned index.Owned
	room  []uint64 // bit p: page p has a free slot
	full  int      // the first full words of room are known to be 0
	live  int
}

// fork returns a copy that shares all pages. Afterwards both tables copy a page before they write
// to it.
func (t *Table[S, T]) fork() Table[S, T] {
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
func (t *Table[S, T]) Cap() S { return S(len(t.pages) * pageSize) }

// Has reports whether the slot holds a record.
func (t *Table[S, T]) Has(slot S) bool {
	p := slot / pageSize
	return slot != 0 && int(p) < len(t.pages) && t.pages[p].used&(1<<(slot%pageSize)) != 0
}

// valid reports whether a slot is 0, which refers to no record, or holds a record.
func (t *Table[S, T]) valid(slot S) bool { return slot == 0 || t.Has(slot) }

// Get returns the record at a slot for reading. The slot must hold a record.
func (t *Table[S, T]) Get(slot S) *T { return &t.pages[slot/pageSize].rec[slot%pageSize] }

// mut returns the record at a slot for writing.
func (t *Table[S, T]) mut(slot S) *T { return &t.own(uint32(slot / pageSize)).rec[slot%pageSize] }

func (t *Table[S, T]) own(p uint32) *page[T] {
	pg := t.pages[p]
	if !t.owned.Has(p) {
		clone := *pg
		pg = &clone
		t.pages[p] = pg
		t.owned.Add(p)
	}
	return pg
}

// alloc returns the lowest free slot and its record, which is zero.
func (t *Table[S, T]) alloc() (S, *T) {
	p := t.lowestRoom()
	if p < 0 {
		p = t.grow(nil)
	}
	pg := t.own(uint32(p))
	i := bits.TrailingZeros64(^pg.used)
	pg.used |= 1 << i
	if pg.used == ^uint64(0) {
		t.room[p/64] &^= 1 << (p % 64)
	}
	t.live++
	return S(p*pageSize + i), &pg.rec[i]
}

// next returns the slot that alloc will return next.
func (t *Table[S, T]) next() S {
	p := t.lowestRoom()
	switch {
	case p >= 0:
		return S(p*pageSize + bits.TrailingZeros64(^t.pages[p].used))
	case len(t.pages) == 0:
		return 1
	}
	return S(len(t.pages) * pageSize)
}

// place takes the given free slot and returns its record, which is zero. Pages below it that do not
// exist yet share one empty page until something is written to them, so a single high slot costs
// little.
func (t *Table[S, T]) place(slot S) *T {
	p := int(slot / pageSize)
	if len(t.pages) == 0 {
		t.grow(nil)
	}
	if len(t.pages) < p {
		for empty := new(page[T]); len(t.pages) < p; {
			t.grow(empty)
		}
	}
	if len(t.pages) == p {
		t.grow(nil)
	}
	pg := t.own(uint32(p))
	pg.used |= 1 << (slot % pageSize)
	if pg.used == ^uint64(0) {
		t.room[p/64] &^= 1 << (p % 64)
	}
	t.live++
	return &pg.rec[slot%pageSize]
}

func (t *Table[S, T]) lowestRoom() int {
	for ; t.full < len(t.room); t.full++ {
		if m := t.room[t.full]; m != 0 {
			return t.full*64 + bits.TrailingZeros64(m)
		}
	}
	return -1
}

// grow appends pg, or a new page if pg is nil, and returns the page's number.
func (t *Table[S, T]) grow(pg *page[T]) int {
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
	t.free(uint32(p))
	return p
}

// free marks a page as having a free slot.
func (t *Table[S, T]) free(p uint32) {
	t.room[p/64] |= 1 << (p % 64)
	t.full = min(t.full, int(p/64))
}

// release empties a slot.
func (t *Table[S, T]) release(slot S) {
	p := uint32(slot / pageSize)
	pg := t.own(p)
	var zero T
	pg.rec[slot%pageSize] = zero
	pg.used &^= 1 << (slot % pageSize)
	t.free(p)
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
			if !f(S(p*pageSize+i), &pg.rec[i]) {
				return
			}
		}
	}
}
