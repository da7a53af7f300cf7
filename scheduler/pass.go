package scheduler

import (
	"rmd/fsm/state"
	"rmd/yarn"
)

// Limits has the limits that a pass gives to a queue, and results for this queue.
type Limits struct {
	limit         yarn.Resource // the most that this queue may use
	headroom      yarn.Resource // limit − used; may be negative
	blocked       yarn.Resource // headroom of children that were blocked in this pass
	needUnreserve yarn.Resource // reservations that the application must give up first
}

// Headroom returns how much more the queue may use.
func (l *Limits) Headroom() yarn.Resource { return l.headroom }

// outcome is the result of a pass over a queue.
type outcome struct {
	decided    *decision // what to allocate or reserve, valid until the next pass; nil: nothing
	queueLimit bool      // the queue's limit stopped the pass: siblings may not use its room
}

// HeartbeatPass serves a node that has sent a heartbeat. The offers that it makes count toward
// locality delays and re-reservations.
func (s *Scheduler) HeartbeatPass(node uint32) {
	if !s.st.Nodes.Get(node).TakesContainers() {
		return
	}
	s.counting = true
	s.serve(node)
	s.counting = false
}

// serve runs passes on a node until one allocates and reserves nothing, one makes a reservation, or
// a limit on assignments is reached. It reports whether a pass allocated or reserved anything.
func (s *Scheduler) serve(node uint32) bool {
	s.refreshCapacities()
	s.at = s.partitionOf(s.st.Nodes.Get(node))
	granted := s.servePartition(node)
	s.at = s.partitions[0]
	return granted
}

// servePartition is serve for a node of the current partition. On a reserved node, it first tries
// to fulfill the reservation. After that it only lends the room that the reservation leaves idle.
func (s *Scheduler) servePartition(node uint32) bool {
	var grants, offSwitch int64
	pass := s.passOnNode
	if s.st.Nodes.Get(node).Reservation != 0 {
		s.fulfill(node)
		pass = s.lendReserved
	}
	for {
		d := pass(node)
		if d == nil {
			return grants > 0
		}
		grants++
		if d.locality == yarn.OffSwitch {
			offSwitch++
		}
		if d.state == stateReserved || !s.cfg.MultipleAssignments || offSwitch >= s.cfg.MaxOffSwitch ||
			(s.cfg.MaxAssignments >= 0 && grants >= s.cfg.MaxAssignments) {
			return true
		}
	}
}

// passOnNode runs one pass on a node that is not reserved. It returns what the pass has allocated or
// reserved, or nil.
func (s *Scheduler) passOnNode(node uint32) *decision {
	n := s.st.Nodes.Get(node)
	if !n.TakesContainers() || !s.hasRoom(n) {
		return nil
	}
	if d := s.offerNode(node); d != nil || !s.at.lends {
		return d
	}
	return s.lend(node)
}

// offerNode offers a node to the queues, from root on, and carries out what they decide.
func (s *Scheduler) offerNode(node uint32) *decision {
	d := s.decide(node)
	if d != nil {
		s.commit(d)
	}
	return d
}

// decide returns what a pass on a node would allocate or reserve, or nil.
func (s *Scheduler) decide(node uint32) *decision {
	s.levelLimits[0] = Limits{limit: s.at.total}
	return s.assign(0, node, &s.levelLimits[0]).decided
}

// lend offers a node of a label that is not exclusive to asks without a label.
func (s *Scheduler) lend(node uint32) *decision {
	s.lending = true
	d := s.offerNode(node)
	s.lending = false
	return d
}

// hasRoom reports whether the free resources of a node can take a container.
func (s *Scheduler) hasRoom(n *state.Node) bool {
	return s.cfg.Calculator.HasRoom(n.Unallocated(), s.cfg.MinAlloc)
}

// assign offers a node to a queue.
func (s *Scheduler) assign(i int32, node uint32, l *Limits) outcome {
	if s.cfg.Queues[i].Leaf {
		return s.assignLeaf(i, node, l)
	}
	return s.assignParent(i, node, l)
}

func (s *Scheduler) assignParent(i int32, node uint32, l *Limits) outcome {
	q := s.Queue(i)
	pending, reserved := &q.Pending, &q.Reserved
	if s.at.label != 0 {
		u := s.labelUse(s.at.uses[i])
		pending, reserved = &u.Pending, &u.Reserved
	}
	if s.lending {
		pending = &q.Pending
	}
	if pending.IsZero() {
		return outcome{}
	}
	if ok, headroom := s.queueLimit(i, l.limit, *reserved); !ok {
		l.headroom = headroom
		return outcome{}
	}
	var limited bool
	for _, child := range s.children(i) {
		cl := &s.levelLimits[s.cfg.Queues[child].Depth]
		*cl = Limits{limit: s.childLimit(i, child, l)}
		a := s.assign(child, node, cl)
		if a.decided != nil {
			return a
		}
		if a.queueLimit {
			limited = true
			l.blocked = l.blocked.Add(s.blockedBy(child, cl))
		}
	}
	return outcome{queueLimit: limited}
}

// blockedBy returns the room that later siblings may not use because a child is blocked.
func (s *Scheduler) blockedBy(child int32, cl *Limits) yarn.Resource {
	if !s.cfg.Queues[child].Leaf {
		return cl.blocked
	}
	return s.cfg.Calculator.Max(s.st.Meta.Cluster, cl.headroom, yarn.Resource{})
}

func (s *Scheduler) assignLeaf(i int32, node uint32, l *Limits) outcome {
	users, active := s.userLimits(&s.at.queues[i]), s.Active(i)
	if users.refused == s.queues[i].changes {
		return outcome{} // any other node would have the same result
	}
	check, refused := true, 0
	for _, slot := range active {
		a := s.st.Apps.Get(slot)
		if check {
			ok, headroom := s.queueLimit(i, l.limit, s.reservedIn(a))
			l.headroom = headroom
			if !ok {
				return outcome{}
			}
			check = !s.reservedIn(a).IsZero() && s.cfg.ContinueLooking
		}
		ok, need := s.userCheck(i, a)
		if !ok {
			refused++
			continue
		}
		l.needUnreserve = need
		switch d := s.offer(slot, node, l); d.state {
		case stateAppSkipped:
			continue
		case stateQueueSkipped:
			return outcome{queueLimit: true}
		default:
			if d.gang == nil && !s.accept(&d) {
				return outcome{}
			}
			s.decided = d
			return outcome{decided: &s.decided}
		}
	}
	if refused == len(active) {
		users.refused = s.queues[i].changes
	}
	return outcome{}
}
