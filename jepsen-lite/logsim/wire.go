package logsim

import (
	"rmd/scheduler/input"
)

// party is a caller: a node, an AM, a client or the operator. Each has at most one call in
// progress. The wire repeats the call with the same bytes until it is answered.
type party interface {
	// act begins a call if the party has one.
	act()
	// answered handles the reply to the party's call.
	answered(in input.Input, r input.Reply)
}

// call is one request in transit.
type call struct {
	from  party // nil: a copy without a waiting caller
	bytes []byte
	after uint64 // the round from which it may be delivered
	heard *input.AllocateReply
}

// wire carries calls to the leader.
type wire struct {
	w     *world
	calls []*call
	past  [][]byte // copies of calls that are delivered much later
}

// pastMax is the maximum number of copies in wire.past.
const pastMax = 32

// send adds a party's request to the wire.
func (x *wire) send(from party, req input.Request) {
	x.calls = append(x.calls, &call{from: from, bytes: input.EncodeRequest(nil, req)})
}

// requeue returns an unanswered call to the wire.
func (x *wire) requeue(c *call) {
	if c.from == nil {
		return
	}
	c.after = x.w.rounds + uint64(x.w.rng.IntN(20))
	x.calls = append(x.calls, c)
}

// deliver removes a call, usually the oldest, and gives it to the leader. Sometimes it gives the
// call to a deposed leader that does not know that it is deposed.
func (x *wire) deliver() {
	w := x.w
	c := x.take()
	if c == nil {
		return
	}
	if w.chance(w.opt.Lost) {
		w.counts.Lost++
		x.requeue(c)
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
		x.requeue(c)
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

// double sometimes adds a copy of a call, which arrives soon or much later. An AM's connection
// keeps its calls in order. Therefore the wire does not copy an AM's registration, nor the calls of
// an AM that does not count its answers.
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
		if w.rng.IntN(2) == 0 { // an old connection delivers it late, after the AM has continued on another one
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

// replayPast adds a copy of an old call to the wire.
func (x *wire) replayPast() {
	if n := len(x.past); n > 0 && !x.w.recovering {
		i := x.w.rng.IntN(n)
		x.calls = append(x.calls, &call{bytes: x.past[i]})
		x.past = append(x.past[:i], x.past[i+1:]...)
	}
}

// unanswered returns a call that a leadership did not answer to the wire.
func (w *world) unanswered(c *call) {
	w.counts.Unknown++
	w.wire.requeue(c)
}

// release delivers an answer after encoding and decoding it. Sometimes the answer is lost.
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
		w.wire.requeue(c)
		return
	}
	w.counts.Acked++
	c.from.answered(req.Input, reply)
}
