package raftstore

import (
	"errors"
	"fmt"
)

var (
	// ErrNewer is what VerifySnapshot returns for a snapshot that a newer program has written:
	// nothing is wrong with it.
	ErrNewer = errors.New("written by a newer program")
	// ErrInUse means that another process holds the data directory.
	ErrInUse = errors.New("data directory is in use by another process")
	// ErrSnapshotSuperseded means that a snapshot is of no use: one of a higher index was finished
	// while it was written.
	ErrSnapshotSuperseded = errors.New("a newer snapshot already exists")
	// ErrDamaged means that stored bytes are not what was written.
	ErrDamaged = errors.New("stored data is damaged")
	// ErrPoisoned is returned by stores after the first failed write or sync.
	ErrPoisoned = errors.New("an earlier write to the store failed; restart the replica")
	// ErrForeign means that the data directory belongs to another cluster or replica.
	ErrForeign = errors.New("data directory belongs to another cluster or replica")
	// ErrModes means that others could read or change the data directory.
	ErrModes = errors.New("data directory is open to others")
	// ErrNoData means that no replica has used a directory.
	ErrNoData = errors.New("not a data directory")
)

// recoverDamage makes an error of a panic, for what reads stored bytes and panics at those that it
// cannot make sense of.
func recoverDamage(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: %v: %w", what, p, ErrDamaged)
		}
	}()
	return f()
}
