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
	WaitingMillis int64                 `json:"waiting_ms,omitempty"` // since the attempt began, or its oldest reservation
	Position      int                   `json:"position,omitempty"`   // among those of its leaf that want something, from 1
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
	WhatIf        []ExplainedIf         `json:"what_if,omitempty"`
	MustEnd       *ExplainedEnd         `json:"must_end,omitempty"`
}

// ExplainedAsk is one outstanding ask.
type ExplainedAsk struct {
	Priority     int32  `json:"priority"`
	AllocationID int64  `json:"allocation_id,omitempty"`
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
	Reason     Reason `json:"reason"`
	Verdict    string `json:"verdict"`
	Diagnostic string `json:"diagnostic,omitempty"` // YARN's sentence
	Count      int    `json:"count"`
	Example    string `json:"example"`
}

// ExplainedHold is a reservation held for the application.
type ExplainedHold struct {
	ID        string   `json:"id"`
	Node      string   `json:"node"`
	Needs     string   `json:"needs"`
	Free      string   `json:"free"`
	AgeMillis int64    `json:"age_ms"`
	WaitsFor  []string `json:"waits_for"` // containers on the node, any of which may end
}

// ExplainedIf is what would be if one thing were otherwise: the same check, with
// that thing left out.
type ExplainedIf struct {
	If     string `json:"if"`
	Now    bool   `json:"now"` // a node would serve it at its next turn
	Reason Reason `json:"reason,omitempty"`
	Then   string `json:"then"`
}

// ExplainedEnd is the least that must end, on one node, for the first ask to fit
// there.
type ExplainedEnd struct {
	Node       string   `json:"node"`
	Missing    string   `json:"missing"`
	Containers []string `json:"containers"`
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
		p.ifNoParallelLimit(x, a)
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
		if k.Grows != 0 {
			c := p.st.Containers.Get(k.Grows)
			where = fmt.Sprintf("for %s to grow on %s", p.st.ContainerID(c), p.st.Nodes.Get(c.Node).ID)
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
	userLimit := p.userAMLimit(i, a.UserSlot, limit, p.usersOf(i))
	reason := p.mayActivate(i, a, p.usersOf(i))
	x.Limits = []ExplainedLimit{
		p.limitOf("AM share of queue", leaf.AMUsed, limit, reason == AMLimitQueue),
		p.limitOf("AM share of user", user.AMUsed, userLimit, reason == AMLimitUser),
	}
	switch reason {
	case AMLimitQueue:
		x.because(reason, "its AM needs %s; the AMs of %s use %s of %s", p.cfg.Kinds.Format(a.AM), leaf.Path, p.cfg.Kinds.Format(leaf.AMUsed), p.cfg.Kinds.Format(limit))
	case AMLimitUser:
		x.because(reason, "its AM needs %s; the AMs of user %s use %s of %s", p.cfg.Kinds.Format(a.AM), p.st.NameOf(a.User), p.cfg.Kinds.Format(user.AMUsed), p.cfg.Kinds.Format(userLimit))
	case NoReason:
		if !p.cfg.Calculator.AnyAboveZero(p.st.Meta.Cluster) {
			x.because(NoNodes, "the cluster has no node in use; it is activated when one registers")
			return
		}
		x.because(BehindFIFO, "it is activated with the next change in its queue")
		return
	}
	p.ifNoAMLimit(x, slot, a)
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
