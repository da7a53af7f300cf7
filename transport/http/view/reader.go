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
	// kept any more is a *problem.TooOldError. It returns fewer, and one at
	// least, where they are large.
	Entries(ctx context.Context, from uint64, count int) (entries []LogEntry, first, last uint64, err error)
}

// LogBefore returns the entries of a log from an index on and before another one. Where they are large
// it returns the last of them; then from is where those begin.
func LogBefore(ctx context.Context, log LogReader, from, before uint64) (entries []LogEntry, began, first uint64, err error) {
	for {
		entries, first, _, err = log.Entries(ctx, from, int(before-from))
		if err != nil || len(entries) == 0 || entries[len(entries)-1].Index+1 >= before || before-from <= 1 {
			return entries, from, first, err
		}
		from += (before - from + 1) / 2
	}
}
