package view

import (
	"context"

	"rmd/fsm/event"
	"rmd/fsm/state"
)

// Reader is the committed state of this replica. A fork is read only here, so
// the same one may be handed to several callers.
type Reader interface {
	Fork() (st *state.State, index uint64)
	// Applied is the index and term of what was applied last; it forks nothing.
	Applied() (index, term uint64)
	WaitApplied(ctx context.Context, index uint64) error
	// Watch subscribes to the batches after an index, which the watcher has; 0
	// is from now on. One that is not kept any more is a *problem.TooOldError.
	Watch(after uint64) (Subscription, error)
}

// Batch is one applied entry.
type Batch struct {
	Index, Term uint64
	NowMillis   int64
	Events      []event.Event
}

// Subscription yields applied batches in order. Next returns a *problem.TooOldError or
// problem.ErrResync when the caller was too slow and batches it has not seen are not kept
// any more.
type Subscription interface {
	Next(ctx context.Context) (Batch, error)
	Close()
}

// LogEntry is one raw entry of the replicated log. Type is "events" when Data
// is a batch of events.
type LogEntry struct {
	Index, Term uint64
	Type        string
	Data        []byte
}

// LogReader reads the replicated log of this replica.
type LogReader interface {
	// Entries returns up to count entries from index from on, with the oldest
	// and newest index there is. A from of 0 is the oldest; one that is not
	// kept any more is a *problem.TooOldError.
	Entries(ctx context.Context, from uint64, count int) (entries []LogEntry, first, last uint64, err error)
}
