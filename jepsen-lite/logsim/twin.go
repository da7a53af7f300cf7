package logsim

import (
	"bytes"

	"rmd/fsm/event"
	"rmd/scheduler"
	"rmd/scheduler/input"
)

// twin is a planner made anew from a fork of the planning state, with what the one
// that has lived through it all has told AMs: it must decide as that one does.
func (o *office) twin() *scheduler.Planner {
	p, err := o.planner.Twin()
	if err != nil {
		o.w.check.fail("S1", "no planner can be made from the planning state: %v", err)
		return nil
	}
	return p
}

// compare gives a twin the input that was planned.
func (o *office) compare(twin *scheduler.Planner, req input.Request, reply input.Reply, events []event.Event) {
	again, same := twin.Plan(o.stamp, req)
	o.w.counts.Twins++
	switch {
	case !bytes.Equal(bytesOf(events), bytesOf(same)):
		o.w.check.fail("S1", "a planner made anew decides otherwise about %T %+v:\n%s\nnot\n%s", req.Input, req.Input, tell(same), tell(events))
	case !bytes.Equal(input.EncodeReply(nil, reply), input.EncodeReply(nil, again)):
		o.w.check.fail("S1", "a planner made anew answers %T with %+v, not %+v", req.Input, again, reply)
	case twin.State().Digest() != o.planner.State().Digest():
		o.w.check.fail("S1", "a planner made anew comes to another state after %T", req.Input)
	}
}

func bytesOf(events []event.Event) []byte {
	var w event.Writer
	for _, e := range events {
		w.Append(e)
	}
	return w.Finish(0, 0)
}
