package scheduler

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// WhatIfLimits bound the planning of a what-if.
type WhatIfLimits struct {
	// Turns of nodes, for either configuration.
	Turns int
	// Stop is asked now and then whether to end early; nil: never.
	Stop func() bool
}

// DefaultWhatIfLimits are the limits when nothing else is wanted.
func DefaultWhatIfLimits() WhatIfLimits { return WhatIfLimits{Turns: 50_000} }

// Bounds of an answer.
const (
	whatIfApps    = 100 // listed of a kind
	whatIfReasons = 10  // of which so many with a reason
	stopEvery     = 64  // turns
)

// Comparison is what another queue configuration would change: the planner has
// planned with the one in force and with the other on the same state, at the
// same time, until nothing more could be placed. Nothing that runs is stopped.
type Comparison struct {
	Version  uint64           `json:"version"` // in force
	Complete bool             `json:"complete"`
	Turns    int              `json:"turns"`
	Warnings []string         `json:"warnings,omitempty"`
	Queues   []ComparedQueue  `json:"queues,omitempty"` // those that differ
	Starts   []ComparedApp    `json:"starts,omitempty"`
	Waits    []ComparedApp    `json:"waits,omitempty"`
	Gains    []ComparedApp    `json:"gains,omitempty"`
	Loses    []ComparedApp    `json:"loses,omitempty"`
	Totals   ComparisonTotals `json:"totals"`
}

// ComparisonTotals counts the applications of each kind.
type ComparisonTotals struct {
	Starts int `json:"starts"`
	Waits  int `json:"waits"`
	Gains  int `json:"gains"`
	Loses  int `json:"loses"`
}

// ComparedQueue is one queue with either configuration.
type ComparedQueue struct {
	Path   string        `json:"path"`
	Before ComparedShare `json:"before"`
	After  ComparedShare `json:"after"`
	Over   bool          `json:"over,omitempty"` // it holds more than its guarantee would be
}

// ComparedShare is what a queue has and may have.
type ComparedShare struct {
	Guaranteed string `json:"guaranteed,omitempty"`
	Max        string `json:"max,omitempty"`
	Used       string `json:"used,omitempty"`
	Pending    string `json:"pending,omitempty"`
}

// ComparedApp is one application with either configuration.
type ComparedApp struct {
	ID     string         `json:"id"`
	User   string         `json:"user"`
	Queue  string         `json:"queue"`
	Before ComparedHolder `json:"before"`
	After  ComparedHolder `json:"after"`
}

// ComparedHolder is what an application would hold, and why no more.
type ComparedHolder struct {
	Containers  int32  `json:"containers"`
	Used        string `json:"used"`
	Outstanding int64  `json:"outstanding"`
	Reason      string `json:"reason,omitempty"`
}

// WhatIf compares another queue configuration with the one in force. The state is
// the caller's own fork, and is used up. A configuration that would be refused
// is an *input.Fault.
func WhatIf(st *state.State, properties []input.Property, lim WhatIfLimits) (*Comparison, error) {
	began := map[uint32]int32{} // live containers, by slot
	st.Apps.Each(func(slot uint32, a *state.App) bool { began[slot] = a.Live; return true })
	old, err := New(st.Fork(), Options{})
	if err != nil {
		return nil, err
	}
	other, err := New(st, Options{})
	if err != nil {
		return nil, err
	}
	now := st.Meta.NowMillis
	reply, _ := other.Plan(now, input.Request{Input: &input.SetQueues{Properties: properties, Comment: "what if"}})
	if f := reply.Refused(); f != nil {
		return nil, f
	}
	c := &Comparison{Warnings: reply.(*input.SetQueuesReply).Warnings}
	if v := old.st.Version(); v != nil {
		c.Version = v.Version
	}
	n, whole := old.serveAll(now, lim)
	m, all := other.serveAll(now, lim)
	c.Turns, c.Complete = n+m, whole && all
	c.compareQueues(old, other)
	c.compareApps(old, other, began)
	return c, nil
}

