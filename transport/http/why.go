package httpserver

import (
	"context"
	"time"

	"rmd/transport/http/ui"
	"rmd/transport/http/v1/api"
)

// How long the reasons of decisions are waited for: by who asks for them, and by a
// stream.
const (
	whyAsked    = 5 * time.Second
	whyStreamed = 100 * time.Millisecond
)

// why asks for reasons, at most for a time.
func (s *Server) why(ctx context.Context, indexes []uint64, wait time.Duration) map[uint64][]api.Because {
	if s.cfg.Why == nil || len(indexes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return s.cfg.Why(ctx, indexes, wait == whyAsked)
}

// Why implements ui.View.
func (v *pageView) Why(ctx context.Context, list []ui.Decision, wait time.Duration) (all bool) {
	if v.s.cfg.Why == nil {
		return true
	}
	var indexes []uint64
	for _, d := range list {
		if n := len(indexes); n == 0 || indexes[n-1] != d.Index {
			indexes = append(indexes, d.Index)
		}
	}
	told := v.s.why(ctx, indexes, wait)
	for i := range list {
		explainEvent(&list[i].Event, told[list[i].Index], list[i].Place)
	}
	return len(told) == len(indexes)
}

// explainEvents fills in the reasons of an entry's events; place says which ones of
// the entry they are.
func explainEvents(events []api.Event, places []int, told []api.Because) {
	for i := range events {
		explainEvent(&events[i], told, places[i])
	}
}

func explainEvent(e *api.Event, told []api.Because, place int) {
	if place < len(told) && told[place].Text != "" {
		e.Because = &told[place]
	}
}
