package explain

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler"
	"rmd/yarn"
)

// LogExplainer follows a log and says why each event was decided, from the state just before it. It
// makes no decisions itself. It is not safe for concurrent use.
type LogExplainer struct {
	s     *scheduler.Scheduler
	eager bool
	steps steps
}

// NewLogExplainer returns a log explainer that owns st from now on. The log does not say whether
// its leaders ran eager passes, so the caller does.
func NewLogExplainer(st *state.State, eager bool) (*LogExplainer, error) {
	s, err := scheduler.New(st, eager)
	if err != nil {
		return nil, err
	}
	return &LogExplainer{s: s, eager: eager}, nil
}

// State returns the state after the last entry. The caller must not change it.
func (x *LogExplainer) State() *state.State { return x.s.State }

// Follow applies the events of one entry. With explain, it returns why each event was decided; the
// decision is empty if the event contains its own reason. After an error the explainer must not be
// used any more.
func (x *LogExplainer) Follow(events []event.Event, explain bool) ([]Decision, error) {
	var out []Decision
	if explain {
		out = make([]Decision, len(events))
	}
	x.steps = steps{}
	for i, e := range events {
		if explain {
			x.steps.next = nil
			if i+1 < len(events) {
				x.steps.next = events[i+1]
			}
			out[i] = decisions{preemptions{viewOf(x.s)}, x.eager, x.steps}.because(e)
		}
		if err := x.s.Apply(e); err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
		x.steps.follow(x.s.State.Changes())
	}
	return out, nil
}

// steps are the events next to the present one that belong to the same decision.
type steps struct {
	next event.Event
	// gaveUp is the number of the reservation that the event before has given up for this one, and
	// gaveUpOn its node. 0: none.
	gaveUp   uint64
	gaveUpOn state.NodeSlot
	gang     uint32 // the application of a gang whose members are allocated now; 0: none
}

// follow records what an event has changed.
func (s *steps) follow(changes []change.Change) {
	gang := s.gang
	s.gaveUp, s.gaveUpOn, s.gang = 0, 0, 0
	for i := range changes {
		switch c := &changes[i]; {
		case c.Kind == change.ReservationClosed && c.Cancelled == yarn.CancelExchanged:
			s.gaveUp, s.gaveUpOn = c.Number, c.Node
		case c.Kind == change.GangPhase && c.GangState == state.GangStarting:
			s.gang = c.Ref.App
		case c.Kind == change.ContainerStarted && c.Ref.App == gang:
			s.gang = gang
		}
	}
}
