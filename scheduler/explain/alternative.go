package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

// alternatives says what would happen without an obstacle.
type alternatives struct{ view }

// explainIfs adds what would happen without the obstacle of the first ask, and which containers
// must end so that the ask fits. Each answer comes from a fork in which the obstacle is removed.
func (v alternatives) explainIfs(x *Explanation, app state.AppSlot, a *state.App) {
	ask := v.firstAsk(a)
	switch {
	case x.reason == scheduler.MaxParallelApps:
		v.suppose(x, app, "no number of parallel applications were set", func() { v.sched.StartAnyway(app) })
		return
	case ask == 0:
		return
	case x.reason == scheduler.AMLimitQueue || x.reason == scheduler.AMLimitUser:
		v.suppose(x, app, "AMs had no limit", func() { v.apply(&event.AttemptActivated{App: a.ID.Seq}) })
		return
	case !a.Activated():
		return
	}
	k, leaf := v.st.Asks.Get(ask), v.LeafOf(a)
	smaller := x.reason.LacksRoom() // a smaller ask may fit
	switch x.reason {
	case scheduler.QueueMaxCapacity, scheduler.ParentMaxCapacity:
		v.suppose(x, app, "its queues had no maximum", func() { v.sched.LiftMaxima(leaf, ask) })
	case scheduler.UserLimit:
		v.suppose(x, app, "its user had no limit", func() { v.LiftUserLimit(leaf, ask) })
	case scheduler.GuaranteeKept:
		v.suppose(x, app, "nothing were kept for queues that had to wait", func() { preemption.EndKept(v.sched) })
	case scheduler.LocalityDelay:
		v.suppose(x, app, "it took any node at once", func() {
			v.apply(&event.AskCountersUpdated{App: a.ID.Seq, Key: k.Key, Opportunities: math.MaxInt32,
				ReReservations: k.ReReservations})
		})
	case scheduler.Blacklisted:
		v.suppose(x, app, "it had no blacklist",
			func() { v.apply(&event.BlacklistChanged{App: a.ID.Seq, Remove: v.names(a.Blacklist)}) })
	case scheduler.NodeSilent:
		v.suppose(x, app, "the silent nodes sent heartbeats", v.hear)
	case scheduler.NodeTooSmall, scheduler.NodeReservedByOther, scheduler.ReservedElsewhere:
		smaller = true
	}
	if smaller && !v.st.Gangs.HoldsBack(k) {
		v.explainRoom(x, app, ask)
	}
	if x.reason != scheduler.NextPass && slices.ContainsFunc(x.Nodes, func(g NodeGroup) bool {
		return g.Reason == scheduler.NodeReservedByOther.String() || g.Reason == scheduler.ReservedElsewhere.String()
	}) {
		v.suppose(x, app, "no node were reserved for others", func() { v.cancelOthers(app) })
	}
}

// apply applies an event in a fork.
func (v alternatives) apply(e event.Event) {
	if err := v.Apply(e); err != nil {
		panic("explain: " + err.Error())
	}
}

func (v alternatives) names(ids []state.NameSlot) []string {
	var out []string
	for _, id := range ids {
		out = append(out, v.st.Names.Text(id))
	}
	return out
}

// hear lets all silent nodes of a fork send heartbeats.
func (v alternatives) hear() {
	v.State.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if n.Silent() && n.Heard() {
			v.apply(&event.NodeSilenceChanged{Node: slot})
		}
		return true
	})
}

// cancelOthers cancels the reservations of all other applications in a fork.
func (v alternatives) cancelOthers(app state.AppSlot) {
	var numbers []uint64
	v.State.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		if r.App != app {
			numbers = append(numbers, r.Number)
		}
		return true
	})
	for _, n := range numbers {
		v.sched.CancelReservation(n)
	}
}

// suppose adds why the application would wait in a fork after a change. It returns that reason.
func (v alternatives) suppose(x *Explanation, app state.AppSlot, text string, change func()) {
	v.Suppose(func() {
		change()
		fork := viewOf(v.sched)
		other := &Explanation{}
		fork.explainWaiting(other, app, fork.st.Apps.Get(app))
		x.suppose(text, other)
	})
}

// suppose adds the result of one assumption.
func (x *Explanation) suppose(text string, other *Explanation) {
	r := other.reason
	k := Alternative{If: text, Now: r == scheduler.NextPass, Reason: r.String(), Then: "not sooner: " + r.Diagnostic()}
	switch r {
	case scheduler.AMNotRegistered: // its AM is unmanaged
		k.Now, k.Then = true, "it would start now"
	case scheduler.NextPass:
		k.Then = "a node would serve it in its next pass"
	case scheduler.BehindFIFO:
		k.Then = fmt.Sprintf("a node would serve it after %s of its queue", applications(other.Position-1))
	case scheduler.BehindQueue:
		k.Then = "a node would serve it after other queues"
	}
	x.WhatIf = append(x.WhatIf, k)
}

