package scheduler

import (
	"rmd/fsm/state"
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
		p.fulfil(node)
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
