package sim

import (
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/jepsen-lite/sim/settings"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// watched is the planner of one leadership with a check (S11): if the leader expires a node or an
// AM, that node or AM must have been silent in true time, whatever the clock of the leader's
// machine shows. An expired node loses its containers. If the leader marks a node as silent, it must
// have missed the node's heartbeats.
type watched struct {
	*planner.Planner
	l        *process
	nodes    map[state.NodeSlot]time.Time // by slot: the last heartbeat in this leadership
	attempts map[yarn.AttemptID]time.Time
}

// early is how much earlier than its interval a node or AM may expire. The leader looks at its
// clock once a second, and may be delayed meanwhile (hooks.go), so a late heartbeat may count as an
// earlier one.
const early = 3 * time.Second

// Plan implements leader.Planner.
func (p *watched) Plan(now int64, req input.Request) (input.Reply, []event.Event) {
	ending := p.ending(req.Input)
	reply, events := p.Planner.Plan(now, req)
	switch in := req.Input.(type) {
	case *input.NodeHeartbeat:
		if r, ok := reply.(*input.NodeHeartbeatReply); ok && !r.Late {
			p.nodes[p.State().Nodes.Find(in.ID)] = time.Now()
		}
	case *input.RegisterNode:
		p.nodes[p.State().Nodes.Find(in.ID)] = time.Now()
	case *input.NodesHeard:
		for _, n := range in.Nodes {
			p.nodes[n] = time.Now()
		}
	case *input.Allocate:
		p.attempts[in.Attempt] = time.Now()
	case *input.RegisterAttempt:
		p.attempts[in.Attempt] = time.Now()
	case *input.ExpireNode:
		if at, heard := p.nodes[p.State().Nodes.Find(in.ID)]; heard && len(events) > 0 {
			p.judge("node "+in.ID.String(), at, settings.NodeExpiry)
		}
	case *input.NodeSilence:
		for _, n := range in.Silent {
			if at, heard := p.nodes[n.Node]; heard && time.Since(at) < settings.SilentNode {
				p.l.r.w.check.Fail("S11: %s marks node %d as silent %s after it was heard of", p.l.r.id, n.Node, time.Since(at))
			}
		}
	case *input.ExpireAttempt:
		if at, heard := p.attempts[in.Attempt]; heard && len(events) > 0 && !ending {
			p.judge(in.Attempt.String(), at, settings.AttemptExpiry)
		}
	}
	return reply, events
}

// ending reports whether an expired attempt has unregistered. Such an attempt must end within one
// interval, whatever it still sends.
func (p *watched) ending(in input.Input) bool {
	e, ok := in.(*input.ExpireAttempt)
	if !ok {
		return false
	}
	slot := p.State().Apps.Find(e.Attempt.App.Seq)
	return slot != 0 && p.State().Apps.Get(slot).AttemptState == state.AttemptFinishing
}

func (p *watched) judge(who string, heard time.Time, expiry time.Duration) {
	if silent := time.Since(heard); silent < expiry-early && p.l.alive() {
		p.l.r.w.check.Fail("S11: %s gives %s up, with all that runs for it, %s after it was heard of", p.l.r.id, who, silent)
	}
}
