package v1

import (
	"context"
	"time"

	"rmd/transport/http/v1/api"
)

// How long the reasons of decisions are waited for: by who asks for them, and by a
// stream.
const (
	whyAsked    = 5 * time.Second
	whyStreamed = 100 * time.Millisecond
)

// why asks for reasons, at most for a time.
func (s *API) why(ctx context.Context, indexes []uint64, wait time.Duration) map[uint64][]api.Because {
	if s.cfg.Planner.Why == nil || len(indexes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return s.cfg.Planner.Why(ctx, indexes, wait == whyAsked)
}

// Reasons are those of the decisions of some entries, as far as they are at hand in time;
// on says that this replica finds them out at all.
func (s *API) Reasons(ctx context.Context, indexes []uint64, wait time.Duration) (reasons map[uint64][]api.Because, on bool) {
	return s.why(ctx, indexes, wait), s.cfg.Planner.Why != nil
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
