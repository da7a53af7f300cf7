package view

import (
	"context"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
)

// Reader gives access to the committed state of this replica. Callers only read a fork, so several
// of them may get the same one.
type Reader interface {
	Fork() (st *state.State, index uint64)
	// Applied returns the index and term of the last applied entry, without a fork.
	Applied() (index, term uint64)
	WaitApplied(ctx context.Context, index uint64) error
	// Watch subscribes to the batches after an index. 0 means from now on. It returns a
	// *problem.TooOldError if the replica no longer has those batches.
	Watch(after uint64) (Subscription, error)
	// Follow subscribes to future batches and to what they change.
	Follow() (Subscription, error)
}

// Batch is an applied entry. Only a subscription of Follow gets its changes.
type Batch struct {
	Index, Term uint64
	NowMillis   int64
	Events      []event.Event
	Changes     []change.Change
}

// Subscription returns applied batches in order. Next returns a *problem.TooOldError or
// problem.ErrResync if the caller was so slow that the replica no longer has the next batch.
type Subscription interface {
	Next(ctx context.Context) (Batch, error)
	Close()
}

// LogEntry is an undecoded entry of the replicated log. Type is "events" if Data is a batch of
// events.
type LogEntry struct {
	Index, Term uint64
	Type        string
	Data        []byte
}

// LogReader reads this replica's copy of the log.
type LogReader interface {
	// Entries returns up to count entries that begin at index from, and the oldest and newest index
	// in the log. A from of 0 means the oldest. Entries returns fewer entries, but at least one, if
	// they are large. It returns a *problem.TooOldError if the log no longer has index from.
	Entries(ctx context.Context, from uint64, count int) (entries []LogEntry, first, last uint64, err error)
}

// LogBefore returns the entries of a log from one index until just before another. If they are
// large, it returns only the last of them, and began is the index of the first of these.
func LogBefore(ctx context.Context, log LogReader, from, before uint64) (entries []LogEntry, began,
	first uint64, err error) {
	for {
		entries, first, _, err = log.Entries(ctx, from, int(before-from))
		if err != nil || len(entries) == 0 || entries[len(entries)-1].Index+1 >= before || before-from <= 1 {
			return entries, from, first, err
		}
		from += (before - from + 1) / 2
	}
}
