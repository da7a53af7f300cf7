package scheduler

import (
	"rmd/fsm/state"
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
	a := s.State.Apps.Get(app)
	l := Limits{limit: on.At.Total}
	_, l.needUnreserve = on.UserCheck(s.LeafOf(a), a)
	_, l.headroom = on.QueueLimit(s.LeafOf(a), l.limit, on.ReservedIn(a))
	d := on.offer(app, node, &l)
	return Proposal{d: d, Allocate: d.state == stateAllocated, Reserve: d.state == stateReserved, Size: d.size,
		Exchanged: d.exchanged}
}

// Accept reports whether a proposal is still valid.
func (p Probe) Accept(c *Proposal) bool { return p.pass().accept(&c.d) }

// Commit emits the events of an accepted proposal.
func (p Probe) Commit(c Proposal) { p.pass().commit(&c.d) }

// pass returns a pass on nodes without a label.
func (p Probe) pass() *pass { return &pass{View: p.s.In(0, false), s: p.s} }

// PassOnLeaf runs a pass that counts opportunities: on a single leaf with the given limit or, if
// the node is reserved, on its reservation.
func (p Probe) PassOnLeaf(leaf int32, node state.NodeSlot, limit yarn.Resource) {
	on := p.pass()
	on.counting = true
	if p.s.State.Nodes.Get(node).Reservation != 0 {
		on.fulfill(node)
	} else if d := on.assignLeaf(leaf, node, &Limits{limit: limit}).decided; d != nil {
		on.commit(d)
	}
}

// QueueLimit compares the use of a queue with a limit.
func (p Probe) QueueLimit(i int32, limit, unreservable yarn.Resource) (ok bool, headroom yarn.Resource) {
	return p.pass().QueueLimit(i, limit, unreservable)
}

// Exchanged returns the reservation that an application would give up for an ask, or 0.
func (p Probe) Exchanged(a *state.App, k *state.Ask, need yarn.Resource) state.ReservationSlot {
	return p.pass().exchanged(a, k, need, false)
}

// NeedsMore reports whether a key with these counts may reserve another node, if the largest
// container is that of the cluster.
func (p Probe) NeedsMore(outstanding, reserved, reReservations int64, size yarn.Resource) bool {
	c := claim{outstanding: outstanding, reserved: reserved, reReservations: reReservations, size: size,
		minAlloc: p.s.Config.MinAlloc, maxAlloc: p.s.Config.MaxAlloc}
	return c.needsMore(p.s.Config.Calculator)
}

// FirstNode returns the node of a label on which the order of nodes lets an ask be served now, or 0.
// With lent it is a reserved node that may lend its room.
func (p Probe) FirstNode(label state.LabelSlot, ask state.AskSlot, lent bool) state.NodeSlot {
	if first := p.s.nodesFor(p.s.Partitions[label], ask, lent, 1); len(first) > 0 {
		return first[0].node
	}
	return 0
}

// Allows reports whether the locality delay of an ask allows a locality now.
func (p Probe) Allows(ask state.AskSlot, at yarn.Locality) bool {
	k := p.s.State.Asks.Get(ask)
	return p.s.delayOf(k, k.Opportunities).allows(at, false)
}

// EndOf estimates when a container ends.
func (p Probe) EndOf(c *state.Container) int64 {
	guesses := lengthGuesses{s: p.s, now: p.s.now}
	return guesses.endOf(c)
}

// SetEager turns eager mode on or off.
func (p Probe) SetEager(eager bool) { p.s.eager = eager }
