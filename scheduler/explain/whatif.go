package explain

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/yarn"
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
// same state; WhatIf applies the other configuration to other. A refusal is an *input.Refusal.
func WhatIf(inForce, other Planner, properties []input.Property, lim WhatIfLimits) (*Comparison, error) {
	st := inForce.Scheduler().State
	began := map[state.AppSlot]int32{} // live containers, by slot
	st.Apps.Each(func(slot state.AppSlot, a *state.App) bool { began[slot] = a.Live; return true })
	now := st.Meta.NowMillis
	reply, _ := other.Plan(now, input.Request{Input: &input.SetQueues{Properties: properties, Comment: "what if"}})
	if f := reply.Refused(); f != nil {
		return nil, f
	}
	c := &Comparison{Warnings: reply.(*input.SetQueuesReply).Warnings}
	if v := st.Versions.Current(); v != nil {
		c.Version = v.Version
	}
	c.serve(now, lim, [2]*side{{Planner: inForce}, {Planner: other}})
	before, after := viewOf(inForce.Scheduler()), viewOf(other.Scheduler())
	c.compareQueues(before, after)
	c.compareApps(before, after, began)
	return c, nil
}

// serve serves nodes in rounds until no pass places anything more, also after all asks have waited
// for their hosts, racks and labels. The sides take turns, so if a limit ends it early, both have
// served the same nodes.
func (c *Comparison) serve(now int64, lim WhatIfLimits, sides [2]*side) {
	var nodes []state.NodeSlot
	sides[0].Scheduler().State.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if n.TakesContainers() {
			nodes = append(nodes, slot)
		}
		return true
	})
	for waited := false; ; {
		placed := false
		for _, s := range sides {
			s.begin()
		}
		for i, n := range nodes {
			if max(sides[0].turns, sides[1].turns) >= lim.Turns || i%stopEvery == 0 && lim.Stop != nil && lim.Stop() {
				c.Turns, c.NodesLeft = sides[0].turns+sides[1].turns, len(nodes)-i
				return
			}
			for _, s := range sides {
				placed = s.serve(now, n) || placed
			}
		}
		if !placed {
			waits := false
			for _, s := range sides {
				waits = !waited && s.Scheduler().EndDelays() || waits
			}
			if !waits {
				c.Turns, c.Complete = sides[0].turns+sides[1].turns, true
				return
			}
		}
		waited = !placed
	}
}

// side serves nodes with one of the configurations.
type side struct {
	Planner
	turns int
	// wanted has the sizes of the containers for which asks wait, by the host or rack that they name;
	// 0: by those that may use other nodes, too. The nodes of own are not like others: some ask may use
	// only them, or must not use them.
	wanted map[state.NameSlot][]yarn.Resource
	own    map[state.NameSlot]bool
	vain   map[alike]bool // a pass of this round has placed nothing on a node like these
}

// alike has what decides what a pass places on a node that is not reserved.
type alike struct {
	label       state.LabelSlot
	total, free yarn.Resource // free is zero if no ask fits
}

// begin begins a round.
func (s *side) begin() {
	s.wanted, s.own, s.vain = map[state.NameSlot][]yarn.Resource{}, map[state.NameSlot]bool{}, map[alike]bool{}
	st := s.Scheduler().State
	st.Asks.Each(func(_ state.AskSlot, k *state.Ask) bool {
		switch {
		case k.Count == 0:
			return true
		case k.IncreaseOf != 0:
			s.want(st.Nodes.Get(st.Containers.Get(k.IncreaseOf).Node).Host, k.Size, true)
		case k.Relax:
			s.want(0, k.Size, false)
		}
		for _, l := range st.Locations.Of(k) {
			s.want(l.Name, k.Size, !k.Relax || !l.Relax)
		}
		for _, name := range st.Apps.Get(k.App).Blacklist {
			s.own[name] = true
		}
		return true
	})
}

func (s *side) want(name state.NameSlot, size yarn.Resource, own bool) {
	if !slices.Contains(s.wanted[name], size) {
		s.wanted[name] = append(s.wanted[name], size)
	}
	if own {
		s.own[name] = true
	}
}

// serve runs the passes of a node's heartbeat, unless they placed nothing on a node like it. It reports
// whether they placed anything.
func (s *side) serve(now int64, node state.NodeSlot) (placed bool) {
	n := s.Scheduler().State.Nodes.Get(node)
	kind, others := alike{n.Label, n.Total, n.Unallocated()}, n.Reservation == 0
	if !s.fits(n) {
		kind.free = yarn.Resource{}
	} else if s.own[n.Host] || s.own[n.RackID] {
		others = false
	}
	if others && s.vain[kind] {
		return false
	}
	s.turns++
	s.Plan(now, input.Request{Input: &input.NodesHeard{Nodes: []state.NodeSlot{node}}})
	placed = slices.ContainsFunc(s.Scheduler().Changes(), places)
	s.vain[kind] = s.vain[kind] || others && !placed
	return placed
}

// fits reports whether a node has room for an ask that may use it.
func (s *side) fits(n *state.Node) bool {
	free, calc := n.Unallocated(), s.Scheduler().Config.Calculator
	fits := func(size yarn.Resource) bool { return calc.FitsIn(size, free) }
	return slices.ContainsFunc(s.wanted[0], fits) || slices.ContainsFunc(s.wanted[n.Host], fits) ||
		slices.ContainsFunc(s.wanted[n.RackID], fits)
}

// places reports whether a change starts or reserves something, or fulfils a reservation.
func places(c change.Change) bool {
	switch c.Kind {
	case change.ContainerStarted, change.ReservationOpened:
		return true
	case change.ReservationClosed:
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
	slot := v.st.Queues.Find(path)
	if err != nil || slot == 0 {
		return QueueShare{}, false
	}
	q, e := v.st.Queues.Get(slot), &v.Capacities()[i]
	return QueueShare{Guaranteed: v.cfg.Kinds.Format(e.EffMin), Max: v.cfg.Kinds.Format(e.EffMax),
		Used:    v.cfg.Kinds.Format(q.Used),
		Pending: v.cfg.Kinds.Format(q.Pending)}, !v.cfg.Calculator.FitsIn(q.Used, e.EffMin)
}

func (c *Comparison) compareApps(old, other view, began map[state.AppSlot]int32) {
	var slots []state.AppSlot
	other.st.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		if !a.State.Ended() && old.st.Apps.Has(slot) && old.st.Apps.Get(slot).Live != a.Live {
			slots = append(slots, slot)
		}
		return true
	})
	slices.SortFunc(slots, func(a, b state.AppSlot) int {
		return cmp.Compare(other.st.Apps.Get(a).ID.Seq, other.st.Apps.Get(b).ID.Seq)
	})
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
		*list = append(*list, ComparedApp{ID: a.ID.String(), User: other.st.Names.Text(a.User),
			Queue:  other.st.Queues.Get(a.Queue).Path,
			Before: old.shareOfApp(slot, why), After: other.shareOfApp(slot, why)})
	}
}

// shareOfApp returns what an application has and, with why, what it waits for.
func (v view) shareOfApp(slot state.AppSlot, why bool) AppShare {
	a := v.st.Apps.Get(slot)
	h := AppShare{Containers: a.Live, Used: v.cfg.Kinds.Format(a.Used), Outstanding: a.Outstanding}
	if why {
		if x, err := Application(v.sched, a.ID); err == nil && x.Waiting {
			h.Reason, h.Text = x.Reason, x.Text
		}
	}
	return h
}
