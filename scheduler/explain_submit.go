package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// ExplainSubmission says what an application would wait for if it were submitted
// now. It is submitted, in a state of the caller's own, which is used up; nothing
// is placed there. What would be refused is an *input.Fault.
func ExplainSubmission(st *state.State, in *input.SubmitApplication) (*Explanation, error) {
	p, err := New(st, Options{})
	if err != nil {
		return nil, err
	}
	try := *in
	try.DryRun = false
	reply, _ := p.Plan(st.Meta.NowMillis, input.Request{Input: &try})
	if f := reply.Refused(); f != nil {
		return nil, f
	}
	x, err := p.Explain(reply.(*input.SubmitApplicationReply).ID)
	if err == nil && in.ID.Seq == 0 {
		x.ID = "" // the next one to submit gets it
	}
	return x, err
}
