package scheduler

import (
	"rmd/fsm/state"
	"rmd/yarn"
)

// without says what a judgement leaves out of account.
type without struct{ maximum, user, reservations, delay, blacklist bool }

// judgement is what the planner's checks come to for one ask.
type judgement struct {
	reason Reason // NoReason: a node would serve it at its next turn
	never  bool   // it can never be served as asked
}

// firstAsk is an application's first outstanding ask.
func (p *Planner) firstAsk(a *state.App) uint32 {
	ask := a.Asks
	for ask != 0 && p.st.Asks.Get(ask).Count == 0 {
		ask = p.st.Asks.Get(ask).Next
	}
	return ask
}

// explainAsk tells why the first outstanding ask is not served, and what would
// be if it were not for that.
func (p *Planner) explainAsk(x *Explanation, slot uint32, a *state.App) {
	i := p.indexOf[a.Queue]
	x.place(p, p.queues[i].active, slot)
	ask := p.firstAsk(a)
	k := p.st.Asks.Get(ask)
	p.explainLimits(x, i, a, k)
	p.explainNodes(x, slot, ask, without{})
	j := p.judge(slot, ask, without{})
	x.Never = j.never
	size := p.cfg.Kinds.Format(k.Size)
	switch {
	case j.reason == NoNodes && p.st.Meta.UsableNodes > 0:
		x.because(j.reason, "none of the hosts and racks it names has a running node, and it takes no other")
	case j.reason == NoNodes:
		x.because(j.reason, "no node is running")
	case j.reason == NodeTooSmall:
		x.because(j.reason, "it asks %s; no node it may use is that large, so it can never fit", size)
	case j.reason == QueueMaxCapacity || j.reason == ParentMaxCapacity:
		x.because(j.reason, "it asks %s, which would take a queue above its maximum", size)
	case j.reason == UserLimit:
		x.because(j.reason, "user %s is above its limit in %s", p.st.NameOf(a.User), x.Queue)
	case len(x.Reserved) > 0:
		x.because(NodeTooSmallFree, "node %s is reserved for it (%s) until %s is free there", x.Reserved[0].Node, x.Reserved[0].ID, x.Reserved[0].Needs)
	case j.reason == NoReason && x.Position > 1:
		x.because(BehindFIFO, "a node has room; %d applications of its queue come first", x.Position-1)
	case j.reason == NoReason:
		x.because(BehindFIFO, "a node has room: it is served at that node's next turn, unless another queue is entitled to it")
	default:
		x.because(j.reason, "it asks %s: %s", size, verdicts[j.reason])
	}
	p.explainIfs(x, slot, ask)
	p.explainEnd(x, slot, ask)
}

// judge runs the checks of a pass for one ask, in their order, and returns the
// first that fails.
func (p *Planner) judge(app, ask uint32, w without) judgement {
	a, k := p.st.Apps.Get(app), p.st.Asks.Get(ask)
	i := p.indexOf[a.Queue]
	if p.st.Meta.UsableNodes == 0 {
		return judgement{reason: NoNodes}
	}
	if !p.fitsSomewhere(k.Size) {
		return judgement{reason: NodeTooSmall, never: true}
	}
	if r := p.capped(i, k.Size); r != NoReason && !w.maximum {
		return judgement{reason: r, never: p.neverUnder(i, k.Size)}
	}
	allowed, _ := p.userCheck(i, a)
	if !allowed && !w.user {
		return judgement{reason: UserLimit}
	}
	best := p.nearest(app, ask, w, func(Reason, yarn.NodeID) {})
	return judgement{reason: best, never: best == NodeTooSmall}
}

// handedTo is what a pass would hand down to an application's leaf.
func (p *Planner) handedTo(a *state.App, w without) *limits {
	i := p.indexOf[a.Queue]
	_, need := p.userCheck(i, a)
	_, headroom := p.queueLimit(i, p.currentLimit(i), a.Reserved)
	if w.maximum {
		headroom = p.st.Meta.Cluster
	}
	if w.user {
		need = yarn.Resource{}
	}
	return &limits{headroom: headroom, needUnreserve: need}
}

// capped says which maximum an allocation of size would exceed now.
func (p *Planner) capped(leaf int32, size yarn.Resource) Reason {
	for i := leaf; i >= 0; i = p.queues[i].parent {
		q := p.st.Queues.Get(p.queues[i].slot)
		most := p.tree.Capacities[i].EffMax
		switch {
		case p.cfg.Calculator.FitsIn(q.Used.Add(size), most):
			continue
		case p.cfg.Calculator.FitsIn(p.st.Meta.Cluster, most):
			continue // it may have all of the cluster, which is full: the nodes say so better
		case i == leaf:
			return QueueMaxCapacity
		}
		return ParentMaxCapacity
	}
	return NoReason
}