// serveAll gives every node its turn again and again, until a round places
// nothing; false when the limits end it before.
func (p *Planner) serveAll(now int64, lim WhatIfLimits) (turns int, whole bool) {
	var nodes []uint32
	p.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if serving(n) {
			nodes = append(nodes, slot)
		}
		return true
	})
	for {
		placed := false
		for _, n := range nodes {
			if turns >= lim.Turns || turns%stopEvery == 0 && lim.Stop != nil && lim.Stop() {
				return turns, false
			}
			turns++
			_, events := p.Plan(now, input.Request{Input: &input.NodesHeard{Nodes: []uint32{n}}})
			placed = placed || slices.ContainsFunc(events, places)
		}
		if !placed {
			return turns, true
		}
	}
}

func places(e event.Event) bool {
	switch e.(type) {
	case *event.ContainerAllocated, *event.ReservationMade, *event.ReservationFulfilled:
		return true
	}
	return false
}

func (c *Comparison) compareQueues(old, other *Planner) {
	old.capacities()
	other.capacities()
	var paths []string
	for _, p := range []*Planner{old, other} {
		for i := range p.cfg.Queues {
			paths = append(paths, p.cfg.Queues[i].Path)
		}
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		before, _ := old.shareOf(path)
		after, over := other.shareOf(path)
		if before != after {
			c.Queues = append(c.Queues, ComparedQueue{Path: path, Before: before, After: after, Over: over})
		}
	}
}

// shareOf shows a queue; nothing when there is none.
func (p *Planner) shareOf(path string) (ComparedShare, bool) {
	i, err := p.cfg.Lookup(path)
	slot := p.st.Queue(path)
	if err != nil || slot == 0 {
		return ComparedShare{}, false
	}
	q, e := p.st.Queues.Get(slot), &p.tree.Capacities[i]
	return ComparedShare{Guaranteed: p.cfg.Kinds.Format(e.EffMin), Max: p.cfg.Kinds.Format(e.EffMax), Used: p.cfg.Kinds.Format(q.Used),
		Pending: p.cfg.Kinds.Format(q.Pending)}, !p.cfg.Calculator.FitsIn(q.Used, e.EffMin)
}

func (c *Comparison) compareApps(old, other *Planner, began map[uint32]int32) {
	var slots []uint32
	other.st.Apps.Each(func(slot uint32, a *state.App) bool {
		if !a.State.Ended() && old.st.Apps.Has(slot) && old.st.Apps.Get(slot).Live != a.Live {
			slots = append(slots, slot)
		}
		return true
	})
	slices.SortFunc(slots, func(a, b uint32) int { return cmp.Compare(other.st.Apps.Get(a).ID.Seq, other.st.Apps.Get(b).ID.Seq) })
	for _, slot := range slots {
		before, after := old.st.Apps.Get(slot).Live, other.st.Apps.Get(slot).Live
		list, total := &c.Gains, &c.Totals.Gains
		switch {
		case began[slot] == 0 && before == 0:
			list, total = &c.Starts, &c.Totals.Starts
		case began[slot] == 0 && after == 0:
			list, total = &c.Waits, &c.Totals.Waits
		case after < before:
			list, total = &c.Loses, &c.Totals.Loses
		}
		if *total++; *total > whatIfApps {
			continue
		}
		a := other.st.Apps.Get(slot)
		told := *total <= whatIfReasons
		*list = append(*list, ComparedApp{ID: a.ID.String(), User: other.st.NameOf(a.User), Queue: other.st.Queues.Get(a.Queue).Path,
			Before: old.holder(slot, told), After: other.holder(slot, told)})
	}
}

// holder shows what an application holds, and with why what it waits for.
func (p *Planner) holder(slot uint32, why bool) ComparedHolder {
	a := p.st.Apps.Get(slot)
	h := ComparedHolder{Containers: a.Live, Used: p.cfg.Kinds.Format(a.Used), Outstanding: a.Outstanding}
	if why {
		if x, err := p.Explain(a.ID); err == nil && x.Waiting {
			h.Reason = x.Reason.String()
		}
	}
	return h
}
