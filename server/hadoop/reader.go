package hadoop

import (
	"context"
	"slices"

	"rmd/fsm"
	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/transport/hadoop/launcher"
	"rmd/transport/hadoop/renewer"
)

// Reader gives the ports the committed state.
type Reader struct {
	machine *fsm.Machine
	current func(ctx context.Context) error
}

// NewReader returns a reader of a replica's state. current returns after the replica has applied what
// was committed at the time of the call.
func NewReader(machine *fsm.Machine, current func(ctx context.Context) error) Reader {
	return Reader{machine, current}
}

// Fork implements frontend.Reader.
func (r Reader) Fork() *state.State {
	st, _ := r.machine.Fork()
	return st
}

// Current implements frontend.Reader.
func (r Reader) Current(ctx context.Context) error { return r.current(ctx) }

// Watch returns a watch on the AM containers of the committed state.
func (r Reader) Watch() (launcher.Watch, error) {
	s, err := r.machine.Follow()
	if err != nil {
		return nil, err
	}
	return attemptWatch{s}, nil
}

// WatchTokens returns a watch on the tokens of applications in the committed state.
func (r Reader) WatchTokens() (renewer.Watch, error) {
	s, err := r.machine.Watch(0)
	if err != nil {
		return nil, err
	}
	return tokenWatch{s}, nil
}

// tokenWatch skips batches that do not concern tokens of applications.
type tokenWatch struct{ *fsm.Subscription }

// Next implements renewer.Watch.
func (w tokenWatch) Next(ctx context.Context) error {
	for {
		b, err := w.Subscription.Next(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(b.Events, func(e event.Event) bool { return slices.Contains(apptoken.Kinds, e.Kind()) }) {
			return nil
		}
	}
}

// attemptWatch skips batches that do not concern an AM container.
type attemptWatch struct{ *fsm.Subscription }

// Next implements launcher.Watch.
func (w attemptWatch) Next(ctx context.Context) error {
	for {
		b, err := w.Subscription.Next(ctx)
		if err != nil {
			return err
		}
		for i := range b.Changes {
			if concernsAM(&b.Changes[i]) {
				return nil
			}
		}
	}
}

// concernsAM reports whether a change may begin or end the launch of an AM.
func concernsAM(c *change.Change) bool {
	switch c.Kind {
	case change.ContainerStarted:
		return c.AM
	case change.AttemptPhase:
		return c.Attempt == state.AttemptEnded
	}
	return c.Kind == change.MasterLaunched || c.Kind == change.NodeRegistered
}
