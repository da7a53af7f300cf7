package raftstore

import (
	"errors"
	"fmt"
)

var (
	// ErrNewer is the error of VerifySnapshot for a snapshot that a newer program has written. The
	// snapshot is not damaged.
	ErrNewer = errors.New("written by a newer program")
	// ErrInUse means that another process uses the data directory.
	ErrInUse = errors.New("data directory is in use by another process")
	// ErrSnapshotSuperseded means that a snapshot was dropped, because one with a higher index was
	// finished while it was being written.
	ErrSnapshotSuperseded = errors.New("a newer snapshot already exists")
	// ErrDamaged means that stored data differs from what was written, or is missing.
	ErrDamaged = errors.New("stored data is damaged")
	// ErrPoisoned is the error of all stores after the first failed write or sync.
	ErrPoisoned = errors.New("an earlier write to the store failed; restart the replica")
	// ErrForeign means that the data directory belongs to another cluster or replica.
	ErrForeign = errors.New("data directory belongs to another cluster or replica")
	// ErrModes means that other users could read or change the data directory.
	ErrModes = errors.New("data directory is open to others")
	// ErrNoData means that a directory is not a data directory of a replica.
	ErrNoData = errors.New("not a data directory")
)

// recoverDamage turns a panic of f into an error. It is used for code that reads stored data and
// panics if the data is damaged.
func recoverDamage(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: %v: %w", what, p, ErrDamaged)
		}
	}()
	return f()
}
