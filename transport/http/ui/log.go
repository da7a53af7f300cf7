package ui

import (
	"context"
	"errors"
	"slices"
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

// recent goes back in the log until it has enough, or
// has looked at as much as it may.
func (u *UI) recent(ctx context.Context, v *view.View, before uint64, limit, look int, pass Pass) (Recent, error) {
	if u.cfg.Log == nil {
		return Recent{}, problem.NotAvailable("the log")
	}
	if before == 0 || before > v.Index+1 {
		before = v.Index + 1
	}
	out := Recent{Next: before}
	step := uint64(recentFirst)
	for seen := 0; len(out.Events) < limit && out.Next > 1 && seen < look; step = min(2*step, recentMost) {
		from := max(out.Next, step+1) - step
		entries, _, first, err := view.LogBefore(ctx, u.cfg.Log, from, out.Next)
		if err != nil {
			var old *problem.TooOldError
			if !errors.As(err, &old) {
				return out, err
			}
			if first = old.Oldest; first >= out.Next {
				out.Next = 0
				break
			}
			if entries, _, first, err = view.LogBefore(ctx, u.cfg.Log, first, out.Next); err != nil {
				return out, err
			}
		}
		for i := len(entries) - 1; i >= 0 && len(out.Events) < limit && seen < look; i-- {
			seen += recentEntry(v, entries[i], &out, pass)
			out.Next = entries[i].Index
		}
		if len(entries) == 0 || out.Next <= max(first, 1) {
			out.Next = 0
		}
	}
	if out.Next <= 1 {
		out.Next = 0
	}
	for i := 1; i < len(out.Events); i++ {
		if out.Events[i].AtMillis == 0 { // the clock's move is further back than was read
			out.Events[i].AtMillis = out.Events[i-1].AtMillis
		}
	}
	return out, nil
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

// recentEntry adds the events of one entry, the last one first.
func recentEntry(v *view.View, e view.LogEntry, out *Recent, pass Pass) int {
	if e.Type != "events" || e.Index > v.Index {
		return 1
	}
	b, err := event.Decode(e.Data)
	if err != nil {
		return 1 // "rmd log show" tells it
	}
	var at int64
	for _, ev := range b.Events {
		if t, ok := ev.(*event.TimeAdvanced); ok {
			at = t.NowMillis
		}
	}
	for i := len(out.Events) - 1; at != 0 && i >= 0 && out.Events[i].AtMillis == 0; i-- {
		out.Events[i].AtMillis = at
	}
	for place, ev := range slices.Backward(b.Events) {
		if pass(ev.Kind().String(), subject(v, ev, at), func() api.Event { return v.Event(ev, at) }) {
			out.Events = append(out.Events, Decision{Index: e.Index, Term: e.Term, Place: place, AtMillis: at, Event: v.Event(ev, at)})
		}
	}
	return len(b.Events)
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
