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

// outcome is the result of a pass over a queue or an application.
type outcome struct {
	granted    bool // something was allocated or reserved
	reserved   bool
	offSwitch  bool
	queueLimit bool // the queue's limit stopped the pass: siblings may not use its room
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
		a := pass(node)
		if !a.granted {
			return grants > 0
		}
		grants++
		if a.offSwitch {
			offSwitch++
		}
		if a.reserved || !s.cfg.MultipleAssignments || offSwitch >= s.cfg.MaxOffSwitch ||
			(s.cfg.MaxAssignments >= 0 && grants >= s.cfg.MaxAssignments) {
			return true
		}
	}
}

// passOnNode runs one pass on a node that is not reserved.
func (s *Scheduler) passOnNode(node uint32) outcome {
	n := s.st.Nodes.Get(node)
	if !n.TakesContainers() || !s.hasRoom(n) {
		return outcome{}
	}
	s.levelLimits[0] = Limits{limit: s.at.total}
	if a := s.assign(0, node, &s.levelLimits[0]); a.granted || !s.at.lends {
		return a
	}
	return s.lend(node)
}

// lend offers a node of a label that is not exclusive to asks without a label.
func (s *Scheduler) lend(node uint32) outcome {
	s.lending = true
	s.levelLimits[0] = Limits{limit: s.at.total}
	a := s.assign(0, node, &s.levelLimits[0])
	s.lending = false
	return a
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
		if a.granted {
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
			if d.gang != nil {
				return s.commitGang(&d)
			}
			if !s.accept(&d) {
				return outcome{}
			}
			s.commit(&d)
			return outcome{granted: true, reserved: d.state == stateReserved, offSwitch: d.locality == yarn.OffSwitch}
		}
	}
	if refused == len(active) {
		users.refused = s.queues[i].changes
	}
	return outcome{}
}
