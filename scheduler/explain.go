package scheduler

import (
	"fmt"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// Explanation answers why an application waits. It is computed by the planner's
// own checks on the state at hand; nothing about waiting is stored anywhere.
type Explanation struct {
	ID            string                `json:"id"`
	State         yarn.ApplicationState `json:"state"`
	Queue         string                `json:"queue"`
	Waiting       bool                  `json:"waiting"`
	WaitingMillis int64                 `json:"waitingMillis,omitempty"` // since the attempt began, or its oldest reservation
	Position      int                   `json:"position,omitempty"`      // among those of its leaf that want something, from 1
	Of            int                   `json:"of,omitempty"`
	Reason        Reason                `json:"reason"`
	Never         bool                  `json:"never"` // it can never be served as asked
	Text          string                `json:"text"`
	Diagnostic    string                `json:"diagnostic,omitempty"` // YARN's sentence
	Asks          []ExplainedAsk        `json:"asks,omitempty"`
	Limits        []ExplainedLimit      `json:"limits,omitempty"`
	Nodes         []ExplainedNodes      `json:"nodes,omitempty"`
	Reserved      []ExplainedHold       `json:"reserved,omitempty"`
	Ahead         []string              `json:"ahead,omitempty"`
	Behind        []string              `json:"behind,omitempty"`
}

// ExplainedAsk is one outstanding ask.
type ExplainedAsk struct {
	Priority     int32  `json:"priority"`
	AllocationID int64  `json:"allocationId,omitempty"`
	Count        int64  `json:"count"`
	Size         string `json:"size"`
	Where        string `json:"where"`
	AM           bool   `json:"am,omitempty"`
}

// ExplainedLimit is one limit, what counts against it, and whether it binds.
type ExplainedLimit struct {
	Name  string `json:"name"`
	Used  string `json:"used"`
	Most  string `json:"most"`
	Binds bool   `json:"binds"`
}

// ExplainedNodes counts the nodes with one verdict and names one of them.
type ExplainedNodes struct {
	Reason  Reason `json:"reason"`
	Verdict string `json:"verdict"`
	Count   int    `json:"count"`
	Example string `json:"example"`
}

// ExplainedHold is a reservation held for the application.
type ExplainedHold struct {
	ID        string   `json:"id"`
	Node      string   `json:"node"`
	Needs     string   `json:"needs"`
	Free      string   `json:"free"`
	AgeMillis int64    `json:"ageMillis"`
	WaitsFor  []string `json:"waitsFor"` // containers on the node, any of which may end
}

// neighbours is how many applications ahead and behind are named.
const neighbours = 10

// Explain says why an application waits, or that it does not. The state is
// only read.
func (p *Planner) Explain(id yarn.ApplicationID) (*Explanation, error) {
	slot := p.st.AppByID(id)
	if slot == 0 || p.cfg == nil {
		return nil, p.noSuchApp(id)
	}
	p.capacities()
	a := p.st.Apps.Get(slot)
	x := &Explanation{ID: id.String(), State: a.Shown(), Queue: p.st.Queues.Get(a.Queue).Path}
	if a.State.Ended() {
		x.Text = fmt.Sprintf("it has ended: %s", a.State)
		return x, nil
	}
	x.WaitingMillis = p.st.Meta.NowMillis - a.AttemptMillis
	p.explainAsks(x, a)
	p.explainHolds(x, a)
	switch {
	case a.AttemptState == state.AttemptParked:
		x.because(MaxParallelApps, "a limit on parallel applications holds it back")
	case a.AttemptState == state.AttemptFinishing:
		x.because(NoAsks, "its AM has unregistered; it ends when the AM's container does")
	case a.AttemptState == state.AttemptPending:
		p.explainActivation(x, slot, a)
	case a.Outstanding == 0:
		p.explainNoAsk(x, a)
	default:
		p.explainAsk(x, slot, a)
	}
	return x, nil
}

func (x *Explanation) because(r Reason, format string, args ...any) {
	x.Waiting, x.Reason, x.Diagnostic = r != NoAsks, r, r.Diagnostic()
	x.Text = fmt.Sprintf(format, args...)
}

func (p *Planner) explainAsks(x *Explanation, a *state.App) {
	for s := a.Asks; s != 0; s = p.st.Asks.Get(s).Next {
		k := p.st.Asks.Get(s)
		if k.Count == 0 {
			continue
		}
		where := "any host"
		if k.Entries > 1 {
			where = fmt.Sprintf("%d hosts or racks preferred", k.Entries-1)
			if !k.Relax {
				where = fmt.Sprintf("%d hosts or racks only", k.Entries-1)
			}
		}
		x.Asks = append(x.Asks, ExplainedAsk{Priority: k.Key.Priority, AllocationID: k.Key.AllocationID, Count: k.Count,
			Size: p.cfg.Kinds.Format(k.Size), Where: where, AM: k.AM})
	}
}

func (p *Planner) explainHolds(x *Explanation, a *state.App) {
	for s := a.Reservations; s != 0; s = p.st.Reservations.Get(s).NextOfApp() {
		r := p.st.Reservations.Get(s)
		n := p.st.Nodes.Get(r.Node)
		h := ExplainedHold{ID: fmt.Sprintf("r%d", r.Number), Node: n.ID.String(), Needs: p.cfg.Kinds.Format(r.Size),
			Free: p.cfg.Kinds.Format(n.Unallocated()), AgeMillis: p.st.Meta.NowMillis - r.MadeMillis}
		for c := n.Containers; c != 0; c = p.st.Containers.Get(c).NextOnNode() {
			h.WaitsFor = append(h.WaitsFor, p.st.ContainerID(p.st.Containers.Get(c)).String())
		}
		x.Reserved = append(x.Reserved, h)
	}
}

func (p *Planner) explainActivation(x *Explanation, slot uint32, a *state.App) {
	i := p.indexOf[a.Queue]
	x.place(p, p.queues[i].pending, slot)
	leaf, user := p.st.Queues.Get(a.Queue), p.st.Users.Get(a.UserSlot)
	limit := p.amLimit(i)
	userLimit := p.userAMLimit(i, a.UserSlot, limit)
	reason := p.mayActivate(i, a)
	x.Limits = []ExplainedLimit{
		p.limitOf("AM share of queue", leaf.AMUsed, limit, reason == AMLimitQueue),
		p.limitOf("AM share of user", user.AMUsed, userLimit, reason == AMLimitUser),
	}
	switch reason {
	case AMLimitQueue:
		x.because(reason, "its AM needs %s; the AMs of %s use %s of %s", p.cfg.Kinds.Format(a.AM), leaf.Path, p.cfg.Kinds.Format(leaf.AMUsed), p.cfg.Kinds.Format(limit))
	case AMLimitUser:
		x.because(reason, "its AM needs %s; the AMs of user %s use %s of %s", p.cfg.Kinds.Format(a.AM), p.st.NameOf(a.User), p.cfg.Kinds.Format(user.AMUsed), p.cfg.Kinds.Format(userLimit))
	default:
		x.because(BehindFIFO, "it is activated with the next change in its queue")
	}
}

func (p *Planner) limitOf(name string, used, most yarn.Resource, binds bool) ExplainedLimit {
	return ExplainedLimit{Name: name, Used: p.cfg.Kinds.Format(used), Most: p.cfg.Kinds.Format(most), Binds: binds}
}

// place fills in position and neighbours from an ordered list.
func (x *Explanation) place(p *Planner, list []uint32, slot uint32) {
	x.Of = len(list)
	for k, s := range list {
		if s != slot {
			continue
		}
		x.Position = k + 1
		for _, o := range list[max(0, k-neighbours):k] {
			x.Ahead = append(x.Ahead, p.st.Apps.Get(o).ID.String())
		}
		for _, o := range list[k+1 : min(len(list), k+1+neighbours)] {
			x.Behind = append(x.Behind, p.st.Apps.Get(o).ID.String())
		}
	}
}

// explainNoAsk tells what an application without outstanding asks waits for.
func (p *Planner) explainNoAsk(x *Explanation, a *state.App) {
	switch {
	case a.AttemptState == state.AttemptRegistered:
		x.because(NoAsks, "it runs and asks for nothing more")
		return
	case a.Unmanaged:
		x.because(AMNotRegistered, "its unmanaged AM has not registered")
		return
	}
	for s := a.Containers; s != 0; s = p.st.Containers.Get(s).NextOfApp() {
		c := p.st.Containers.Get(s)
		if !c.AM || !c.State.Live() {
			continue
		}
		node := p.st.Nodes.Get(c.Node).ID
		if c.Launched {
			x.because(AMNotRegistered, "its AM runs on %s and has not registered", node)
		} else {
			x.because(AMNotLaunched, "its AM was placed on %s, which has not reported it yet", node)
		}
		return
	}
	x.because(AMNotLaunched, "its AM is being placed")
}

// explainAsk tells why the first outstanding ask is not served.
func (p *Planner) explainAsk(x *Explanation, slot uint32, a *state.App) {
	i := p.indexOf[a.Queue]
	x.place(p, p.queues[i].active, slot)
	ask := a.Asks
	for p.st.Asks.Get(ask).Count == 0 {
		ask = p.st.Asks.Get(ask).Next
	}
	k := p.st.Asks.Get(ask)
	size := p.cfg.Kinds.Format(k.Size)
	p.explainLimits(x, i, a, k)
	allowed, need := p.userCheck(i, a)
	_, headroom := p.queueLimit(i, p.currentLimit(i), a.Reserved)
	best := p.explainNodes(x, slot, ask, &limits{headroom: headroom, needUnreserve: need})
	switch {
	case p.st.Meta.UsableNodes == 0:
		x.because(NoNodes, "no node is running")
	case !p.fitsSomewhere(k.Size):
		x.because(NodeTooSmall, "it asks %s; no node is that large, so it can never fit", size)
		x.Never = true
	case p.capped(i, k.Size) != NoReason:
		x.because(p.capped(i, k.Size), "it asks %s, which would take a queue above its maximum", size)
		x.Never = p.neverUnder(i, k.Size)
	case !allowed:
		x.because(UserLimit, "user %s is above its limit in %s", p.st.NameOf(a.User), x.Queue)
	case len(x.Reserved) > 0:
		x.because(NodeTooSmallFree, "node %s is reserved for it (%s) until %s is free there", x.Reserved[0].Node, x.Reserved[0].ID, x.Reserved[0].Needs)
	case best == NoReason && x.Position > 1:
		x.because(BehindFIFO, "a node has room; %d applications of its queue come first", x.Position-1)
	case best == NoReason:
		x.because(BehindFIFO, "a node has room: it is served at that node's next turn, unless another queue is entitled to it")
	default:
		x.because(best, "it asks %s: %s", size, verdicts[best])
	}
}

// capped says which maximum an allocation of size would exceed now.
func (p *Planner) capped(leaf int32, size yarn.Resource) Reason {
	for i := leaf; i >= 0; i = p.queues[i].parent {
		q := p.st.Queues.Get(p.queues[i].slot)
		if p.cfg.Calculator.FitsIn(q.Used.Add(size), p.tree.Capacities[i].EffMax) {
			continue
		}
		switch {
		case i == leaf:
			return QueueMaxCapacity
		case p.queues[i].parent < 0:
			return NoReason // the cluster is full: the nodes say so better
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

// explainNodes asks every usable node, groups the verdicts, and returns the one
// that is nearest to being served.
func (p *Planner) explainNodes(x *Explanation, app, ask uint32, l *limits) Reason {
	var counts [len(reasonNames)]int
	var example [len(reasonNames)]yarn.NodeID
	p.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if n.State != yarn.NodeRunning {
			return true
		}
		r := p.verdict(app, ask, slot, n, l)
		if counts[r]++; counts[r] == 1 {
			example[r] = n.ID
		}
		return true
	})
	best := NoNodes
	for _, r := range preference {
		if counts[r] == 0 {
			continue
		}
		if best == NoNodes {
			best = r
		}
		x.Nodes = append(x.Nodes, ExplainedNodes{Reason: r, Verdict: verdicts[r], Count: counts[r], Example: example[r].String()})
	}
	return best
}

func (p *Planner) verdict(app, ask, slot uint32, n *state.Node, l *limits) Reason {
	a, k := p.st.Apps.Get(app), p.st.Asks.Get(ask)
	switch {
	case n.Reservation != 0 && p.st.Reservations.Get(n.Reservation).App != app:
		return NodeReservedByOther
	case a.Blacklisted(n):
		return Blacklisted
	case !p.cfg.Calculator.FitsIn(k.Size, n.Total):
		return NodeTooSmall
	case p.cfg.Calculator.AvailableContainers(n.Unallocated(), k.Size) <= 0:
		return NodeTooSmallFree
	}
	if d := p.place(app, ask, slot, l, false); d.kind != kindAllocate {
		return d.why
	}
	return NoReason
}

// Headroom is what an application may still get; for reports.
func (p *Planner) Headroom(id yarn.ApplicationID) yarn.Resource {
	if slot := p.st.AppByID(id); slot != 0 && p.cfg != nil {
		return p.headroom(slot)
	}
	return yarn.Resource{}
}

// Tree is the effective capacities for the cluster as it is, with the
// configuration they belong to; nil before the cluster is initialized.
func (p *Planner) Tree() (*capacity.Config, *capacity.Tree) {
	if p.cfg == nil {
		return nil, nil
	}
	p.capacities()
	return p.cfg, p.tree
}