// neverUnder says whether a size is above the maximum of a queue or ancestor
// even when it is empty.
func (p *Planner) neverUnder(leaf int32, size yarn.Resource) bool {
	for i := leaf; i >= 0; i = p.queues[i].parent {
		if !p.cfg.Calculator.FitsIn(size, p.tree.Capacities[i].EffMax) {
			return true
		}
	}
	return false
}

func (p *Planner) explainLimits(x *Explanation, leaf int32, a *state.App, k *state.Ask) {
	for i := leaf; i >= 0; i = p.queues[i].parent {
		q, most := p.st.Queues.Get(p.queues[i].slot), p.tree.Capacities[i].EffMax
		x.Limits = append(x.Limits, p.limitOf("maximum of "+q.Path, q.Used, most, !p.cfg.Calculator.FitsIn(q.Used.Add(k.Size), most)))
	}
	ok, _ := p.userCheck(leaf, a)
	x.Limits = append(x.Limits, p.limitOf("limit of user "+p.st.NameOf(a.User), p.st.Users.Get(a.UserSlot).Used, p.userLimit(leaf, a.UserSlot), !ok))
}

// verdicts are what nodes say, shortest true words first.
var verdicts = map[Reason]string{
	NoReason:            "has room",
	NodeTooSmall:        "too small in all",
	NodeTooSmallFree:    "too little is free",
	NodeReservedByOther: "reserved for another application",
	Blacklisted:         "blacklisted by the application",
	LocalityDelay:       "waits for a nearer node",
}

// order of preference when nodes differ: the first that any node says.
var preference = []Reason{NoReason, LocalityDelay, NodeTooSmallFree, NodeReservedByOther, Blacklisted, NodeTooSmall}

// explainNodes groups the verdicts of the running nodes that the ask may use.
func (p *Planner) explainNodes(x *Explanation, app, ask uint32, w without) {
	var counts [len(reasonNames)]int
	var example [len(reasonNames)]yarn.NodeID
	p.nearest(app, ask, w, func(r Reason, id yarn.NodeID) {
		if counts[r]++; counts[r] == 1 {
			example[r] = id
		}
	})
	for _, r := range preference {
		if counts[r] > 0 {
			x.Nodes = append(x.Nodes, ExplainedNodes{Reason: r, Verdict: verdicts[r], Diagnostic: r.Diagnostic(), Count: counts[r], Example: example[r].String()})
		}
	}
}

// nearest asks every running node that the ask may use, and returns the verdict
// that is nearest to being served; NoNodes when there is none.
func (p *Planner) nearest(app, ask uint32, w without, each func(r Reason, id yarn.NodeID)) Reason {
	l := p.handedTo(p.st.Apps.Get(app), w)
	k := p.st.Asks.Get(ask)
	var said [len(reasonNames)]bool
	p.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if n.State == yarn.NodeRunning && p.mayUse(k, n) {
			r := p.verdict(app, ask, slot, n, l, w)
			said[r] = true
			each(r, n.ID)
		}
		return true
	})
	for _, r := range preference {
		if said[r] {
			return r
		}
	}
	return NoNodes
}

// mayUse says whether an ask may be served on a node at all: it names the host or
// the rack, or takes any.
func (p *Planner) mayUse(k *state.Ask, n *state.Node) bool {
	if p.askedAt(k, n.Host) {
		return true
	}
	if rack := p.st.Location(k, n.RackID); rack != 0 {
		entry := p.st.Locations.Get(rack)
		if !entry.Relax || entry.Count > 0 {
			return entry.Relax
		}
	}
	return k.Relax
}

func (p *Planner) verdict(app, ask, slot uint32, n *state.Node, l *limits, w without) Reason {
	a, k := p.st.Apps.Get(app), p.st.Asks.Get(ask)
	switch {
	case !w.reservations && n.Reservation != 0 && p.st.Reservations.Get(n.Reservation).App != app:
		return NodeReservedByOther
	case !w.blacklist && a.Blacklisted(n):
		return Blacklisted
	case !p.cfg.Calculator.FitsIn(k.Size, n.Total):
		return NodeTooSmall
	case p.cfg.Calculator.AvailableContainers(n.Unallocated(), k.Size) <= 0:
		return NodeTooSmallFree
	}
	if d := p.place(app, ask, slot, l, false); d.kind != kindAllocate && !(w.delay && d.why == LocalityDelay) {
		return d.why
	}
	return NoReason
}
