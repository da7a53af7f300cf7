package explain

import "rmd/scheduler/input"

// Submission says what an application would wait for if it were submitted now. It is submitted on p,
// which is used up; nothing is placed there. What would be refused is an *input.Fault.
func Submission(p Planner, in *input.SubmitApplication) (*Explanation, error) {
	try := *in
	try.DryRun = false
	reply, _ := p.Plan(p.Scheduler().State().Meta.NowMillis, input.Request{Input: &try})
	if f := reply.Refused(); f != nil {
		return nil, f
	}
	x, err := Application(p.Scheduler(), reply.(*input.SubmitApplicationReply).ID)
	if err == nil && in.ID.Seq == 0 {
		x.ID = "" // the next one to submit gets it
	}
	return x, err
}
