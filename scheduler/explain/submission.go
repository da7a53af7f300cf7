package explain

import "rmd/scheduler/input"

// Submission explains what an application would wait for if it were submitted now. It submits the
// application to p and allocates nothing. Afterwards p must not be used for anything else. A
// refusal is an *input.Refusal.
func Submission(p Planner, in *input.SubmitApplication) (*Explanation, error) {
	try := *in
	try.DryRun = false
	reply, _ := p.Plan(p.Scheduler().State.Meta.NowMillis, input.Request{Input: &try})
	if f := reply.Refused(); f != nil {
		return nil, f
	}
	x, err := Application(p.Scheduler(), reply.(*input.SubmitApplicationReply).ID)
	if err == nil && in.ID.Seq == 0 {
		x.ID = "" // the id is not assigned
	}
	return x, err
}
