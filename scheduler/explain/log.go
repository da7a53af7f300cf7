package explain

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
)

// LogExplainer follows a log and says why each of its events was decided, from the state just before
// it. It decides nothing itself. It is not for concurrent use.
type LogExplainer struct{ s *scheduler.Scheduler }

// NewLogExplainer makes a log explainer that takes st over.
func NewLogExplainer(st *state.State) (*LogExplainer, error) {
	s, err := scheduler.New(st, false)
	if err != nil {
		return nil, err
	}
	return &LogExplainer{s}, nil
}

// State is what the log has come to. It is for reading.
func (x *LogExplainer) State() *state.State { return x.s.State() }

// Follow applies the events of one entry. With explain it says why each of them was decided; one that
// has no reason but its own has an empty one. After an error it must not be used any more.
func (x *LogExplainer) Follow(events []event.Event, explain bool) ([]Decision, error) {
	var out []Decision
	if explain {
		out = make([]Decision, len(events))
	}
	for i, e := range events {
		if explain {
			out[i] = viewOf(x.s).because(e)
		}
		if err := x.s.Apply(e); err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
	}
	return out, nil
}
