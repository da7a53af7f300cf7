package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// limits is what a pass hands down the queue tree, and what a queue learned
// about itself on the way.
type limits struct {
	limit         yarn.Resource // the most this queue may use
	headroom      yarn.Resource // limit − used; may be negative
	blocked       yarn.Resource // headroom of children that were blocked in this pass
	needUnreserve yarn.Resource // what the user must give up first
}

// outcome is what a pass over a queue or application came to.
type outcome struct {
	granted    bool // something was allocated or reserved
	reserved   bool
	offSwitch  bool
	queueLimit bool // stopped by the queue's limit: its room stays blocked
}

// heartbeatPass runs a node's turn: passes until one grants nothing, makes a
// reservation, or a bound on grants is reached. It says whether anything came
// of it.
func (p *Planner) heartbeatPass(node uint32) bool {
	p.capacities()
	var grants, offSwitch int64
	for {
		a := p.passOnNode(node)
		if !a.granted {
			return grants > 0
		}
		grants++
		if a.offSwitch {
			offSwitch++
		}
		if a.reserved || !p.cfg.MultipleAssignments || offSwitch >= p.cfg.MaxOffSwitch ||
			(p.cfg.MaxAssignments >= 0 && grants >= p.cfg.MaxAssignments) {
			return true
		}
	}
}

// passOnNode is one pass. A reserved node is looked at for its reservation
// alone, whatever comes of it.
func (p *Planner) passOnNode(node uint32) outcome {
	n := p.st.Nodes.Get(node)
	if !serving(n) {
		return outcome{}
	}
	if n.Reservation != 0 {
		p.tryFulfil(node)
		return outcome{}
	}
	if !p.hasRoom(n) {
		return outcome{}
	}
	p.handed[0] = limits{limit: p.st.Meta.Cluster}
	return p.assign(0, node, &p.handed[0])
}

// hasRoom says whether anything at all may be placed on a node: a smallest
// container fits, and no kind is over-committed, not even one that an ask does
// not want: nothing is placed until a lowered total holds again.
func (p *Planner) hasRoom(n *state.Node) bool {
	free := n.Unallocated()
	return p.cfg.Calculator.AvailableContainers(free, p.cfg.MinAlloc) > 0 && p.cfg.Calculator.FitsIn(yarn.Resource{}, free)
}

// assign offers a node to a queue.
func (p *Planner) assign(i int32, node uint32, l *limits) outcome {
	if p.cfg.Queues[i].Leaf {
		return p.assignLeaf(i, node, l)
	}
	return p.assignParent(i, node, l)
}

func (p *Planner) assignParent(i int32, node uint32, l *limits) outcome {
	v := &p.queues[i]
	q := p.st.Queues.Get(v.slot)
	if q.Pending.IsZero() {
		return outcome{}
	}
	if ok, headroom := p.queueLimit(i, l.limit, q.Reserved); !ok {
		l.headroom = headroom
		return outcome{}
	}
	var limited bool
	for k := 0; k < len(v.children); k++ {
		child := v.children[k]
		cl := &p.handed[p.cfg.Queues[child].Depth]
		*cl = limits{limit: p.childLimit(i, child, l)}
		a := p.assign(child, node, cl)
		if a.granted {
			return a
		}
		if a.queueLimit {
			limited = true
			l.blocked = l.blocked.Add(p.blockedBy(child, cl))
		}
	}
	return outcome{queueLimit: limited}
}

// blockedBy is the room that a blocked child keeps from its later siblings.
func (p *Planner) blockedBy(child int32, cl *limits) yarn.Resource {
	if !p.cfg.Queues[child].Leaf {
		return cl.blocked
	}
	return p.cfg.Calculator.Max(p.st.Meta.Cluster, cl.headroom, yarn.Resource{})
}

func (p *Planner) childLimit(parent, child int32, l *limits) yarn.Resource {
	return capacity.ChildLimit(capacity.ChildLimitInput{
		Calculator: p.cfg.Calculator,
		Total:      p.st.Meta.Cluster,
		Limit:      l.limit,
		EffMax:     p.tree.Capacities[parent].EffMax,
		Blocked:    l.blocked,
		Used:       p.st.Queues.Get(p.queues[parent].slot).Used,
		ChildUsed:  p.st.Queues.Get(p.queues[child].slot).Used,
		MinAlloc:   p.cfg.MinAlloc,
	})
}

// queueLimit is canAssignToThisQueue: present use against the limit.
func (p *Planner) queueLimit(i int32, limit, unreservable yarn.Resource) (bool, yarn.Resource) {
	return capacity.QueueLimit(capacity.QueueLimitInput{
		Calculator:      p.cfg.Calculator,
		Total:           p.st.Meta.Cluster,
		EffMax:          p.tree.Capacities[i].EffMax,
		Limit:           limit,
		Used:            p.st.Queues.Get(p.queues[i].slot).Used,
		Unreservable:    unreservable,
		ContinueLooking: p.cfg.ContinueLooking,
	})
}

