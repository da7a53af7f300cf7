package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
)

// requests remembers the replies to calls with an idempotency key.
type requests struct {
	sched *scheduler.Scheduler
	st    *state.State
}

// remembered returns the reply to a repeated call, which the state remembers by its idempotency
// key.
func (rq requests) remembered(req input.Request) (input.Reply, bool) {
	r, ok := rq.st.Requests.Find(req.Key)
	if !ok {
		return nil, false
	}
	bare, _ := input.BareKey(req.Key)
	if r.BodyHash != req.BodyHash {
		return input.Refuse(req.Input, input.Refusef(input.KeyReused, "use a new key for a new request",
			"idempotency key %q was used for another request", bare)), true
	}
	reply, err := input.DecodeReply(req.Input, r.Reply)
	if err != nil {
		return input.Refuse(req.Input, input.Refusef(input.KeyReused, "use a new key",
			"the answer remembered for %q is of another kind", bare)), true
	}
	return reply, true
}

func (rq requests) remember(req input.Request, reply input.Reply) {
	rq.sched.Emit(&event.RequestRecorded{Key: req.Key, BodyHash: req.BodyHash, Reply: input.EncodeReply(nil, reply)})
	if n := rq.st.Requests.Stale(&rq.st.Meta); n > 0 {
		rq.sched.Emit(&event.RequestsForgotten{Count: n})
	}
}

// at returns when the oldest remembered request is forgotten. Those beyond the most that
// the state keeps are forgotten at once.
func (rq requests) at() int64 {
	switch oldest := rq.st.Meta.OldestRequest; {
	case oldest == 0:
		return due.Never
	case rq.st.Requests.Len() > state.MaxRequests:
		return 0
	default:
		return rq.st.Requests.Get(oldest).AtMillis + state.RequestKeepMillis
	}
}

func (rq requests) due() {
	rq.sched.AdvanceTime()
	rq.sched.Emit(&event.RequestsForgotten{Count: rq.st.Requests.Stale(&rq.st.Meta)})
}
