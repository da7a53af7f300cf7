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

// boltStore is the store on disk. bbolt panics at damaged pages; boltStore returns an error instead.
type boltStore struct{ *raftboltdb.BoltStore }

// boltOptions returns bbolt's options. Commits do not write the free list; bbolt rebuilds it when
// it opens the file.
func boltOptions(readOnly bool) *bbolt.Options {
	return &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		ReadOnly: readOnly}
}

// openBolt opens the store. It creates the file if there is none and readOnly is false.
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

// freeBytes returns the number of unused bytes in the file.
func (b *boltStore) freeBytes() int64 { return int64(b.Stats().FreeAlloc) }

// checkBolt checks all pages of a store. A missing file is valid.
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
