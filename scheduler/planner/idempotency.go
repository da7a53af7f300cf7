package planner

import (
	"rmd/fsm/event"
	"rmd/scheduler/input"
)

// remembered returns the reply to a repeated call, which the state remembers by its idempotency
// key.
func (p *Planner) remembered(req input.Request) (input.Reply, bool) {
	r, ok := p.st.Requests.Find(req.Key)
	if !ok {
		return nil, false
	}
	bare, _ := input.BareKey(req.Key)
	if r.BodyHash != req.BodyHash {
		return input.Refuse(req.Input, input.Faultf(input.KeyReused, "use a new key for a new request",
			"idempotency key %q was used for another request", bare)), true
	}
	reply, err := input.DecodeReply(req.Input, r.Reply)
	if err != nil {
		return input.Refuse(req.Input, input.Faultf(input.KeyReused, "use a new key", "the answer remembered for %q is of another kind", bare)), true
	}
	return reply, true
}

func (p *Planner) remember(req input.Request, reply input.Reply) {
	p.sched.Emit(&event.RequestRecorded{Key: req.Key, BodyHash: req.BodyHash, Reply: input.EncodeReply(nil, reply)})
	if n := p.st.Requests.Stale(&p.st.Meta); n > 0 {
		p.sched.Emit(&event.RequestsForgotten{Count: n})
	}
}