func (p *Planner) assignLeaf(i int32, node uint32, l *limits) outcome {
	v := &p.queues[i]
	if v.refused {
		return outcome{} // as it would be again, whatever the node
	}
	check, refused := true, 0
	for k := 0; k < len(v.active); k++ {
		slot := v.active[k]
		a := p.st.Apps.Get(slot)
		if check {
			ok, headroom := p.queueLimit(i, l.limit, a.Reserved)
			l.headroom = headroom
			if !ok {
				return outcome{}
			}
			check = !a.Reserved.IsZero() && p.cfg.ContinueLooking
		}
		ok, need := p.userCheck(i, a)
		if !ok {
			refused++
			continue
		}
		l.needUnreserve = need
		switch d := p.offer(slot, node, l); d.kind {
		case kindSkipApp:
			continue
		case kindQueueLimit:
			return outcome{queueLimit: true}
		default:
			if !p.accept(&d) {
				return outcome{}
			}
			p.commit(&d)
			return outcome{granted: true, reserved: d.kind == kindReserve, offSwitch: d.locality == yarn.OffSwitch}
		}
	}
	v.refused = refused == len(v.active)
	return outcome{}
}

// userCheck is canAssignToUser: use at the limit still passes.
func (p *Planner) userCheck(i int32, a *state.App) (bool, yarn.Resource) {
	return capacity.UserCheck(capacity.UserCheckInput{
		Calculator:      p.cfg.Calculator,
		Total:           p.st.Meta.Cluster,
		Used:            p.st.Users.Get(a.UserSlot).Used,
		AppReserved:     a.Reserved,
		Limit:           p.userLimit(i, a.UserSlot),
		ContinueLooking: p.cfg.ContinueLooking,
	})
}

// userLimit is the limit of one user of a leaf, the active form.
func (p *Planner) userLimit(i int32, user uint32) yarn.Resource {
	v, q := &p.queues[i], &p.cfg.Queues[i]
	if v.changed {
		e, leaf := &p.tree.Capacities[i], p.st.Queues.Get(v.slot)
		v.userLimit = capacity.UserLimit(capacity.UserLimitInput{
			Calculator: p.cfg.Calculator, Label: p.st.Meta.Cluster, MinAlloc: p.cfg.MinAlloc,
			EffMin: e.EffMin, EffMax: e.EffMax,
			DominantUsed: v.dominantUsed, ActiveUsed: leaf.ActiveUsed, ActiveWeight: atLeastOne(v.activeWeight),
			MinUserLimit: q.MinUserLimitPercent, UserLimitFactor: q.UserLimitFactor, UserLimitOff: q.UserLimitOff,
		})
		v.changed = false
	}
	w := p.users[user].weight
	if w == yarn.One {
		return v.userLimit
	}
	return capacity.WeightedUserLimit(p.cfg.Calculator, v.userLimit, w, p.cfg.MinAlloc)
}

// atLeastOne stands in for the sum of no weights.
func atLeastOne(w yarn.Fraction) yarn.Fraction {
	if w.Num <= 0 {
		return yarn.One
	}
	return w
}

// tryFulfil is the turn of a reserved node: fulfil, count again, cancel, or
// nothing. No limit is checked: what is reserved has been charged already.
func (p *Planner) tryFulfil(node uint32) {
	n := p.st.Nodes.Get(node)
	r := p.st.Reservations.Get(n.Reservation)
	a := p.st.Apps.Get(r.App)
	ask := p.st.AskFor(a, r.Key, r.Grows)
	if !p.wantedAt(ask, node) {
		// YARN keeps a reservation whose ask has narrowed to other places: it
		// could never be fulfilled, and would lock the node.
		p.cancel(r.Number, yarn.CancelAskGone)
		return
	}
	if a.Blacklisted(n) {
		return
	}
	k := p.st.Asks.Get(ask)
	grows, opportunities, reReservations := k.Grows, k.Opportunities, k.ReReservations
	if p.counts(k) {
		opportunities++
	}
	d := p.place(r.App, ask, node, &limits{}, true)
	switch {
	case d.kind == kindAllocate:
		p.emit(&event.ReservationFulfilled{Reservation: r.Number, Locality: d.locality})
		reReservations = 0
	case d.kind == kindReserve && p.counting:
		reReservations++
	}
	if grows == 0 {
		p.recount(d.app, d.key, opportunities, reReservations)
	}
	if d.kind == kindAllocate {
		p.cancelNeedless(d.app)
	}
}
