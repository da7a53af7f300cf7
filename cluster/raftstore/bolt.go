//go:build !wasip1

package raftstore

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// boltStore is the store on disk. It lies in a file of its own because bbolt maps
// its file into memory, which not every platform of the tests can. Where bbolt meets
// pages that it cannot make sense of, it panics; here that is an error.
type boltStore struct{ *raftboltdb.BoltStore }

// boltOptions: the free list is not written at every commit but found again when opening.
func boltOptions(readOnly bool) *bbolt.Options {
	return &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, ReadOnly: readOnly}
}

// openBolt opens the store, or makes it unless it is only to be read.
func openBolt(path string, readOnly bool) (*boltStore, error) {
	b := &boltStore{}
	return b, recoverDamage(path, func() (err error) {
		b.BoltStore, err = raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: boltOptions(readOnly)})
		return err
	})
}

// FirstIndex implements raft.LogStore.
func (b *boltStore) FirstIndex() (i uint64, err error) {
	err = recoverDamage("first index", func() (err error) { i, err = b.BoltStore.FirstIndex(); return err })
	return i, err
}

// LastIndex implements raft.LogStore.
func (b *boltStore) LastIndex() (i uint64, err error) {
	err = recoverDamage("last index", func() (err error) { i, err = b.BoltStore.LastIndex(); return err })
	return i, err
}

// GetLog implements raft.LogStore.
func (b *boltStore) GetLog(index uint64, l *raft.Log) error {
	return recoverDamage("read", func() error { return b.BoltStore.GetLog(index, l) })
}

// StoreLogs implements raft.LogStore.
func (b *boltStore) StoreLogs(logs []*raft.Log) error {
	return recoverDamage("store", func() error { return b.BoltStore.StoreLogs(logs) })
}

// DeleteRange implements raft.LogStore.
func (b *boltStore) DeleteRange(first, last uint64) error {
	return recoverDamage("delete", func() error { return b.BoltStore.DeleteRange(first, last) })
}

// Set implements raft.StableStore.
func (b *boltStore) Set(key, val []byte) error {
	return recoverDamage("set", func() error { return b.BoltStore.Set(key, val) })
}

// Get implements raft.StableStore.
func (b *boltStore) Get(key []byte) (val []byte, err error) {
	err = recoverDamage("get", func() (err error) { val, err = b.BoltStore.Get(key); return err })
	return val, err
}

// freeBytes is the room in the file that nothing uses.
func (b *boltStore) freeBytes() int64 { return int64(b.Stats().FreeAlloc) }

// checkBolt walks the pages of a store that was not closed in order.
func checkBolt(path string) error {
	if _, serr := os.Stat(path); errors.Is(serr, os.ErrNotExist) {
		return nil
	}
	if err := checkBoltFile(path); err != nil {
		return err
	}
	return recoverDamage(path, func() error { return walkBolt(path) })
}

func walkBolt(path string) (err error) {
	db, err := bbolt.Open(path, 0o600, boltOptions(true))
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bbolt.Tx) error {
		var first error
		for cerr := range tx.Check() {
			if first == nil {
				first = fmt.Errorf("%s: %w: %w", path, cerr, ErrDamaged)
			}
		}
		return first
	})
}
