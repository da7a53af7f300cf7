package eventlog

import (
	"context"
	"errors"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
)

// This file reads the log forwards, from its oldest entry on.

// Kept returns the oldest and the newest index from which the log can be played.
func (x Reader) Kept(ctx context.Context, v *view.View) (first, last uint64, err error) {
	if x.Log == nil {
		return 0, 0, problem.NotAvailable("the log")
	}
	_, first, last, err = x.Log.Entries(ctx, 0, 1)
	return max(first, 1), min(last, v.Index), err
}

// forward calls f with each decoded batch after an index, in order, until f returns false or most
// entries were read. at is the index of the last entry that f accepted; done reports whether there
// are no more entries.
func (x Reader) forward(ctx context.Context, v *view.View, after uint64, most int,
	f func(e view.LogEntry, b *event.Batch) bool) (at uint64, done bool, err error) {
	if x.Log == nil {
		return 0, true, problem.NotAvailable("the log")
	}
	at = after
	for read, step := 0, firstStep; read < most; step = min(2*step, mostStep) {
		entries, _, _, err := x.Log.Entries(ctx, at+1, step)
		var old *problem.TooOldError
		if errors.As(err, &old) {
			at = old.Oldest - 1
			continue
		}
		if err != nil {
			return at, false, err
		}
		for _, e := range entries {
			if e.Index > v.Index {
				return at, true, nil
			}
			b, err := event.Decode(e.Data)
			if e.Type != "events" || err != nil {
				b = &event.Batch{}
			}
			if !f(e, b) {
				return at, false, nil
			}
			at = e.Index
			read++
		}
		if len(entries) == 0 {
			return at, true, nil
		}
	}
	return at, false, nil
}

// Played plays the log from an index for a number of milliseconds of its own time, but at most most
// entries. It returns the index that it reaches, the time that it has played, and whether it
// reached the end of the log.
func (x Reader) Played(ctx context.Context, v *view.View, from uint64, millis int64, most int) (index uint64,
	played int64, ended bool, err error) {
	began := x.timeOf(ctx, v, from)
	index, ended, err = x.forward(ctx, v, from, most, func(_ view.LogEntry, b *event.Batch) bool {
		at := batchTime(b)
		if began == 0 {
			began = at
		}
		if at == 0 || at-began <= millis {
			played = max(played, at-began)
			return true
		}
		return false
	})
	return index, played, ended, err
}

// timeOf returns the state's clock after an entry. It searches only the 16 entries up to it, and
// returns 0 if none of them advances the clock.
func (x Reader) timeOf(ctx context.Context, v *view.View, index uint64) (at int64) {
	const back = 16
	after := index - min(index, back)
	// on an error, the next entry gives the time
	_, _, _ = x.forward(ctx, v, after, back, func(e view.LogEntry, b *event.Batch) bool {
		if e.Index > index {
			return false
		}
		if t := batchTime(b); t != 0 {
			at = t
		}
		return true
	})
	return at
}

// After returns the index of the first entry after an index that has an event that passes. It reads
// at most most entries and returns 0 if there is none.
func (x Reader) After(ctx context.Context, v *view.View, index uint64, most int, pass Pass) (next uint64, err error) {
	_, _, err = x.forward(ctx, v, index, most, func(e view.LogEntry, b *event.Batch) bool {
		at := batchTime(b)
		for _, x := range b.Events {
			if pass(x.Kind(), v.Subject(x, at), func() api.Event { return v.Event(x, at) }) {
				next = e.Index
				return false
			}
		}
		return true
	})
	return next, err
}

// batchTime returns the time to which a batch advances the clock, or 0 if it does not.
func batchTime(b *event.Batch) int64 {
	for _, x := range b.Events {
		if t, ok := x.(*event.TimeAdvanced); ok {
			return t.NowMillis
		}
	}
	return 0
}
