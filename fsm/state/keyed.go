package state

import (
	"fmt"

	"rmd/fsm/state/index"
)

// keyed is a record that is found by a key in it.
type keyed[T any] interface {
	*T
	hash() uint64       // of the key
	same(other *T) bool // whether the keys are equal
}

// Keyed is a table whose records are found by their keys. No two records have the same key.
type Keyed[S slot, T any, R keyed[T]] struct {
	Table[S, T]
	index index.Index[S]
}

func (t *Keyed[S, T, R]) hashOf(slot S) uint64 { return R(t.Get(slot)).hash() }

// find returns the slot of the record with a key, or 0. The caller gives the hash of the key, and
// says whether a record has it.
func (t *Keyed[S, T, R]) find(hash uint64, has func(r *T) bool) S {
	for p := t.index.Probe(hash); ; {
		if slot := p.Next(); slot == 0 || has(t.Get(slot)) {
			return slot
		}
	}
}

// insert lets a new record be found, whose key has been set.
func (t *Keyed[S, T, R]) insert(slot S) { t.index.Insert(t.hashOf(slot), slot, t.hashOf) }

// release empties a slot. The record must still have its key.
func (t *Keyed[S, T, R]) release(slot S) {
	t.index.Remove(t.hashOf(slot), slot, t.hashOf)
	t.Table.release(slot)
}

func (t *Keyed[S, T, R]) fork() Keyed[S, T, R] {
	return Keyed[S, T, R]{Table: t.Table.fork(), index: t.index.Fork()}
}

// reindex fills the index of a table whose records were restored.
func (t *Keyed[S, T, R]) reindex() {
	t.index.Reserve(t.Len())
	t.Each(func(slot S, _ *T) bool { t.insert(slot); return true })
}

// check checks that the index finds every record by its key and has no other entries. So no key
// occurs twice.
func (t *Keyed[S, T, R]) check(what string) error {
	if t.index.Len() != t.Len() {
		return fmt.Errorf("%d %s are looked up and there are %d", t.index.Len(), what, t.Len())
	}
	var err error
	t.Each(func(slot S, r *T) bool {
		if at := t.find(R(r).hash(), R(r).same); at != slot {
			err = fmt.Errorf("of the %s, the one at slot %d is found at slot %d", what, slot, at)
		}
		return err == nil
	})
	return err
}
