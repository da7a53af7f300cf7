package logsim

import (
	"rmd/scheduler/input"
)

// party is a caller: a node, an AM, a client or the operator. Each has at most one call under way,
// which it repeats with the same bytes until it is answered.
type party interface {
	// act lets the party begin a call if it has one to make.
	act()
	// answered gives it the reply to its call.
	answered(in input.Input, r input.Reply)
}

// call is one request on its way.
type call struct {
	from  party // nil: a copy, whose answer nobody waits for
	bytes []byte
	after uint64 // the round from which it may be delivered
	heard *input.AllocateReply
}

// wire carries calls to the leader.
type wire struct {
	w     *world
	calls []*call
	past  [][]byte // copies of calls that come again much later
}

// pastMax bounds the copies kept.
const pastMax = 32

// send puts a party's request on the wire.
func (x *wire) send(from party, req input.Request) {
	x.calls = append(x.calls, &call{from: from, bytes: input.EncodeRequest(nil, req)})
}

// again puts a call back that got no answer.
func (x *wire) again(c *call) {
	if c.from == nil {
		return
	}
	c.after = x.w.rounds + uint64(x.w.rng.IntN(20))
	x.calls = append(x.calls, c)
}

// deliver takes the next call, mostly the oldest, to the leader or to a deposed one that does not
// know it.
func (x *wire) deliver() {
	w := x.w
	c := x.take()
	if c == nil {
		return
	}
	if w.chance(w.opt.Lost) {
		w.counts.Lost++
		x.again(c)
		return
	}
	req, err := input.DecodeRequest(c.bytes)
	if err != nil {
		w.check.fail("S4", "a request does not survive its encoding: %v", err)
		return
	}
	l := w.leads
	if w.stale != nil && w.rng.IntN(4) == 0 {
		l = w.stale
	}
	if l == nil || l.core.Full() {
		x.again(c)
		return
	}
	x.double(c, req)
	l.step(c, req)
	l.propose()
	if l.deposed > 0 { // the outcome of its batches stays unknown
		l.giveUp()
	}
}

// take removes a call that may be delivered.
func (x *wire) take() *call {
	n := len(x.calls)
	if n == 0 {
		return nil
	}
	at := 0
	if x.w.rng.IntN(8) == 0 {
		at = x.w.rng.IntN(n)
	}
	for ; at < n; at++ {
		if c := x.calls[at]; c.after <= x.w.rounds {
			x.calls = append(x.calls[:at], x.calls[at+1:]...)
			return c
		}
	}
	return nil
}

// double lets a call come a second time, soon or from the past. The registration of
// an AM, and the calls of one that does not count its answers, come again only when it
// repeats them itself: its connection keeps them in order.
func (x *wire) double(c *call, req input.Request) {
	w := x.w
	if c.from == nil || !w.chance(w.opt.Doubled) || w.recovering {
		return
	}
	switch in := req.Input.(type) {
	case *input.Allocate:
		if !in.FromAM {
			return
		}
		if w.rng.IntN(2) == 0 { // out of a connection that is whole again: the AM has gone on elsewhere
			w.counts.Doubled++
			x.calls = append(x.calls, &call{bytes: c.bytes, after: w.rounds + w.rng.Uint64N(400)})
			return
		}
	case *input.RegisterAttempt:
		return
	}
	w.counts.Doubled++
	if w.rng.IntN(2) == 0 {
		x.calls = append([]*call{{bytes: c.bytes}}, x.calls...)
		return
	}
	if len(x.past) < pastMax {
		x.past = append(x.past, c.bytes)
	}
}

// replayPast delivers a copy of an old call.
func (x *wire) replayPast() {
	if n := len(x.past); n > 0 && !x.w.recovering {
		i := x.w.rng.IntN(n)
		x.calls = append(x.calls, &call{bytes: x.past[i]})
		x.past = append(x.past[:i], x.past[i+1:]...)
	}
}

// unanswered puts a call back that a leadership did not answer.
func (w *world) unanswered(c *call) {
	w.counts.Unknown++
	w.wire.again(c)
}

// release lets an answer go, through its encoding; now and then it is lost.
func (w *world) release(c *call, r input.Reply, l *leadership) {
	req, err := input.DecodeRequest(c.bytes)
	if err != nil {
		w.check.fail("S4", "a request does not survive its encoding: %v", err)
		return
	}
	b := input.EncodeReply(nil, r)
	w.trace.bytes(b)
	reply, err := input.DecodeReply(req.Input, b)
	if err != nil {
		w.check.fail("S4", "the answer to %T does not survive its encoding: %v", req.Input, err)
		return
	}
	w.check.released(req, reply, c, l)
	if c.from == nil {
		return
	}
	if w.chance(w.opt.Lost) {
		w.counts.Lost++
		if a, ok := reply.(*input.AllocateReply); ok {
			c.heard = a
		}
		w.wire.again(c)
		return
	}
	w.counts.Acked++
	c.from.answered(req.Input, reply)
}
