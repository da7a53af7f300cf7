package explain

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/yarn"
)

// explainIfs adds what would happen without the obstacle of the first ask, and which containers
// must end so that the ask fits.
func (v view) explainIfs(x *Explanation, app, ask uint32, all *survey) {
	try := func(text string, w without) { x.suppose(text, v.judge(app, ask, w, nil).reason) }
	switch x.reason {
	case scheduler.QueueMaxCapacity, scheduler.ParentMaxCapacity:
		try("its queues had no maximum", without{maximum: true})
	case scheduler.UserLimit:
		try("its user had no limit", without{user: true})
	case scheduler.LocalityDelay:
		try("it took any node at once", without{delay: true})
	case scheduler.Blacklisted:
		try("it had no blacklist", without{blacklist: true})
	case scheduler.NodeSilent:
		try("the silent nodes sent heartbeats", without{silence: true})
	case scheduler.NodeTooSmall, scheduler.NodeTooSmallFree, scheduler.NodeReservedByOther:
		v.explainRoom(x, app, ask)
	}
	if all.count[scheduler.NodeReservedByOther] > 0 {
		opened := v.opened(app, ask, all)
		x.suppose("no node were reserved for others", v.judge(app, ask, without{reservations: true}, &opened).reason)
	}
}

// suppose adds the result of one assumption.
func (x *Explanation) suppose(text string, r scheduler.Reason) {
	k := Alternative{If: text, Now: r == scheduler.NoReason, Reason: r.String(), Then: "not sooner: " + r.Diagnostic()}
	if k.Now {
		k.Then = "a node would serve it in its next pass"
		if x.Position > 1 {
			k.Then = fmt.Sprintf("a node would serve it after %s of its queue", applications(x.Position-1))
		}
	}
	x.WhatIf = append(x.WhatIf, k)
}

// explainRoom finds the largest part of the ask that would fit on a node now. If only free room is
// missing, it also finds which containers must end.
func (v view) explainRoom(x *Explanation, app, ask uint32) {
	k := v.st.Asks.Get(ask)
	var best yarn.Resource
	var share uint64
	var fullest candidates
	v.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if !v.open(app, ask, slot, n) {
			return true
		}
		free := n.Unallocated()
		if part := v.cfg.Calculator.RoundDown(yarn.ComponentMin(free, k.Size), v.cfg.MinAlloc); part != best {
			if s := v.leastShare(part, k.Size); s > share {
				best, share = part, s
			}
		}
		if x.reason == scheduler.NodeTooSmallFree && v.cfg.Calculator.FitsIn(k.Size, n.Total) {
			fullest.add(candidate{slot, v.leastShare(free, k.Size), n.Reservation != 0})
		}
		return true
	})
	if share > 0 {
		x.suppose("it asked "+v.cfg.Kinds.Format(best)+" instead", scheduler.NoReason)
	}
	v.explainEnd(x, k, fullest)
}

// leastShare returns the smallest share of some in whole over the resources that count, in units of
// 2^-32.
func (v view) leastShare(some, whole yarn.Resource) uint64 {
	least := uint64(1) << 32
	for i := range v.cfg.Kinds {
		if whole[i] > 0 && (i == yarn.Memory || v.cfg.Calculator.Dominant) {
			least = min(least, yarn.Share(max(some[i], 0), whole[i]))
		}
	}
	return least
}

// open reports whether an ask may use a running node that no other application has reserved.
func (v view) open(app, ask, node uint32, n *state.Node) bool {
	return n.TakesContainers() && v.MayUse(ask, node) && !v.st.Apps.Get(app).Blacklisted(n) &&
		(n.Reservation == 0 || v.st.Reservations.Get(n.Reservation).App == app)
}

// ifNoAMLimit adds the result if the application were activated.
func (v view) ifNoAMLimit(x *Explanation, slot uint32, a *state.App) {
	if ask := v.firstAsk(a); ask != 0 {
		x.suppose("AMs had no limit", v.judge(slot, ask, without{}, nil).reason)
	}
}

// ifNoParallelLimit adds the result without limits on parallel applications: whether the AM would
// be activated and would fit.
func (v view) ifNoParallelLimit(x *Explanation, a *state.App) {
	r := v.WhyNotActivated(a)
	if r == scheduler.NoReason && !a.Unmanaged {
		r = scheduler.NodeTooSmallFree
		v.st.Nodes.Each(func(_ uint32, n *state.Node) bool {
			if n.TakesContainers() && n.Reservation == 0 && v.cfg.Calculator.FitsIn(a.AM, n.Unallocated()) {
				r = scheduler.NoReason
			}
			return r != scheduler.NoReason
		})
	}
	x.suppose("no number of parallel applications were set", r)
}

// endCandidates is the number of nodes that are examined for containers that must end.
const endCandidates = 32

// candidate is a node where an ask would fit after enough containers end.
type candidate struct {
	node     uint32
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
func (v view) explainEnd(x *Explanation, k *state.Ask, from candidates) {
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
func (v view) endOn(node uint32, size yarn.Resource) *MustEnd {
	n := v.st.Nodes.Get(node)
	missing := yarn.ComponentMax(size.Sub(n.Unallocated()), yarn.Resource{})
	out := &MustEnd{Node: n.ID.String(), Missing: v.cfg.Kinds.Format(missing), MissingAmount: v.amount(missing)}
	var list []uint32
	for c := range v.st.ContainersOn(n) {
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b uint32) int {
		return cmp.Compare(v.freeing(b, missing), v.freeing(a, missing))
	})
	free := n.Unallocated()
	for _, slot := range list {
		if v.cfg.Calculator.FitsIn(size, free) {
			break
		}
		c := v.st.Containers.Get(slot)
		free = free.Add(c.Size)
		out.Containers = append(out.Containers, v.st.ContainerID(c).String())
	}
	if !v.cfg.Calculator.FitsIn(size, free) {
		return nil
	}
	return out
}

// freeing returns how much of the missing resources the end of a container would free.
func (v view) freeing(slot uint32, missing yarn.Resource) uint64 {
	return v.leastShare(yarn.ComponentMin(v.st.Containers.Get(slot).Size, missing), missing)
}