// explainRoom finds the largest part of the ask that would fit on a node now. If only free room is
// missing, it also finds which containers must end.
func (v alternatives) explainRoom(x *Explanation, app state.AppSlot, ask state.AskSlot) {
	k := v.st.Asks.Get(ask)
	var best yarn.Resource
	var share uint64
	var fullest candidates
	v.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if !v.open(app, ask, slot, n) {
			return true
		}
		free := yarn.ComponentMax(n.Unallocated(), yarn.Resource{})
		if part := v.cfg.Calculator.RoundDown(yarn.ComponentMin(free, k.Size), v.cfg.MinAlloc); part != best {
			if s := v.leastShare(part, k.Size); s > share {
				best, share = part, s
			}
		}
		if x.reason.LacksRoom() && v.cfg.Calculator.FitsIn(k.Size, n.Total) {
			fullest.add(candidate{slot, v.leastShare(free, k.Size), n.Reservation != 0})
		}
		return true
	})
	if share > 0 && best != k.Size && k.IncreaseOf == 0 {
		v.suppose(x, app, "it asked "+v.cfg.Kinds.Format(best)+" instead", func() { v.sched.Resize(ask, best) })
	}
	v.explainEnd(x, k, fullest)
}

// leastShare returns the smallest share of some in whole over the resources that count, in units of
// 2^-32.
func (v alternatives) leastShare(some, whole yarn.Resource) uint64 {
	least := uint64(1) << 32
	for i := range v.cfg.Kinds {
		if whole[i] > 0 && (i == yarn.Memory || v.cfg.Calculator.Dominant) {
			least = min(least, yarn.Share(max(some[i], 0), whole[i]))
		}
	}
	return least
}

// endCandidates is the number of nodes that are examined for containers that must end.
const endCandidates = 32

// candidate is a node where an ask would fit after enough containers end.
type candidate struct {
	node     state.NodeSlot
	share    uint64 // the part of the ask that is already free, in units of 2^-32
	reserved bool   // the node is reserved for the application
}

// before reports whether c is the better candidate: a reserved node, or else the node with more
// free room.
func (c candidate) before(o candidate) bool {
	if c.reserved != o.reserved {
		return c.reserved
	}
	return c.share > o.share
}

// candidates keeps the best candidates, the best first. Among equals, the one that was added first
// comes first.
type candidates struct {
	list [endCandidates]candidate
	n    int
}

func (l *candidates) add(c candidate) {
	at := l.n
	if at == len(l.list) {
		if at--; !c.before(l.list[at]) {
			return
		}
	} else {
		l.n++
	}
	for ; at > 0 && c.before(l.list[at-1]); at-- {
		l.list[at] = l.list[at-1]
	}
	l.list[at] = c
}

// explainEnd finds the smallest set of containers on one node whose end makes room for the ask: on
// the node that is reserved for it, otherwise on the node where the fewest containers suffice.
func (v alternatives) explainEnd(x *Explanation, k *state.Ask, from candidates) {
	for _, c := range from.list[:from.n] {
		end := v.endOn(c.node, k.Size)
		if end != nil && (x.MustEnd == nil || len(end.Containers) < len(x.MustEnd.Containers)) {
			x.MustEnd = end
		}
		if x.MustEnd != nil && c.reserved {
			return
		}
	}
}

// endOn returns containers of a node whose end makes a size fit, or nil if all of them do not
// suffice. Those that free the most of the missing resources come first.
func (v alternatives) endOn(node state.NodeSlot, size yarn.Resource) *MustEnd {
	n := v.st.Nodes.Get(node)
	missing := yarn.ComponentMax(size.Sub(n.Unallocated()), yarn.Resource{})
	out := &MustEnd{Node: n.ID.String(), Missing: v.cfg.Kinds.Format(missing), MissingAmount: v.amount(missing)}
	var list []state.ContainerSlot
	for c := range v.st.Containers.On(n) {
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b state.ContainerSlot) int {
		return cmp.Compare(v.freeing(b, missing), v.freeing(a, missing))
	})
	free, ended := n.Unallocated(), 0
	for ; ended < len(list) && !v.cfg.Calculator.FitsIn(size, free); ended++ {
		free = free.Add(v.st.Containers.Get(list[ended]).Size)
	}
	// none: the pass skips a node without room for the smallest container
	if ended == 0 || !v.cfg.Calculator.FitsIn(size, free) {
		return nil
	}
	for _, slot := range list[:ended] {
		c := v.st.Containers.Get(slot)
		if less := free.Sub(c.Size); v.cfg.Calculator.FitsIn(size, less) {
			free = less // those after it free enough
			continue
		}
		out.Containers = append(out.Containers, v.st.Apps.ContainerID(c).String())
	}
	return out
}

// freeing returns how much of the missing resources the end of a container would free.
func (v alternatives) freeing(slot state.ContainerSlot, missing yarn.Resource) uint64 {
	return v.leastShare(yarn.ComponentMin(v.st.Containers.Get(slot).Size, missing), missing)
}
