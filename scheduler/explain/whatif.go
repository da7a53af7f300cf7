package explain

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
)

// WhatIfLimits limit the work of a what-if.
type WhatIfLimits struct {
	// Turns is the maximum number of passes on nodes for each configuration.
	Turns int
	// Stop is called regularly and reports whether to end early; nil: never.
	Stop func() bool
}

// DefaultWhatIfLimits returns the default limits.
func DefaultWhatIfLimits() WhatIfLimits { return WhatIfLimits{Turns: 50_000} }

// Bounds of an answer.
const (
	whatIfApps    = 100 // in each list
	whatIfReasons = 10  // of these, with a reason
	stopEvery     = 64  // passes
)

// Planner plans inputs on its own copy of the state, which a question may change.
type Planner interface {
	Plan(nowMillis int64, req input.Request) (input.Reply, []event.Event)
	Scheduler() *scheduler.Scheduler
}

// WhatIf compares another queue configuration with the current one. Both planners have forks of the
// same state; WhatIf applies the other configuration to other. A refusal is an *input.Fault.
func WhatIf(inForce, other Planner, properties []input.Property, lim WhatIfLimits) (*Comparison, error) {
	st := inForce.Scheduler().State()
	began := map[uint32]int32{} // live containers, by slot
	st.Apps.Each(func(slot uint32, a *state.App) bool { began[slot] = a.Live; return true })
	now := st.Meta.NowMillis
	reply, _ := other.Plan(now, input.Request{Input: &input.SetQueues{Properties: properties, Comment: "what if"}})
	if f := reply.Refused(); f != nil {
		return nil, f
	}
	c := &Comparison{Warnings: reply.(*input.SetQueuesReply).Warnings}
	if v := st.Version(); v != nil {
		c.Version = v.Version
	}
	n, whole := serveAll(inForce, now, lim)
	m, all := serveAll(other, now, lim)
	c.Turns, c.Complete = n+m, whole && all
	before, after := viewOf(inForce.Scheduler()), viewOf(other.Scheduler())
	c.compareQueues(before, after)
	c.compareApps(before, after, began)
	return c, nil
}

// serveAll sends heartbeats of all nodes until no pass places anything. whole is false if a limit
// ended it earlier.
func serveAll(p Planner, now int64, lim WhatIfLimits) (turns int, whole bool) {
	var nodes []uint32
	p.Scheduler().State().Nodes.Each(func(slot uint32, n *state.Node) bool {
		if n.TakesContainers() {
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
			p.Plan(now, input.Request{Input: &input.NodesHeard{Nodes: []uint32{n}}})
			placed = placed || slices.ContainsFunc(p.Scheduler().Changes(), places)
		}
		if !placed {
			return turns, true
		}
	}
}

// places reports whether a change starts or reserves something, or fulfils a reservation.
func places(c state.Change) bool {
	switch c.Kind {
	case state.ContainerStarted, state.ReservationOpened:
		return true
	case state.ReservationClosed:
		return c.Cancelled == 0
	}
	return false
}

func (c *Comparison) compareQueues(old, other view) {
	var paths []string
	for _, v := range []view{old, other} {
		for i := range v.cfg.Queues {
			paths = append(paths, v.cfg.Queues[i].Path)
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

// shareOf returns the share of a queue, and whether the queue uses more than its guarantee. Both
// are zero if the queue does not exist.
func (v view) shareOf(path string) (QueueShare, bool) {
	i, err := v.cfg.Lookup(path)
	slot := v.st.Queue(path)
	if err != nil || slot == 0 {
		return QueueShare{}, false
	}
	q, e := v.st.Queues.Get(slot), &v.tree.Capacities[i]
	return QueueShare{Guaranteed: v.cfg.Kinds.Format(e.EffMin), Max: v.cfg.Kinds.Format(e.EffMax), Used: v.cfg.Kinds.Format(q.Used),
		Pending: v.cfg.Kinds.Format(q.Pending)}, !v.cfg.Calculator.FitsIn(q.Used, e.EffMin)
}

func (c *Comparison) compareApps(old, other view, began map[uint32]int32) {
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
		why := *total <= whatIfReasons
		*list = append(*list, ComparedApp{ID: a.ID.String(), User: other.st.NameOf(a.User), Queue: other.st.Queues.Get(a.Queue).Path,
			Before: old.shareOfApp(slot, why), After: other.shareOfApp(slot, why)})
	}
}

// shareOfApp returns what an application has and, with why, what it waits for.
func (v view) shareOfApp(slot uint32, why bool) AppShare {
	a := v.st.Apps.Get(slot)
	h := AppShare{Containers: a.Live, Used: v.cfg.Kinds.Format(a.Used), Outstanding: a.Outstanding}
	if why {
		if x, err := Application(v.Scheduler, a.ID); err == nil && x.Waiting {
			h.Reason, h.Text = x.Reason, x.Text
		}
	}
	return h
}
