package raftstore

import (
	"errors"

	"github.com/hashicorp/raft"
)

// errNoBolt: the simulation, which is all that is built for wasip1, hands its
// stores in.
var errNoBolt = errors.New("no store on disk on this platform: memory cannot be mapped")

// boltStore stands for the store on disk, which this platform cannot have.
type boltStore struct{ *raft.InmemStore }

func openBolt(string, bool) (*boltStore, error) { return nil, errNoBolt }

// Close closes nothing.
func (*boltStore) Close() error { return nil }

func (*boltStore) freeBytes() int64 { return 0 }

func checkBolt(string) error { return errNoBolt }
