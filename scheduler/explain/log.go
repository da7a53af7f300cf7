package explain

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
)

// LogExplainer follows a log and says why each event was decided, from the state just before it. It
// makes no decisions itself. It is not safe for concurrent use.
type LogExplainer struct{ s *scheduler.Scheduler }

// NewLogExplainer returns a log explainer that owns st from now on.
func NewLogExplainer(st *state.State) (*LogExplainer, error) {
	s, err := scheduler.New(st, false)
	if err != nil {
		return nil, err
	}
	return &LogExplainer{s}, nil
}

// State returns the state after the last entry. The caller must not change it.
func (x *LogExplainer) State() *state.State { return x.s.State() }

// Follow applies the events of one entry. With explain, it returns why each event was decided; the
// decision is empty if the event contains its own reason. After an error the explainer must not be
// used any more.
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
