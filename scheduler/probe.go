package scheduler

import (
	"fmt"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/nodeindex"
	"rmd/yarn"
)

// Probe calls the parts of a scheduler separately, for tests of each part.
type Probe struct{ s *Scheduler }

// Probe returns a Probe of s.
func (s *Scheduler) Probe() Probe { return Probe{s} }

// Proposal is a decision of a pass that is not committed yet.
type Proposal struct {
	d         decision
	Allocate  bool
	Reserve   bool
	Size      yarn.Resource
	Exchanged state.ReservationSlot // slot of the reservation that is given up
}

// Propose decides for an application on a node. The limit of the application's queue is the whole
// cluster.
func (p Probe) Propose(app state.AppSlot, node state.NodeSlot) Proposal {
	s := p.s
	on := p.pass()
	a := s.st.Apps.Get(app)
	l := Limits{limit: on.at.total}
	_, l.needUnreserve = on.userCheck(s.LeafOf(a), a)
	_, l.headroom = on.queueLimit(s.LeafOf(a), l.limit, on.reservedIn(a))
	d := on.offer(app, node, &l)
	return Proposal{d: d, Allocate: d.state == stateAllocated, Reserve: d.state == stateReserved, Size: d.size, Exchanged: d.exchanged}
}

// Accept reports whether a proposal is still valid.
func (p Probe) Accept(c *Proposal) bool { return p.pass().accept(&c.d) }

// Commit emits the events of an accepted proposal.
func (p Probe) Commit(c Proposal) { p.pass().commit(&c.d) }

// pass returns a pass on nodes without a label.
func (p Probe) pass() *pass { return &pass{View: p.s.In(0, false)} }

// PassOnLeaf runs a pass that counts opportunities: on a single leaf with the given limit or, if
// the node is reserved, on its reservation.
func (p Probe) PassOnLeaf(leaf int32, node state.NodeSlot, limit yarn.Resource) {
	on := p.pass()
	on.counting = true
	if p.s.st.Nodes.Get(node).Reservation != 0 {
		on.fulfill(node)
	} else if d := on.assignLeaf(leaf, node, &Limits{limit: limit}).decided; d != nil {
		on.commit(d)
	}
}

// QueueLimit compares the use of a queue with a limit.
func (p Probe) QueueLimit(i int32, limit, unreservable yarn.Resource) (ok bool, headroom yarn.Resource) {
	return p.pass().queueLimit(i, limit, unreservable)
}

// Exchanged returns the reservation that an application would give up for an ask, or 0.
func (p Probe) Exchanged(a *state.App, k *state.Ask, need yarn.Resource) state.ReservationSlot {
	return p.pass().exchanged(a, k, need, false)
}

// NeedsMore reports whether a key with these counts may reserve another node, if the largest
// container is that of the cluster.
func (p Probe) NeedsMore(outstanding, reserved, reReservations int64, size yarn.Resource) bool {
	c := claim{outstanding: outstanding, reserved: reserved, reReservations: reReservations, size: size,
		minAlloc: p.s.cfg.MinAlloc, maxAlloc: p.s.cfg.MaxAlloc}
	return c.needsMore(p.s.cfg.Calculator)
}

// FirstNode returns the node of a label on which the order of nodes lets an ask be served now, or 0.
// With lent it is a reserved node that may lend its room.
func (p Probe) FirstNode(label state.LabelSlot, ask state.AskSlot, lent bool) state.NodeSlot {
	if first := p.s.nodesFor(p.s.partitions[label], ask, lent, 1); len(first) > 0 {
		return first[0].node
	}
	return 0
}

// Allows reports whether the locality delay of an ask allows a locality now.
func (p Probe) Allows(ask state.AskSlot, at yarn.Locality) bool {
	k := p.s.st.Asks.Get(ask)
	return p.s.delayOf(k, k.Opportunities).allows(at, false)
}

// EndOf estimates when a container ends. ok is false if it is not expected to.
func (p Probe) EndOf(c *state.Container) (end int64, ok bool) {
	guesses := lengthGuesses{s: p.s}
	end = guesses.endOf(c)
	return end, end != never
}

