package v1

import (
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/v1/api"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Explain is the planner's explanation in the state of the view. One at a time:
// planning costs a core.
func (s *API) Explain(v *view.View, id yarn.ApplicationID) (*api.Explanation, error) {
	if s.cfg.Planner.Explain == nil {
		return nil, problem.NotAvailable("the explanation")
	}
	s.explain.Lock()
	defer s.explain.Unlock()
	return s.cfg.Planner.Explain(v.State, id)
}

// privateFork is a state to plan on: the committed one's, or without Planning
// the shared fork's, one at a time.
func (s *API) privateFork(shared *state.State) *state.State {
	if s.cfg.Planner.Private != nil {
		return s.cfg.Planner.Private()
	}
	s.forking.Lock()
	defer s.forking.Unlock()
	return shared.Fork()
}
