package v1

import (
	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Explain returns the planner's explanation for an application in the state of the view. At most
// one call plans at a time, because it needs a core.
func (s *shared) Explain(v *view.View, id yarn.ApplicationID) (*api.Explanation, error) {
	if s.cfg.Planner.Explain == nil {
		return nil, problem.NotAvailable("the explanation")
	}
	s.explain.Lock()
	defer s.explain.Unlock()
	x, err := s.cfg.Planner.Explain(v.State, id)
	if slot := v.State.Apps.ByID(id); err == nil && slot != 0 {
		x.WaitingMillis = v.Waiting(v.State.Apps.Get(slot))
	}
	return x, err
}

// privateFork returns a state to plan on: the one of Planner.Private, or without it a fork of the
// shared state.
func (s *shared) privateFork(shared *state.State) *state.State {
	if s.cfg.Planner.Private != nil {
		return s.cfg.Planner.Private()
	}
	s.forking.Lock()
	defer s.forking.Unlock()
	return shared.Fork()
}
