package leader

import (
	"fmt"
	"runtime/debug"
	"time"

	"rmd/fsm/event"
	"rmd/scheduler/input"
)

// plan plans a caller's input.
func (o *office) plan(c *call) {
	if c.ctx.Err() != nil { // nobody waits for it any more, but its sender lives
		o.timers.touch(o.planner.State(), c.req.Input)
		return
	}
	o.step(c, c.req)
}

// step plans one input, appends its events to the open batch and sees to its
// reply. c is nil for an input of our own.
func (o *office) step(c *call, req input.Request) {
	start := time.Now()
	o.stamp = o.s.clock.Millis(max(o.stamp, o.planner.State().Meta.NowMillis))
	reply, events, err := o.planSafely(req)
	if err != nil {
		o.failure = err
		if c != nil {
			c.answer(result{err: ErrPlanner})
		}
		return
	}
	allocated, reserved := 0, 0
	for _, e := range events {
		o.writer.Append(e)
		o.timers.follow(o.planner.State(), e)
		switch e.(type) {
		case *event.ContainerAllocated, *event.ReservationFulfilled:
			allocated++
		case *event.ReservationMade:
			reserved++
		}
	}
	if r, ok := reply.(*input.NodeHeartbeatReply); !ok || !r.Late { // a late copy does not show that the node lives
		o.timers.touch(o.planner.State(), req.Input)
	}
	o.observePlan(req.Input, reply, len(events), allocated, reserved, time.Since(start))
	o.open.decides = o.open.decides || Decides(req.Input, reply, events)
	if c == nil {
		return
	}
	res := result{reply: reply}
	if b := o.restsOn(); b != nil {
		b.park(c, res)
		return
	}
	res.index = o.applied
	if reply.Refused() != nil {
		res.doubt = o.term
	}
	o.release(c, res)
}

// planSafely plans an input. A panic is a fault of the planner: the planning
// state cannot be trusted any more, so the office is left and taken again on a
// new fork, and the input that led to it is not tried again.
func (o *office) planSafely(req input.Request) (reply input.Reply, events []event.Event, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("planning %T: %v", req.Input, fault)
			o.s.cfg.Logger.Error("planning failed, the office is taken anew", "input", fmt.Sprintf("%T", req.Input), "fault", fault, "stack", string(debug.Stack()))
		}
	}()
	reply, events = o.planner.Plan(o.stamp, req)
	return reply, events, nil
}

// restsOn is the newest batch not applied yet that decides anything; nil when
// there is none.
func (o *office) restsOn() *batch {
	if o.open.decides {
		return o.open
	}
	for i := len(o.inflight) - 1; i >= 0; i-- {
		if o.inflight[i].decides {
			return o.inflight[i]
		}
	}
	return nil
}

// Decides says whether what an input has led to must be committed before anybody is told: all but what only
// counts, and of that too what orders a node to end containers.
func Decides(in input.Input, reply input.Reply, events []event.Event) bool {
	return len(events) > 0 && (ordersKill(reply) || !onlyCounts(in, events))
}

// onlyCounts says whether an input is a heartbeat of a node, or a batch of them,
// after which nothing but counters of missed offers has moved. Its answer carries no order and
// acknowledges no report, so it need not wait until the counters are durable: a
// reserved node would otherwise wait for the disk at each of its heartbeats.
func onlyCounts(in input.Input, events []event.Event) bool {
	switch in.(type) {
	case *input.NodeHeartbeat, *input.NodesHeard:
	default:
		return false
	}
	for _, e := range events {
		switch e.(type) {
		case *event.AskCounted, *event.TimeAdvanced:
		default:
			return false
		}
	}
	return true
}

// ordersKill says whether an answer orders a node to end containers: it waits, even
// when only the clock has moved.
func ordersKill(r input.Reply) bool {
	hb, ok := r.(*input.NodeHeartbeatReply)
	return ok && len(hb.Kill) > 0
}

// observePlan keeps the pace and hands measurements on.
func (o *office) observePlan(in input.Input, reply input.Reply, events, allocated, reserved int, took time.Duration) {
	pace := o.s.pace.Load()
	o.s.pace.Store(pace + (int64(took)-pace)/16)
	obs := o.s.cfg.Observe
	if obs.Plan != nil {
		obs.Plan(in.Kind(), events, reply != nil && reply.Refused() != nil, took)
	}
	if obs.Decisions != nil && allocated+reserved > 0 {
		obs.Decisions(allocated, reserved)
	}
}

// planDue plans one input of our own, when there is one and room; it says
// whether it did. One caller's input is taken after each, so that a rack that
// went silent does not hold up everybody else.
func (o *office) planDue() bool {
	if o.full() {
		return false
	}
	in := o.timers.next(o.planner.State())
	if in == nil {
		return false
	}
	if tick, ok := in.(*input.Tick); ok {
		tick.Entropy = o.s.cfg.Entropy()
	}
	o.step(nil, input.Request{Input: in})
	if !o.full() {
		select {
		case c := <-o.queue:
			o.plan(c)
		default:
		}
	}
	return true
}