// SetEager turns eager mode on or off.
func (p Probe) SetEager(eager bool) { p.s.eager = eager }

// Stale reports whether the effective capacities are outdated.
func (p Probe) Stale() bool { return p.s.stale }

// ViewsDiffer compares what two schedulers have derived from the same state. It returns the first
// difference, or "".
func (p Probe) ViewsDiffer(rebuilt *Scheduler) string {
	s, q := p.s, rebuilt
	for i := range s.queues {
		a, b := &s.queues[i], &q.queues[i]
		switch {
		case a.slot != b.slot || a.parent != b.parent || !slices.Equal(a.pending, b.pending):
			return fmt.Sprintf("queue %d lists %v, rebuilt %v", i, a.pending, b.pending)
		case a.queueSums != b.queueSums:
			return fmt.Sprintf("queue %d sums %+v, rebuilt %+v", i, a.queueSums, b.queueSums)
		}
	}
	if len(s.partitions) != len(q.partitions) {
		return fmt.Sprintf("%d partitions, rebuilt %d", len(s.partitions), len(q.partitions))
	}
	for k := range s.partitions {
		if differs := s.partitions[k].differs(q.partitions[k]); differs != "" {
			return fmt.Sprintf("partition %d: %s", k, differs)
		}
		v := q.view(q.partitions[k])
		if cached := s.partitions[k].awaiting; cached != nil && !slices.Equal(cached, v.sumAwaiting()) {
			return fmt.Sprintf("partition %d: reservations of %v wait for warned containers, rebuilt %v", k, cached, v.sumAwaiting())
		}
	}
	for name := state.NameSlot(1); name < s.st.Names.Cap(); name++ {
		if s.RunnableOf(name) != q.RunnableOf(name) {
			return fmt.Sprintf("%s runs %d, rebuilt %d", s.st.Names.Text(name), s.RunnableOf(name), q.RunnableOf(name))
		}
	}
	return s.indexesDiffer(rebuilt)
}

// indexesDiffer compares the indexes of free nodes that s has used.
func (s *Scheduler) indexesDiffer(rebuilt *Scheduler) string {
	for i, p := range s.partitions {
		for _, lent := range []bool{false, true} {
			used := p.nodes
			if lent {
				used = p.lent
			}
			for order, x := range used {
				if x == nil {
					continue
				}
				a, b := s.freeNodes(p, lent, order), rebuilt.freeNodes(rebuilt.partitions[i], lent, order)
				if at := slices.Collect(a.Walk(nodeindex.All)); !slices.Equal(at, slices.Collect(b.Walk(nodeindex.All))) {
					return fmt.Sprintf("partition %d, lent %v: order %d walks %v, rebuilt %v", i, lent, order, at, slices.Collect(b.Walk(nodeindex.All)))
				}
			}
		}
	}
	return ""
}

// differs compares what two schedulers have derived for a partition.
func (p *partition) differs(q *partition) string {
	for i := range p.queues {
		a, b := &p.queues[i], &q.queues[i]
		switch {
		case a.listed != b.listed || a.borrows != b.borrows || !slices.Equal(a.borrowers, b.borrowers) || (i > 0 && a.key != b.key): // root has no siblings, so its key does not matter
			return fmt.Sprintf("queue %d %+v, rebuilt %+v", i, a.key, b.key)
		case p.label != 0 && p.uses[i] != q.uses[i]:
			return fmt.Sprintf("queue %d has use %d, rebuilt %d", i, p.uses[i], q.uses[i])
		case !slices.Equal(a.children, b.children) || !slices.Equal(a.active, b.active):
			return fmt.Sprintf("queue %d lists %v %v, rebuilt %v %v", i, a.children, a.active, b.children, b.active)
		case a.dominantUsed != b.dominantUsed:
			return fmt.Sprintf("queue %d sums %v, rebuilt %v", i, a.dominantUsed, b.dominantUsed)
		}
	}
	for slot := range q.users {
		if p.users[slot] != q.users[slot] {
			return fmt.Sprintf("user %d adds %+v, rebuilt %+v", slot, p.users[slot], q.users[slot])
		}
	}
	return ""
}
