package part

import (
	"fmt"

	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// Section is one table in a snapshot: every record with its slot, in slot order. One function both
// encodes and decodes a record.
type Section[St any] struct {
	ID    uint8 // part of the format: append only
	Name  string
	Since uint32 // the feature level that has brought it; snapshots of a cluster below lack it
	// Len is the number of records.
	Len func(s *St) int
	// Each calls f with every slot, ascending, until f returns false.
	Each func(s *St, f func(slot uint32) bool)
	// Code encodes the record at slot, or decodes it into an empty slot.
	Code func(s *St, slot uint32, c *codec.Coder)
}

// Part is one part of the state: a table, or a record that exists once.
type Part[St any] interface {
	Section() Section[St]
	Init(s *St)        // prepares an empty state
	Fork(from, to *St) // to is a copy of from that shares everything
	Reindex(s *St)     // builds what finds the restored records
	Link(s *St)        // sets what follows from the restored records of all parts
	Check(s *St) error // compares the part with the records from which it follows
}

// Copied is a part that needs no more than its section: forks have a copy of it.
type Copied[St any] struct{ Contents Section[St] }

func (p Copied[St]) Section() Section[St] { return p.Contents }
func (Copied[St]) Init(*St)               {}
func (Copied[St]) Fork(_, _ *St)          {}
func (Copied[St]) Reindex(*St)            {}
func (Copied[St]) Link(*St)               {}
func (Copied[St]) Check(*St) error        { return nil }

// Derived is a part with something that follows from records, of this part or of others.
type Derived[St any] struct {
	Part[St]
	Links  func(s *St)       // nil: everything that follows is in snapshots
	Agrees func(s *St) error // nil: nothing to compare
}

func (p Derived[St]) Link(s *St) {
	if p.Links != nil {
		p.Links(s)
	}
}

func (p Derived[St]) Check(s *St) error {
	if err := p.Part.Check(s); err != nil || p.Agrees == nil {
		return err
	}
	return p.Agrees(s)
}

// tablePart is a table of the state.
type tablePart[St any, S table.Slot, T any] struct {
	Copied[St]
	of func(s *St) *table.Table[S, T]
}

func (p tablePart[St, S, T]) Fork(from, to *St) { *p.of(to) = table.Fork(p.of(from)) }

// Rows returns the part of a table, whose records code encodes and decodes.
func Rows[St any, S table.Slot, T any](id uint8, name string, of func(s *St) *table.Table[S, T],
	code func(r *T, c *codec.Coder)) Part[St] {
	return tablePart[St, S, T]{Copied[St]{Section[St]{
		ID: id, Name: name,
		Len: func(s *St) int { return of(s).Len() },
		Each: func(s *St, f func(slot uint32) bool) {
			of(s).Each(func(slot S, _ *T) bool { return f(uint32(slot)) })
		},
		Code: func(s *St, at uint32, c *codec.Coder) {
			t, slot := of(s), S(at)
			if !c.Decoding() {
				code(t.Get(slot), c) // encoding must not write: forks share pages
				return
			}
			if at == 0 || at >= table.MaxSlots || uint32(slot) != at || t.Has(slot) {
				c.Fail(fmt.Errorf("%w: slot %d of %s", codec.ErrMalformed, at, name))
				return
			}
			code(table.Place(t, slot), c)
		},
	}}, of}
}

// keyedPart is a table of the state whose records are found by their keys.
type keyedPart[St any, S table.Slot, T any, R table.Record[T]] struct {
	Copied[St]
	of func(s *St) *table.Keyed[S, T, R]
}

func (p keyedPart[St, S, T, R]) Init(s *St)        { table.InitKeyed(p.of(s)) }
func (p keyedPart[St, S, T, R]) Fork(from, to *St) { *p.of(to) = table.ForkKeyed(p.of(from)) }
func (p keyedPart[St, S, T, R]) Reindex(s *St)     { table.ReindexKeyed(p.of(s)) }
func (p keyedPart[St, S, T, R]) Check(s *St) error { return table.CheckKeyed(p.of(s), p.Contents.Name) }

// Keyed is Rows for a table whose records are found by their keys.
func Keyed[St any, S table.Slot, T any, R table.Record[T]](id uint8, name string, of func(s *St) *table.Keyed[S, T, R],
	code func(r *T, c *codec.Coder)) Part[St] {
	records := Rows(id, name, func(s *St) *table.Table[S, T] { return &of(s).Table }, code)
	return keyedPart[St, S, T, R]{Copied[St]{records.Section()}, of}
}

// Single returns a part that is exactly one record, at slot 1.
func Single[St any](id uint8, name string, code func(s *St, c *codec.Coder)) Part[St] {
	return Copied[St]{Section[St]{
		ID: id, Name: name,
		Len:  func(*St) int { return 1 },
		Each: func(_ *St, f func(uint32) bool) { f(1) },
		Code: func(s *St, slot uint32, c *codec.Coder) {
			if slot != 1 {
				c.Fail(fmt.Errorf("%w: slot %d of %s", codec.ErrMalformed, slot, name))
				return
			}
			code(s, c)
		},
	}}
}

// More returns a part with additional fields for those records of a table for which has returns
// true. Another part has the table itself. A field that a later version adds to a record gets such a
// part, so that snapshots without it can still be read.
func More[St any, S table.Slot, T any](id uint8, name string, of func(s *St) *table.Table[S, T], has func(r *T) bool,
	code func(r *T, c *codec.Coder)) Part[St] {
	each := func(s *St, f func(slot uint32) bool) {
		of(s).Each(func(slot S, r *T) bool { return !has(r) || f(uint32(slot)) })
	}
	return Copied[St]{Section[St]{
		ID: id, Name: name, Each: each,
		Len: func(s *St) (n int) {
			each(s, func(uint32) bool { n++; return true })
			return n
		},
		Code: func(s *St, at uint32, c *codec.Coder) {
			t, slot := of(s), S(at)
			switch {
			case !c.Decoding():
				code(t.Get(slot), c)
			case uint32(slot) != at || !t.Has(slot) || has(t.Get(slot)):
				c.Fail(fmt.Errorf("%w: slot %d of %s", codec.ErrMalformed, at, name))
			default:
				if code(t.Mut(slot), c); !has(t.Get(slot)) {
					c.Fail(fmt.Errorf("%w: slot %d of %s says nothing", codec.ErrMalformed, at, name))
				}
			}
		},
	}}
}
