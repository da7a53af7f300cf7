package planner

import (
	"errors"
	"testing"

	"rmd/scheduler"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// fork returns a planner on a fork of the world's state.
func (w *world) fork() *Planner { return must(New(w.p.st.Fork(), Options{Eager: w.eager})) }

// TestExplainSubmission checks that the forecast for a submission matches the explanation after the
// submission, and that a forecast changes nothing.
func TestExplainSubmission(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`
conf queues=(a:50, b:50) a.maximum-capacity=50 a.user-limit-factor=10 a.maximum-am-resource-percent=0.1
node add n1 80G
app app1 user=u1 queue=a am=4G`)
	submit := func(queue string, gigabytes int64) *input.SubmitApplication {
		return &input.SubmitApplication{Name: "x", User: "u2", Queue: queue,
			AM: yarn.NewResource(gigabytes<<10, 1), DryRun: true}
	}
	digest := w.p.st.Digest()
	for _, c := range []struct {
		in      *input.SubmitApplication
		reason  scheduler.Reason
		waiting bool
	}{
		{submit("a", 4), scheduler.AMLimitQueue, true},
		{submit("b", 4), scheduler.BehindQueue, true}, // a node has room, and root.a comes first
	} {
		x, err := explain.Submission(w.fork(), c.in)
		if err != nil || x.Reason != c.reason.String() || x.Waiting != c.waiting || x.ID != "" ||
			x.Queue != "root."+c.in.Queue {
			t.Errorf("%+v, %v; want %s", x, err, c.reason)
		}
	}
	if w.p.st.Digest() != digest {
		t.Error("the question changed the state")
	}
	var fault *input.Refusal
	if _, err := explain.Submission(w.fork(), submit("nowhere", 1)); !errors.As(err, &fault) {
		t.Errorf("a refusal: %v", err)
	}
	foreseen, err := explain.Submission(w.fork(), submit("a", 4))
	if err != nil {
		t.Fatal(err)
	}
	in := submit("a", 4)
	in.DryRun = false
	r := w.plan(in).(*input.SubmitApplicationReply)
	x, err := explain.Application(w.p.sched, r.ID)
	if err != nil || x.Reason != foreseen.Reason || x.Text != foreseen.Text || x.Position != foreseen.Position {
		t.Errorf("%+v is not what was foreseen: %+v", x, foreseen)
	}
}
