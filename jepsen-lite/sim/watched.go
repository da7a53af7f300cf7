package sim

import (
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// watched is the planner of one leadership with the checker looking on: whom the leader
// gives up must have been silent in true time, whatever its machine's clock says. A
// node that is given up loses what runs on it (S11).
type watched struct {
	*planner.Planner
	l        *process
	nodes    map[uint32]time.Time // by slot: when this leadership heard of them last
	attempts map[yarn.AttemptID]time.Time
}

// early is how much sooner than its interval says somebody may be given up: the
// leader's clock is looked at once a second, and the leader may be held back meanwhile
// (yield.go), so that what it hears then counts as heard before.
const early = 3 * time.Second

// Plan implements leader.Planner.
func (p *watched) Plan(now int64, req input.Request) (input.Reply, []event.Event) {
	ending := p.ending(req.Input)
	reply, events := p.Planner.Plan(now, req)
	switch in := req.Input.(type) {
	case *input.NodeHeartbeat:
		if r, ok := reply.(*input.NodeHeartbeatReply); ok && !r.Late {
			p.nodes[p.State().Node(in.ID)] = time.Now()
		}
	case *input.RegisterNode:
		p.nodes[p.State().Node(in.ID)] = time.Now()
	case *input.NodesHeard:
		for _, n := range in.Nodes {
			p.nodes[n] = time.Now()
		}
	case *input.Allocate:
		p.attempts[in.Attempt] = time.Now()
	case *input.RegisterAttempt:
		p.attempts[in.Attempt] = time.Now()
	case *input.ExpireNode:
		if at, heard := p.nodes[p.State().Node(in.ID)]; heard && len(events) > 0 {
			p.judge("node "+in.ID.String(), at, nodeExpiry)
		}
	case *input.ExpireAttempt:
		if at, heard := p.attempts[in.Attempt]; heard && len(events) > 0 && !ending {
			p.judge(in.Attempt.String(), at, attemptExpiry)
		}
	}
	return reply, events
}

// ending says whether an attempt that expires has unregistered: that one has its one
// interval to end, whatever it still sends.
func (p *watched) ending(in input.Input) bool {
	e, ok := in.(*input.ExpireAttempt)
	if !ok {
		return false
	}
	slot := p.State().App(e.Attempt.App.Seq)
	return slot != 0 && p.State().Apps.Get(slot).AttemptState == state.AttemptFinishing
}

func (p *watched) judge(who string, heard time.Time, expiry time.Duration) {
	if silent := time.Since(heard); silent < expiry-early && p.l.alive() {
		p.l.r.w.check.fail("S11: %s gives %s up, with all that runs for it, %s after it was heard of", p.l.r.id, who, silent)
	}
}
