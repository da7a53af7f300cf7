package logsim

import (
	"bytes"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
)

// twinned is the planner of a leadership. For one input in 512 it creates a second planner from a
// fork of the planning state, with the record of what AMs have been told. Both must make the same
// decision.
type twinned struct {
	*planner.Planner
	w *world
}

// Plan implements leader.Planner.
func (p twinned) Plan(nowMillis int64, req input.Request) (input.Reply, []event.Event) {
	if p.w.rng.IntN(512) > 0 {
		return p.Planner.Plan(nowMillis, req)
	}
	twin, err := p.Twin()
	if err != nil {
		p.w.check.fail("S1", "no planner can be made from the planning state: %v", err)
		return p.Planner.Plan(nowMillis, req)
	}
	reply, events := p.Planner.Plan(nowMillis, req)
	p.compare(twin, nowMillis, req, reply, events)
	return reply, events
}

// compare plans the same input on the twin and compares reply, events and state.
func (p twinned) compare(twin *planner.Planner, nowMillis int64, req input.Request, reply input.Reply,
	events []event.Event) {
	again, same := twin.Plan(nowMillis, req)
	p.w.counts.Twins++
	switch {
	case !bytes.Equal(bytesOf(events), bytesOf(same)):
		p.w.check.fail("S1", "a planner made again decides otherwise about %T %+v:\n%s\nnot\n%s", req.Input, req.Input,
			formatEvents(same), formatEvents(events))
	case !bytes.Equal(input.EncodeReply(nil, reply), input.EncodeReply(nil, again)):
		p.w.check.fail("S1", "a planner made again answers %T with %+v, not %+v", req.Input, again, reply)
	case twin.State().Digest() != p.State().Digest():
		p.w.check.fail("S1", "a planner made again comes to another state after %T", req.Input)
	}
}

func bytesOf(events []event.Event) []byte {
	var w event.Writer
	for _, e := range events {
		w.Append(e)
	}
	return w.Finish(0, 0)
}
