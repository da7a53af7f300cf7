// Package whatif tries on a copy of the state what an operator or a user might do.
package whatif

import (
	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
)

// Submission explains what would happen to an application that is submitted now. It changes st.
func Submission(st *state.State, in *input.SubmitApplication) (*api.Explanation, error) {
	p, err := planner.New(st, planner.Options{})
	if err != nil {
		return nil, err
	}
	return explain.Submission(p, in)
}

// Try returns the planner's refusal of an input in a state, or nil.
func Try(st *state.State, in input.Input) error {
	p, err := planner.New(st, planner.Options{})
	if err != nil {
		return err
	}
	reply, _ := p.Plan(st.Meta.NowMillis, input.Request{Input: in})
	if f := reply.Refused(); f != nil {
		return f
	}
	return nil
}

// PreemptionNow returns what the next round of preemption would do in a state.
func PreemptionNow(st *state.State) (*api.Preemption, error) {
	s, err := scheduler.New(st, false)
	if err != nil {
		return nil, err
	}
	return explain.PreemptionNow(s), nil
}

// Queues returns what another queue configuration would change. eager is how the leader plans. It
// changes st, and ends early when stop says so.
func Queues(st *state.State, props []input.Property, eager bool, stop func() bool) (*api.WhatIf, error) {
	other, err := planner.New(st, planner.Options{Eager: eager})
	if err != nil {
		return nil, err
	}
	limits := explain.DefaultWhatIfLimits()
	limits.Stop = stop
	c, err := explain.WhatIf(other.Fork(), other, props, limits)
	if err != nil {
		return nil, err
	}
	return &api.WhatIf{Comparison: *c}, nil
}
