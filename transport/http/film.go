package httpserver

import (
	"context"
	"errors"

	"rmd/fsm/event"
	"rmd/transport/http/ui"
	"rmd/transport/http/v1/api"
)

// The page Replay plays what the log of this replica has recorded: forwards, as
// fast as one likes, from wherever the log that is kept begins.

// Kept implements ui.View.
func (v *pageView) Kept(ctx context.Context) (first, last uint64, err error) {
	if v.s.cfg.Log == nil {
		return 0, 0, notAvailable("the log")
	}
	_, first, last, err = v.s.cfg.Log.Entries(ctx, 0, 1)
	return max(first, 1), min(last, v.index), err
}

// forward calls f with each decoded batch of events behind an index, in order,
// until it returns false or so many entries were read. It says up to where it
// came; done, that there is nothing more.
func (v *pageView) forward(ctx context.Context, after uint64, most int, f func(e LogEntry, b *event.Batch) bool) (at uint64, done bool, err error) {
	if v.s.cfg.Log == nil {
		return 0, true, notAvailable("the log")
	}
	at = after
	for read, step := 0, recentFirst; read < most; step = min(2*step, recentMost) {
		entries, _, _, err := v.s.cfg.Log.Entries(ctx, at+1, step)
		var old *TooOldError
		if errors.As(err, &old) {
			at = old.Oldest - 1
			continue
		}
		if err != nil {
			return at, false, err
		}
		for _, e := range entries {
			if e.Index > v.index {
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

// Played implements ui.View.
func (v *pageView) Played(ctx context.Context, from uint64, millis int64, most int) (index uint64, played int64, ended bool, err error) {
	began := v.timeOf(ctx, from)
	index, ended, err = v.forward(ctx, from, most, func(_ LogEntry, b *event.Batch) bool {
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

// timeOf is the state's clock after an entry, as far as those just before it tell.
func (v *pageView) timeOf(ctx context.Context, index uint64) (at int64) {
	const back = 16
	after := index - min(index, back)
	_, _, _ = v.forward(ctx, after, back, func(e LogEntry, b *event.Batch) bool { // without an answer the next entry tells
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

// After implements ui.View.
func (v *pageView) After(ctx context.Context, index uint64, most int, pass ui.Pass) (next uint64, err error) {
	_, _, err = v.forward(ctx, index, most, func(e LogEntry, b *event.Batch) bool {
		for _, x := range b.Events {
			if pass(x.Kind().String(), v.subject(x), func() api.Event { return v.eventDoc(x) }) {
				next = e.Index
				return false
			}
		}
		return true
	})
	return next, err
}

// batchTime is when a batch was planned; 0 when it does not move the clock.
func batchTime(b *event.Batch) int64 {
	for _, x := range b.Events {
		if t, ok := x.(*event.TimeAdvanced); ok {
			return t.NowMillis
		}
	}
	return 0
}

// Past implements ui.View.
func (v *pageView) Past(ctx context.Context, index uint64) (ui.View, error) {
	if index >= v.index {
		return v, nil
	}
	if v.s.cfg.Past == nil {
		return nil, notAvailable("the state at an earlier index")
	}
	ctx, cancel := context.WithTimeout(ctx, v.s.cfg.ReadTimeout)
	defer cancel()
	st, err := v.s.cfg.Past(ctx, index)
	if err != nil {
		return nil, err
	}
	then := v.s.viewOf(st, index)
	then.keeper = &v.s.past
	return &pageView{view: then, s: v.s, then: true}, nil
}
