package table

import (
	"fmt"

	"rmd/fsm/state/index"
)

// Record is a record that is found by a key in it.
type Record[T any] interface {
	*T
	Hash() uint64       // of the key
	Same(other *T) bool // whether the keys are equal
}

// Keyed is a table whose records are found by their keys. No two records have the same key.
type Keyed[S Slot, T any, R Record[T]] struct {
	Table[S, T]
	index index.Index
}

// InitKeyed makes an empty table. The zero value has no index.
func InitKeyed[S Slot, T any, R Record[T]](t *Keyed[S, T, R]) { t.index = index.New() }

// HashOf returns the hash of the key of the record at a slot.
func (t *Keyed[S, T, R]) HashOf(slot S) uint64 { return R(t.Get(slot)).Hash() }

// hashAt is HashOf for the index.
func hashAt[S Slot, T any, R Record[T]](t *Keyed[S, T, R]) func(slot uint32) uint64 {
	return func(slot uint32) uint64 { return t.HashOf(S(slot)) }
}

// Lookup returns the slot of the record with a key, or 0. The caller gives the hash of the key, and
// says whether a record has it.
func (t *Keyed[S, T, R]) Lookup(hash uint64, has func(r *T) bool) S {
	for p := t.index.Probe(hash); ; {
		if slot := S(p.Next()); slot == 0 || has(t.Get(slot)) {
			return slot
		}
	}
}

// InsertKeyed lets a new record be found, whose key has been set.
func InsertKeyed[S Slot, T any, R Record[T]](t *Keyed[S, T, R], slot S) {
	t.index.Insert(t.HashOf(slot), uint32(slot), hashAt(t))
}

// ReleaseKeyed empties a slot. The record must still have its key.
func ReleaseKeyed[S Slot, T any, R Record[T]](t *Keyed[S, T, R], slot S) {
	t.index.Remove(t.HashOf(slot), uint32(slot), hashAt(t))
	Release(&t.Table, slot)
}

// ForkKeyed returns a copy that shares all pages. Afterwards both tables copy a page before they write to
// it.
func ForkKeyed[S Slot, T any, R Record[T]](t *Keyed[S, T, R]) Keyed[S, T, R] {
	return Keyed[S, T, R]{Table: Fork(&t.Table), index: t.index.Fork()}
}

// ReindexKeyed fills the index of a table whose records were restored.
func ReindexKeyed[S Slot, T any, R Record[T]](t *Keyed[S, T, R]) {
	t.index.Reserve(t.Len())
	t.Each(func(slot S, _ *T) bool { InsertKeyed(t, slot); return true })
}

// CheckKeyed checks that the index finds every record by its key and has no other entries. So no key
// occurs twice.
func CheckKeyed[S Slot, T any, R Record[T]](t *Keyed[S, T, R], what string) error {
	if t.index.Len() != t.Len() {
		return fmt.Errorf("%d %s are looked up and there are %d", t.index.Len(), what, t.Len())
	}
	var err error
	t.Each(func(slot S, r *T) bool {
		if at := t.Lookup(R(r).Hash(), R(r).Same); at != slot {
			err = fmt.Errorf("of the %s, the one at slot %d is found at slot %d", what, slot, at)
		}
		return err == nil
	})
	return err
}
