// Package preview plays a part of the log again with preemption on, and says what that would have
// done.
package preview

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"time"

	"rmd/analysis/past"
	"rmd/analysis/shadow"
	"rmd/api"
	"rmd/cluster"
	"rmd/fsm/event"
	"rmd/fsm/state"
)

// Limits of a preview.
const (
	entriesMax = 200_000
	eventsMax  = 1_000_000
	bytesMax   = 256 << 20 // of encoded entries: one submission may have 4 MB
	readAtOnce = 64
)

// Preemption says what preemption would have done with a log.
type Preemption struct {
	ID    string // of the replica
	Log   past.Log
	Past  *past.States // of Log
	Eager bool         // how the leaders of the log planned
}

// Between returns what preemption would have done between two times, in Unix milliseconds. It
// replays the log on a rebuilt state of its own. With clip it begins where the log that is kept
// begins, if that is later.
func (r *Preemption) Between(ctx context.Context, from, to int64, clip bool) (*api.PreemptionPreview, error) {
	p := part{r: r, from: from, to: to, clip: clip}
	if err := p.find(); err != nil {
		return nil, err
	}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	o := shadow.DefaultOptions()
	o.Eager, o.MaxHeld = r.Eager, eventsMax
	d, err := shadow.Preview(shadow.Stretch{State: p.st, Index: p.before, Entries: p.entries, ToMillis: to}, o,
		func() bool { return ctx.Err() != nil })
	switch {
	case errors.Is(err, shadow.ErrStopped):
		return nil, &api.Error{Code: api.CodeTimedOut, Message: "playing so long a time takes longer than an answer may",
			Remedy: "choose a shorter time", Status: http.StatusServiceUnavailable}
	case errors.Is(err, shadow.ErrTooLarge):
		return nil, tooMuch(err.Error())
	case err != nil:
		return nil, err
	}
	d.Replica, d.FromMillis, d.ToMillis = r.ID, p.from, to
	return d, nil
}

// part is the part of the log that is replayed.
type part struct {
	r        *Preemption
	from, to int64
	clip     bool   // from may be before the log that is kept
	before   uint64 // the last entry before this part
	st       *state.State
	entries  []shadow.Entry
	events   int // number of events in entries
	bytes    int
}

// find finds the last entry before the requested time at which the state can still be rebuilt.
func (p *part) find() error {
	kept, first, err := p.r.Past.Kept()
	if err != nil {
		return err
	}
	_, _, last, err := p.r.Log.Entries(0, 1)
	if err != nil {
		return err
	}
	oldest := uint64(0) // the empty state
	if first > 1 {
		if len(kept) == 0 {
			return tooLongAgo("nothing of the past is kept here yet", last)
		}
		oldest = kept[len(kept)-1].Index
	}
	p.before = oldest + uint64(sort.Search(int(last-min(oldest, last)), func(i int) bool {
		at, ok := p.timeOf(oldest+1+uint64(i), last)
		return !ok || at >= p.from
	}))
	if p.before > oldest || oldest == 0 {
		return nil
	}
	since, ok := p.timeAfter(oldest, first)
	if !ok {
		since, ok = p.timeOf(max(oldest, first), last)
	}
	switch {
	case !ok || since <= p.from: // nothing happened after that
		return nil
	case p.clip && since < p.to:
		p.from = since
		return nil
	}
	return tooLongAgo("the past is kept since "+time.UnixMilli(since).UTC().Format("2006-01-02 15:04:05 UTC"), oldest)
}

func tooLongAgo(what string, oldest uint64) error {
	return &api.Error{Code: api.CodeTooOld, Message: fmt.Sprintf("%s: the log and the snapshots begin at index %d",
		what, oldest),
		Remedy: "choose a later time; with larger raft.trailing and raft.snapshot_threshold more is kept",
		Status: http.StatusGone}
}

func tooMuch(what string) error {
	return &api.Error{Code: api.CodeTooLarge, Message: what, Remedy: "choose a shorter time",
		Status: http.StatusRequestEntityTooLarge}
}

// timeAfter returns the cluster's time after an entry: that of the last entry up to it that has a
// time. ok is false if none of the last readAtOnce entries up to it is in the log, which begins
// at first, and has a time.
func (p *part) timeAfter(index, first uint64) (millis int64, ok bool) {
	for i := index; i >= first && i+readAtOnce > index; i-- {
		entries, _, _, err := p.r.Log.Entries(i, 1)
		if err != nil || len(entries) == 0 || entries[0].Index != i {
			return 0, false
		}
		if events, err := decoded(entries[0].Type, entries[0].Data); err == nil {
			if at := event.TimeIn(events); at != 0 {
				return at, true
			}
		}
	}
	return 0, false
}

// timeOf returns the cluster's time at an entry, or at the next entry that has a time. ok is false
// if there is none.
func (p *part) timeOf(index, last uint64) (millis int64, ok bool) {
	for index <= last {
		entries, _, _, err := p.r.Log.Entries(index, 16)
		if err != nil || len(entries) == 0 {
			return 0, false
		}
		for _, e := range entries {
			if events, err := decoded(e.Type, e.Data); err == nil {
				if at := event.TimeIn(events); at != 0 {
					return at, true
				}
			}
		}
		index = entries[len(entries)-1].Index + 1
	}
	return 0, false
}

// decoded returns the events of an entry, or nil if it has none.
func decoded(kind string, data []byte) ([]event.Event, error) {
	if kind != "command" {
		return nil, nil
	}
	b, err := event.Decode(data)
	if err != nil {
		return nil, err
	}
	return b.Events, nil
}

// read reads the part of the log, and rebuilds the state before it.
func (p *part) read(ctx context.Context) error {
	for at := p.before + 1; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, first, _, err := p.r.Log.Entries(at, readAtOnce)
		if err != nil {
			return err
		}
		if first > at {
			return tooLongAgo("a snapshot has cut the log meanwhile", first)
		}
		if len(list) == 0 {
			return p.rebuild(ctx)
		}
		at = list[len(list)-1].Index + 1
		for _, e := range list {
			if beyond, err := p.add(e); err != nil {
				return err
			} else if beyond {
				return p.rebuild(ctx)
			}
		}
	}
}

// add adds an entry. beyond reports that the entry is after the end of the requested time. If the
// cluster was created within the requested time, the preview begins there.
func (p *part) add(e cluster.LogEntry) (beyond bool, err error) {
	events, err := decoded(e.Type, e.Data)
	if err != nil {
		return false, fmt.Errorf("the entry at index %d: %w", e.Index, err)
	}
	if event.TimeIn(events) > p.to {
		return true, nil
	}
	if p.before == 0 && configures(events) {
		p.before, p.entries, p.events, p.bytes = e.Index, nil, 0, 0
		return false, nil
	}
	p.entries = append(p.entries, shadow.Entry{Index: e.Index, Events: events})
	p.events, p.bytes = p.events+len(events), p.bytes+len(e.Data)
	if len(p.entries) > entriesMax || p.events > eventsMax || p.bytes > bytesMax {
		return false, tooMuch(fmt.Sprintf("this time has more than %d entries, %d events or %d MB", entriesMax, eventsMax,
			bytesMax>>20))
	}
	return false, nil
}

// configures reports whether events contain a queue configuration.
func configures(events []event.Event) bool {
	for _, e := range events {
		if e.Kind() == event.KindQueuesConfigured {
			return true
		}
	}
	return false
}

func (p *part) rebuild(ctx context.Context) (err error) {
	p.st, err = p.r.Past.ForkAt(ctx, p.before)
	return err
}
