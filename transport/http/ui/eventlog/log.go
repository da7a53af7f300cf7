package eventlog

import (
	"context"
	"errors"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
)

// The numbers of entries that recent reads at once. It begins with few, because an entry of a busy
// cluster has hundreds of events, and then reads more and more.
const (
	firstStep = 4
	mostStep  = 128
)

// Recent reads the log backwards from a position until it has limit events, or has read look
// events.
func (x Reader) Recent(ctx context.Context, v *view.View, before Position, limit, look int, pass Pass) (Recent, error) {
	if x.Log == nil {
		return Recent{}, problem.NotAvailable("the log")
	}
	if before.Index == 0 || before.Index > v.Index {
		before = Position{Index: v.Index + 1}
	}
	r := recentReader{v: v, limit: limit, look: look, pass: pass, out: Recent{Next: before}}
	for step := uint64(firstStep); !r.done(); step = min(2*step, mostStep) {
		end := r.out.Next.Index // exclusive end of what to read
		if r.out.Next.Place > 0 {
			end++
		}
		from := max(end, step+1) - step
		entries, _, first, err := view.LogBefore(ctx, x.Log, from, end)
		var old *problem.TooOldError
		if errors.As(err, &old) {
			if first = old.Oldest; first >= end {
				r.out.Next = Position{}
				break
			}
			entries, _, first, err = view.LogBefore(ctx, x.Log, first, end)
		}
		if err != nil {
			return r.out, err
		}
		for i := len(entries) - 1; i >= 0 && !r.done(); i-- {
			r.entry(entries[i])
		}
		if len(entries) == 0 || r.out.Next.Place == 0 && r.out.Next.Index <= max(first, 1) {
			r.out.Next = Position{}
		}
	}
	for i := 1; i < len(r.out.Events); i++ {
		if r.out.Events[i].AtMillis == 0 { // the time is in an earlier entry, which was not read
			r.out.Events[i].AtMillis = r.out.Events[i-1].AtMillis
		}
	}
	return r.out, nil
}

// recentReader collects the newest events from entries, last event first.
type recentReader struct {
	v           *view.View
	limit, look int // events in the list, and events to read for it
	seen        int
	pass        Pass
	out         Recent
}

func (r *recentReader) done() bool {
	return len(r.out.Events) >= r.limit || r.seen >= r.look || r.out.Next == Position{}
}

// entry adds the events of one entry, last event first. The list may end within the entry, because
// an entry of a busy cluster has thousands of events.
func (r *recentReader) entry(e view.LogEntry) {
	place := r.out.Next.Place
	if e.Index != r.out.Next.Index {
		place = 0
	}
	r.out.Next = Position{Index: e.Index}
	r.seen++
	if e.Type != "events" || e.Index > r.v.Index {
		return
	}
	b, err := event.Decode(e.Data)
	if err != nil {
		return // "rmd log show" reports it
	}
	at := batchTime(b)
	for i := len(r.out.Events) - 1; at != 0 && i >= 0 && r.out.Events[i].AtMillis == 0; i-- {
		r.out.Events[i].AtMillis = at
	}
	if place <= 0 || place > len(b.Events) {
		place = len(b.Events)
	}
	for ; place > 0 && len(r.out.Events) < r.limit; place-- {
		ev := b.Events[place-1]
		r.seen++
		if r.pass(ev.Kind(), r.v.Subject(ev, at), func() api.Event { return r.v.Event(ev, at) }) {
			r.out.Events = append(r.out.Events, Decision{Index: e.Index, Term: e.Term, Place: place - 1, AtMillis: at,
				Text: event.Text(ev), Event: r.v.Event(ev, at)})
		}
	}
	r.out.Next.Place = place
}
