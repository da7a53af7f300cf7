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
	all := p.survey(slot, ask, without{})
	x.tellNodes(p, &all)
	j := p.judge(slot, ask, without{}, &all)
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
	p.explainIfs(x, slot, ask, &all)
}

// judge runs the checks of a pass for one ask, in their order, and returns the
// first that fails. The nodes have said what they say when all is given.
func (p *Planner) judge(app, ask uint32, w without, all *survey) judgement {
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
	if all == nil {
		fresh := p.survey(app, ask, w)
		all = &fresh
	}
	best := all.nearest()
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

// survey is what the running nodes that an ask may use say of it.
type survey struct {
	count   [len(reasonNames)]int
	example [len(reasonNames)]uint32 // the first node that says so
	// closed are those that somebody else has reserved.
	closed []uint32
}

// survey asks every running node that the ask may use.
func (p *Planner) survey(app, ask uint32, w without) survey {
	var out survey
	l := p.handedTo(p.st.Apps.Get(app), w)
	k := p.st.Asks.Get(ask)
	p.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if n.State == yarn.NodeRunning && p.reachOf(k, slot).usable() {
			out.add(p.verdict(app, ask, slot, n, l, w), slot)
		}
		return true
	})
	return out
}

func (s *survey) add(r Reason, node uint32) {
	if s.count[r]++; s.count[r] == 1 {
		s.example[r] = node
	}
	if r == NodeReservedByOther {
		s.closed = append(s.closed, node)
	}
}

// nearest is the verdict that is nearest to being served; NoNodes when there is
// no node.
func (s *survey) nearest() Reason {
	for _, r := range preference {
		if s.count[r] > 0 {
			return r
		}
	}
	return NoNodes
}

// opened is what the nodes would say if none were reserved for others: only those
// that are have to be asked again.
func (p *Planner) opened(app, ask uint32, all *survey) survey {
	w := without{reservations: true}
	l := p.handedTo(p.st.Apps.Get(app), w)
	out := *all
	out.count[NodeReservedByOther] -= len(all.closed)
	for _, node := range all.closed {
		out.add(p.verdict(app, ask, node, p.st.Nodes.Get(node), l, w), node)
	}
	return out
}

// tellNodes groups the verdicts of the nodes.
func (x *Explanation) tellNodes(p *Planner, all *survey) {
	for _, r := range preference {
		if all.count[r] > 0 {
			x.Nodes = append(x.Nodes, ExplainedNodes{Reason: r, Verdict: verdicts[r], Diagnostic: r.Diagnostic(), Count: all.count[r],
				Example: p.st.Nodes.Get(all.example[r]).ID.String()})
		}
	}
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
