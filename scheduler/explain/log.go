package explain

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
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
func (x *LogExplainer) State() *state.State { return x.s.State() }

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
			v := viewOf(x.s)
			v.eager, v.steps = x.eager, x.steps
			out[i] = v.because(e)
			x.steps.follow(v.st, e)
		}
		if err := x.s.Apply(e); err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
	}
	return out, nil
}

// steps are the events next to the present one that belong to the same decision.
type steps struct {
	next event.Event
	// gaveUp is the number of the reservation that the event before has given up for this one, and
	// gaveUpOn its node. 0: none.
	gaveUp   uint64
	gaveUpOn uint32
	gang     uint32 // the application of a gang whose members are allocated now; 0: none
}

// follow records an event, given the state before it.
func (s *steps) follow(st *state.State, e event.Event) {
	s.gaveUp, s.gaveUpOn = 0, 0
	switch e := e.(type) {
	case *event.ReservationCancelled:
		if slot := st.Reservation(e.Reservation); slot != 0 && e.Cause == yarn.CancelExchanged {
			s.gaveUp, s.gaveUpOn = e.Reservation, st.Reservations.Get(slot).Node
		}
	case *event.GangStarted:
		s.gang = e.App
		return
	case *event.ContainerAllocated:
		if e.App == s.gang {
			return
		}
	}
	s.gang = 0
}
