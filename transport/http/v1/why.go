package v1

import (
	"context"
	"time"

	"rmd/api"
)

// The time to wait for reasons: for a caller that asks for them, and in a stream.
const (
	whyAsked    = 5 * time.Second
	whyStreamed = 100 * time.Millisecond
)

// why returns the reasons of log entries. It waits at most the given time.
func (s *shared) why(ctx context.Context, indexes []uint64, wait time.Duration) map[uint64][]api.Because {
	if s.cfg.Planner.Why == nil || len(indexes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return s.cfg.Planner.Why(ctx, indexes, wait == whyAsked)
}

// Reasons returns the reasons of the decisions in log entries, as far as they are known in time. on
// reports whether this replica finds reasons at all.
func (s *shared) Reasons(ctx context.Context, indexes []uint64,
	wait time.Duration) (reasons map[uint64][]api.Because, on bool) {
	return s.why(ctx, indexes, wait), s.cfg.Planner.Why != nil
}

// explainEvents fills in the reasons of an entry's events. places has the positions of the events
// in the entry.
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
