package ui

import (
	"context"
	"errors"
	"time"

	"rmd/fsm/event"
	"rmd/transport/http/problem"
	"rmd/transport/http/v1/api"
	"rmd/transport/http/view"
)

// How many entries Recent reads at once: few at first, since an entry of a busy
// cluster holds hundreds of events, and then more and more.
const (
	recentFirst = 4
	recentMost  = 128
)

// recent goes back in the log from a position until it has as many events as a limit, or has looked at
// as many as it may.
func (u *UI) recent(ctx context.Context, v *view.View, before Position, limit, look int, pass Pass) (Recent, error) {
	if u.cfg.Log == nil {
		return Recent{}, problem.NotAvailable("the log")
	}
	if before.Index == 0 || before.Index > v.Index {
		before = Position{Index: v.Index + 1}
	}
	r := recentReader{v: v, limit: limit, look: look, pass: pass, out: Recent{Next: before}}
	for step := uint64(recentFirst); !r.done(); step = min(2*step, recentMost) {
		end := r.out.Next.Index // of what is read, exclusive
		if r.out.Next.Place > 0 {
			end++
		}
		from := max(end, step+1) - step
		entries, _, first, err := view.LogBefore(ctx, u.cfg.Log, from, end)
		var old *problem.TooOldError
		if errors.As(err, &old) {
			if first = old.Oldest; first >= end {
				r.out.Next = Position{}
				break
			}
			entries, _, first, err = view.LogBefore(ctx, u.cfg.Log, first, end)
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
		if r.out.Events[i].AtMillis == 0 { // the clock's move is further back than was read
			r.out.Events[i].AtMillis = r.out.Events[i-1].AtMillis
		}
	}
	return r.out, nil
}

// subject is what one of the events is about that there are most of. It says what
// the event's document says.
func subject(v *view.View, e event.Event, atMillis int64) Subject {
	placed := func(app, node uint32) Subject {
		if v.Renumbered(node, atMillis) {
			node = 0
		}
		return Subject{App: app, Node: node, Known: true}
	}
	of := func(c event.ContainerRef) Subject {
		s := Subject{App: c.App, Known: true}
		if slot := v.State.Container(c); slot != 0 {
			s.Node = v.State.Containers.Get(slot).Node
		}
		return s
	}
	switch e := e.(type) {
	case *event.ContainerAllocated:
		return placed(e.App, e.Node)
	case *event.ContainerLent:
		return placed(e.App, e.Node)
	case *event.ReservationMade:
		return placed(e.App, e.Node)
	case *event.ContainerLaunched:
		return of(e.Container)
	case *event.ContainerReleased:
		return of(e.Container)
	case *event.ContainerCompleted:
		return of(e.Container)
	case *event.AskChanged:
		return Subject{App: e.App, Known: true}
	case *event.ResponseRecorded:
		return Subject{App: e.App, Known: true}
	case *event.TimeAdvanced:
		return Subject{Known: true}
	}
	return Subject{}
}

// recentReader takes a list of the newest events from entries, the last one first.
type recentReader struct {
	v           *view.View
	limit, look int // how many events the list has, and how many are looked at for it
	seen        int
	pass        Pass
	out         Recent
}

func (r *recentReader) done() bool {
	return len(r.out.Events) >= r.limit || r.seen >= r.look || r.out.Next == Position{}
}

// entry adds the events of one entry, the last one first. An entry of a busy cluster has thousands of
// events: the list may end within it.
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
		return // "rmd log show" tells it
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
		if r.pass(ev.Kind().String(), subject(r.v, ev, at), func() api.Event { return r.v.Event(ev, at) }) {
			r.out.Events = append(r.out.Events, Decision{Index: e.Index, Term: e.Term, Place: place - 1, AtMillis: at, Event: r.v.Event(ev, at)})
		}
	}
	r.out.Next.Place = place
}

// fillReasons fills in why events of a list, in its order, were decided, and says whether
// all of that was at hand in time.
func (u *UI) fillReasons(ctx context.Context, list []Decision, wait time.Duration) (all bool) {
	var indexes []uint64
	for _, d := range list {
		if n := len(indexes); n == 0 || indexes[n-1] != d.Index {
			indexes = append(indexes, d.Index)
		}
	}
	reasons, on := u.cfg.API.Reasons(ctx, indexes, wait)
	for i := range list {
		if of := reasons[list[i].Index]; list[i].Place < len(of) && of[list[i].Place].Text != "" {
			list[i].Because = &of[list[i].Place]
		}
	}
	return !on || len(reasons) == len(indexes)
}
