package sim

import (
	"context"
	"hash/fnv"
	"math/rand"
	"time"

	"rmd/internal/sleep"
	"rmd/scheduler/input"
)

// caller is a client of the cluster. It calls the same replica as long as that one answers. If the
// outcome of a call is unknown, it repeats the same call at another replica.
type caller struct {
	w    *world
	name string
	rng  *rand.Rand
	at   int // number of its replica, modulo the number of members
	seq  int // number of calls with an idempotency key
}

// callTimeout is how long a caller waits for the answer of one replica.
const callTimeout = 8 * time.Second

// keyed returns a request with a new idempotency key of this caller.
func (c *caller) keyed(in input.Input) input.Request {
	c.seq++
	body := input.EncodeRequest(nil, input.Request{Input: in})
	h := fnv.New64a()
	_, _ = h.Write(body)
	return input.Request{Key: c.name + "/" + string(rune('0'+c.seq/100%10)) + string(rune('0'+c.seq/10%10)) + string(rune('0'+c.seq%10)), BodyHash: h.Sum64(), Input: in}
}

// call repeats a call until a replica answers. It returns false if ctx ends first.
func (c *caller) call(ctx context.Context, req input.Request) (input.Reply, bool) {
	for ctx.Err() == nil {
		if reply, ok := c.try(ctx, req); ok {
			return reply, true
		}
		c.at = c.rng.Intn(64)
		if !sleep.For(ctx, time.Duration(20+c.rng.Intn(200))*time.Millisecond) {
			break
		}
	}
	return nil, false
}

// try makes a call once. It returns false if the outcome is unknown.
func (c *caller) try(ctx context.Context, req input.Request) (input.Reply, bool) {
	members := c.w.members()
	r := members[c.at%len(members)]
	l, up := r.currentProcess()
	if !up {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	l.host.Wake()
	// The replica works on a copy, as if the call had come over a wire.
	copied, err := input.DecodeRequest(input.EncodeRequest(nil, req))
	if err != nil {
		c.w.check.Fail("request of %T: %v", req.Input, err)
		return nil, false
	}
	reply, index, err := l.forwarder.Do(ctx, copied)
	l.host.Wake()
	if l.ctx.Err() != nil || err != nil {
		c.w.check.Unknown()
		return nil, false
	}
	applied, _ := l.machine.Applied()
	c.w.check.Acked(r.id, applied, req.Input, reply, index)
	if reply, err = input.DecodeReply(req.Input, input.EncodeReply(nil, reply)); err != nil {
		c.w.check.Fail("reply to %T: %v", req.Input, err)
		return nil, false
	}
	return reply, true
}
