package scheduler

import (
	"iter"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/nodeindex"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// With reservation.node=earliest, the default in eager mode, an ask does not reserve the node of the
// current pass, but the node where its container is expected to start first.

// reservableNodesMax bounds the nodes that are compared for one reservation.
const reservableNodesMax = 256

// ReservesEarliest reports whether asks reserve the node that is expected to have room first.
func (s *Scheduler) ReservesEarliest() bool {
	how := s.Config.ReserveNode
	return how == capacity.ReserveEarliest || how == capacity.ReserveByMode && s.eager
}

// earliestNode returns the node that an ask should reserve instead of the given node: the node,
// among those that the ask may use at this locality and reserve, that is expected to have room
// first. Among equals, the given node comes first, then the emptiest.
func (v *pass) earliestNode(a *state.App, ask state.AskSlot, node state.NodeSlot, at yarn.Locality) state.NodeSlot {
	best, _ := v.earliestOther(a, ask, node, at)
	return best
}

// earliestOther is earliestNode, and also returns the time at which the node is expected to have
// room.
func (v *pass) earliestOther(a *state.App, ask state.AskSlot, node state.NodeSlot,
	at yarn.Locality) (best state.NodeSlot, first int64) {
	best, first = node, v.s.RoomExpectedAt(v.State.Asks.Get(ask), node, v.s.now)
	for other := range v.s.reservableNodes(v.At, a, ask, at) {
		if t := v.s.RoomExpectedAt(v.State.Asks.Get(ask), other, v.s.now); t < first {
			best, first = other, t
		}
	}
	return best, first
}

// reservableNodes returns the nodes of a partition that an ask may reserve and use at a locality,
// the emptiest first, among the first walkedNodes with free room.
func (s *rules) reservableNodes(p *views.Partition, a *state.App, ask state.AskSlot,
	at yarn.Locality) iter.Seq[state.NodeSlot] {
	return func(yield func(state.NodeSlot) bool) {
		walked, found := 0, 0
		for node := range s.FreeNodes(p, false, nodeindex.Emptiest).Walk(nodeindex.All) {
			if walked++; walked > walkedNodes || found == reservableNodesMax {
				return
			}
			if s.mayReserveAt(p, a, ask, node, at) {
				if found++; !yield(node) {
					return
				}
			}
		}
	}
}

// moveEvery is how many heartbeats of a reserved node pass between two searches for a better node.
const moveEvery = 60

// moveReservation reserves another node instead, if that one is expected to have room in half of
// the time. It looks for one at every moveEvery-th heartbeat of the reserved node.
func (p *pass) moveReservation(r *state.Reservation, ask state.AskSlot) {
	if !p.s.ReservesEarliest() || r.IncreaseOf != 0 || p.State.Asks.Get(ask).ReReservations%moveEvery != 0 ||
		p.HasPreempted(r) || p.Borrowed(r) {
		return
	}
	a, k := p.State.Apps.Get(r.App), p.State.Asks.Get(ask)
	node, first := p.earliestOther(a, ask, r.Node, yarn.OffSwitch)
	if node == r.Node || 2*(first-p.s.now) > p.s.RoomExpectedAt(k, r.Node, p.s.now)-p.s.now {
		return
	}
	d := decision{app: r.App, ask: ask, key: r.Key, node: node, size: k.Size}
	am := r.AM
	p.s.Cancel(r.Number, yarn.CancelExchanged)
	p.s.reserve(&d, am)
}

// mayReserveAt reports whether an ask may reserve a node of a partition, and would be served there at
// this locality or a better one.
func (s *rules) mayReserveAt(p *views.Partition, a *state.App, ask state.AskSlot, node state.NodeSlot,
	at yarn.Locality) bool {
	if !s.State.Nodes.Has(node) {
		return false
	}
	k, n, calc := s.State.Asks.Get(ask), s.State.Nodes.Get(node), s.Config.Calculator
	if !n.TakesContainers() || n.Reservation != 0 || n.Label != p.Label || a.Blacklisted(n) || !s.HasRoom(n) ||
		!calc.FitsIn(k.Size, n.Total) || calc.Holds(n.Unallocated(), k.Size) || s.WhyNotReserve(a, k, n) != NoReason {
		return false
	}
	r := s.reachOf(k, node)
	return r.host || at >= yarn.RackLocal && r.rack || at == yarn.OffSwitch && r.any
}

// RoomExpectedAt returns the time at which a node is expected to have room for an ask, as seen at a
// time.
func (s *Scheduler) RoomExpectedAt(k *state.Ask, node state.NodeSlot, now int64) int64 {
	guesses := lengthGuesses{s: s, now: now}
	n := s.State.Nodes.Get(node)
	ends := s.ends[:0]
	for _, c := range s.State.Containers.On(n) {
		ends = append(ends, containerEnd{guesses.endOf(c), c.Size})
	}
	s.ends = ends
	return s.enough(k.Size, n.Unallocated(), ends)
}
