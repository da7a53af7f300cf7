package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// outcome is the result of a pass over a queue.
type outcome struct {
	decided    *decision // what to allocate or reserve, valid until the next pass; nil: nothing
	queueLimit bool      // the queue's limit stopped the pass: siblings may not use its room
}

// A pass offers one node to the queues, and allocates or reserves there. It is a value: what tries a
// pass to answer a question makes one of its own.
type pass struct {
	views.View
	s        *Scheduler
	counting bool        // the pass is for a heartbeat: its offers count for locality delays
	trial    bool        // the pass only answers a question: it emits nothing
	prefer   *preference // nil: asks may use nodes that they avoid
}

// passOn returns a pass on a node.
func (s *Scheduler) passOn(n *state.Node) pass {
	s.RefreshCapacities()
	return pass{View: s.On(s.PartitionOf(n)), s: s}
}

// HeartbeatPass serves a node that has sent a heartbeat. The offers that it makes count toward
// locality delays and re-reservations.
func (s *Scheduler) HeartbeatPass(node state.NodeSlot) {
	n := s.State.Nodes.Get(node)
	if !n.TakesContainers() {
		return
	}
	p := s.passOn(n)
	p.counting = true
	p.serve(node)
}

// serve runs passes on a node until one allocates and reserves nothing, one makes a reservation, or
// a limit on assignments is reached. On a reserved node, it first tries to fulfill the reservation.
// After that it only lends the room that the reservation leaves idle. It reports whether a pass
// allocated or reserved anything.
func (p *pass) serve(node state.NodeSlot) bool {
	var grants, offSwitch int64
	reserved := p.State.Nodes.Get(node).Reservation != 0
	if reserved {
		p.fulfill(node)
	}
	for {
		d := p.next(node, reserved)
		if d == nil {
			return grants > 0
		}
		grants++
		if d.locality == yarn.OffSwitch {
			offSwitch++
		}
		if d.state == stateReserved || !p.Config.MultipleAssignments || offSwitch >= p.Config.MaxOffSwitch ||
			(p.Config.MaxAssignments >= 0 && grants >= p.Config.MaxAssignments) {
			return true
		}
	}
}

// next runs one pass on a node that is, or has been, reserved or not.
func (p *pass) next(node state.NodeSlot, reserved bool) *decision {
	if reserved {
		return p.lendReserved(node)
	}
	return p.passOnNode(node)
}

// passOnNode runs one pass on a node that is not reserved. It returns what the pass has allocated or
// reserved, or nil.
func (p *pass) passOnNode(node state.NodeSlot) *decision {
	n := p.State.Nodes.Get(node)
	if !n.TakesContainers() || !p.HasRoom(n) {
		return nil
	}
	if d := p.offerNode(node); d != nil || !p.At.Lends {
		return d
	}
	return p.lend(node)
}

// offerNode offers a node to the queues, from root on, and carries out what they decide.
func (p *pass) offerNode(node state.NodeSlot) *decision {
	d := p.decide(node)
	if d != nil {
		p.commit(d)
	}
	return d
}

// decide returns what a pass on a node would allocate or reserve, or nil.
func (p *pass) decide(node state.NodeSlot) *decision {
	return p.assign(0, node, &Limits{limit: p.At.Total}).decided
}

// lend offers a node of a label that is not exclusive to asks without a label.
func (p *pass) lend(node state.NodeSlot) *decision {
	lending := *p
	lending.Lending = true
	return lending.offerNode(node)
}

// assign offers a node to a queue.
func (p *pass) assign(i int32, node state.NodeSlot, l *Limits) outcome {
	if p.Config.Queues[i].Leaf {
		return p.assignLeaf(i, node, l)
	}
	return p.assignParent(i, node, l)
}

func (p *pass) assignParent(i int32, node state.NodeSlot, l *Limits) outcome {
	q := p.Queue(i)
	pending := &q.Pending
	if p.At.Label != 0 {
		pending = &p.LabelUse(p.At.Uses[i]).Pending
	}
	if p.Lending {
		pending = &q.Pending
	}
	if pending.IsZero() {
		return outcome{}
	}
	if ok, headroom := p.QueueLimit(i, l.limit, p.Unreservable(i)); !ok {
		l.headroom = headroom
		return outcome{}
	}
	var limited bool
	var cl Limits // declared once: in the loop it would be allocated
	for _, child := range p.Children(i) {
		cl = Limits{limit: p.ChildLimit(i, child, l.limit, l.blocked)}
		a := p.assign(child, node, &cl)
		if a.decided != nil {
			return a
		}
		if a.queueLimit {
			limited = true
			l.blocked = l.blocked.Add(p.s.blockedBy(child, &cl))
		}
	}
	return outcome{queueLimit: limited}
}

// blockedBy returns the room that later siblings may not use because a child is blocked.
func (s *rules) blockedBy(child int32, cl *Limits) yarn.Resource {
	if !s.Config.Queues[child].Leaf {
		return cl.blocked
	}
	return s.Config.Calculator.Max(s.State.Meta.Cluster, cl.headroom, yarn.Resource{})
}

func (p *pass) assignLeaf(i int32, node state.NodeSlot, l *Limits) outcome {
	users, active := p.UserLimits(&p.At.Queues[i]), p.Active(i)
	if users.Refused == p.Queues[i].Changes {
		return outcome{} // any other node would have the same result
	}
	check, refused := true, 0
	for _, slot := range active {
		a := p.State.Apps.Get(slot)
		if check {
			ok, headroom := p.QueueLimit(i, l.limit, p.ReservedIn(a))
			l.headroom = headroom
			if !ok {
				return outcome{}
			}
			check = !p.ReservedIn(a).IsZero() && p.Config.ContinueLooking
		}
		ok, need := p.UserCheck(i, a)
		if !ok {
			refused++
			continue
		}
		l.needUnreserve = need
		switch d := p.offer(slot, node, l); d.state {
		case stateAppSkipped:
			continue
		case stateQueueSkipped:
			return outcome{queueLimit: d.why != GuaranteeKept} // which keeps no room from siblings
		default:
			if d.gang == nil && !p.accept(&d) {
				return outcome{}
			}
			p.s.decided = d
			return outcome{decided: &p.s.decided}
		}
	}
	if refused == len(active) {
		users.Refused = p.Queues[i].Changes
	}
	return outcome{}
}
