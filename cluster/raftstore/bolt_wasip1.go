package raftstore

import (
	"errors"

	"github.com/hashicorp/raft"
)

// errNoBolt: only the simulation is built for wasip1, and it passes in its own stores.
var errNoBolt = errors.New("no store on disk on this platform: memory cannot be mapped")

// boltStore replaces the store on disk, which this platform does not support.
type boltStore struct{ *raft.InmemStore }

func openBolt(string, bool) (*boltStore, error) { return nil, errNoBolt }

// Close does nothing.
func (*boltStore) Close() error { return nil }

func (*boltStore) freeBytes() int64 { return 0 }

func checkBolt(string) error { return errNoBolt }
