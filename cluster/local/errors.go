package local

import (
	"errors"

	"rmd/internal/outcome"
)

var (
	// ErrNotLeader means that the entry was not appended, because another replica or none leads.
	ErrNotLeader = outcome.ErrNotLeader
	// ErrUnknownOutcome means that this replica lost leadership, or raft stopped, while the entry
	// was being committed. The entry may be committed later or never.
	ErrUnknownOutcome = outcome.ErrUnknown
	// ErrNoLeader means that no leader is known.
	ErrNoLeader = errors.New("no leader")
	// ErrClosed is returned after Close and after a fatal error.
	ErrClosed = errors.New("replica is stopping")
	// ErrTooLarge means that an entry is larger than Config.EntryMax. It was not appended.
	ErrTooLarge = outcome.ErrTooLarge
	// ErrDiskFull means that the free space is below Config.DiskStop. The entry was not appended.
	ErrDiskFull = errors.New("disk full, writes are refused")
	// ErrRemoved means that this replica was removed from the cluster.
	ErrRemoved = errors.New("this replica was removed from the cluster")
	// ErrDigest means that this replica's state differs from the majority's.
	ErrDigest = errors.New("state digest differs from the majority's")
)
