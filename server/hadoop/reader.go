package hadoop

import (
	"context"

	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/hadoop/launcher"
)

// reader gives the ports the committed state.
type reader struct {
	machine *fsm.Machine
	current func(ctx context.Context) error
}

// Fork implements frontend.Reader.
func (r reader) Fork() *state.State {
	st, _ := r.machine.Fork()
	return st
}

// Current implements frontend.Reader.
func (r reader) Current(ctx context.Context) error { return r.current(ctx) }

// Watch returns a watch on the AM containers of the committed state.
func (r reader) Watch() (launcher.Watch, error) {
	s, err := r.machine.Watch(0)
	if err != nil {
		return nil, err
	}
	return masterWatch{s}, nil
}

// masterWatch skips batches that do not concern an AM container.
type masterWatch struct{ s *fsm.Subscription }

// Next implements launcher.Watch.
func (w masterWatch) Next(ctx context.Context) error {
	for {
		b, err := w.s.Next(ctx)
		if err != nil {
			return err
		}
		for _, e := range b.Events {
			switch e := e.(type) {
			case *event.ContainerAllocated:
				if e.AM {
					return nil
				}
			case *event.ContainerLent:
				if e.AM {
					return nil
				}
			case *event.ReservationFulfilled, *event.AttemptEnded, *event.AttemptLaunched, *event.NodeRegistered:
				return nil
			}
		}
	}
}
