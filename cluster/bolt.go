//go:build !wasip1

package cluster

import (
	"errors"
	"fmt"
	"os"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// boltStore is the store on disk. It lies in a file of its own because bbolt maps
// its file into memory, which not every platform of the tests can.
type boltStore struct{ *raftboltdb.BoltStore }

// boltOptions: the free list is not written at every commit but found again when opening.
func boltOptions(readOnly bool) *bbolt.Options {
	return &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, ReadOnly: readOnly}
}

// openBolt opens the store, or makes it.
func openBolt(path string) (*boltStore, error) {
	b, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: boltOptions(false)})
	if err != nil {
		return nil, err
	}
	return &boltStore{b}, nil
}

// freeBytes is the room in the file that nothing uses.
func (b *boltStore) freeBytes() int64 { return int64(b.Stats().FreeAlloc) }

// checkBolt walks the pages of a store that was not closed in order.
func checkBolt(path string) (err error) {
	if _, serr := os.Stat(path); errors.Is(serr, os.ErrNotExist) {
		return nil
	}
	if err := checkBoltFile(path); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil { // bolt panics on pages it cannot make sense of
			err = fmt.Errorf("%s: %v: %w", path, p, ErrDamaged)
		}
	}()
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
