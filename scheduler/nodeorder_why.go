package scheduler

import (
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/nodeindex"
	"rmd/yarn"
)

// This file says for explanations why the rule of nodeorder.go prefers a node, and when nodes are
// expected to have room.

// CountedNodes bounds the nodes that a NodeChoice counts.
const CountedNodes = 200

// NodeChoice says which node the order of nodes puts first for an ask, and why.
type NodeChoice struct {
	Order capacity.NodeOrder // spread, pack or lifetime
	First state.NodeSlot     // 0: no node could serve the ask now
	Next  state.NodeSlot     // the node behind it; 0: there is none
	At    yarn.Locality      // at which First would serve the ask
	// Nodes counts the nodes that could serve the ask at this locality, up to CountedNodes.
	Nodes int
	Whole state.NodeSlot // one of these nodes on which nothing runs, other than First; 0: there is none
	Lead  Lead           // why First is before Next
	Kind  int            // of resource, with LessFree and MoreFree
}

// Lead says why one node is before another in an order.
type Lead uint8

// The leads.
const (
	NoLead        Lead = iota // the amounts are about equal; the lower slot decides
	NotAvoided                // the last container of the ask did not start on the other node
	Nearer                    // the ask names the host or rack
	RunsAsLong                // lifetime: its containers run at least as long as the new one
	ProlongedLess             // lifetime: the new container prolongs its use by a smaller factor
	LessUsed                  // it uses a smaller share of its memory or vcores
	LessFree                  // it has less of a resource free
	MoreFree                  // it has more of a resource free
)

// NodeChoice returns which node of a label the order of nodes puts first for an ask at the time of
// the state. With lent, it is for the room that reserved nodes lend.
func (s *Scheduler) NodeChoice(label state.LabelSlot, ask state.AskSlot, lent bool) NodeChoice {
	s.now = s.State.Meta.NowMillis
	p, a := s.Partitions[label], s.State.Apps.Get(s.State.Asks.Get(ask).App)
	order := s.NodeOrder(p, a, s.now)
	first := slices.Clone(s.nodesFor(p, ask, lent, 2))
	out := NodeChoice{Order: order}
	if len(first) == 0 {
		return out
	}
	best := first[0]
	out.First, out.At = best.node, best.locality
	if len(first) > 1 {
		out.Next = first[1].node
		out.Lead, out.Kind = best.leadOver(first[1], &nodeindex.Layouts[ShapeOrder(order)])
	}
	for _, r := range s.nodesFor(p, ask, lent, CountedNodes) {
		if r.avoided != best.avoided || r.locality != best.locality {
			continue
		}
		out.Nodes++
		if r.node != best.node && s.State.Nodes.Get(r.node).Containers == 0 {
			out.Whole = r.node
		}
	}
	return out
}

// leadOver returns why a node is before another one. Shapes have the given layout.
func (r nodeRank) leadOver(next nodeRank, l *nodeindex.Layout) (lead Lead, kind int) {
	switch {
	case r.avoided != next.avoided:
		return NotAvoided, 0
	case r.locality != next.locality:
		return Nearer, 0
	case r.prolongs != next.prolongs && r.prolongs == 0:
		return RunsAsLong, 0
	case r.prolongs != next.prolongs:
		return ProlongedLess, 0
	}
	for i, p := range l {
		if r.shape.At(i) != next.shape.At(i) {
			return map[nodeindex.PropertyKind]Lead{nodeindex.LeastUse: LessUsed, nodeindex.LeastOf: LessFree,
				nodeindex.MostOf: MoreFree}[p.Of], p.Kind
		}
	}
	return NoLead, 0
}

// ExpectedRoom returns when a node is expected to have room for an ask, in Unix milliseconds. known
// is false if nothing says when.
func (s *Scheduler) ExpectedRoom(ask state.AskSlot, node state.NodeSlot) (atMillis int64, known bool) {
	s.now = s.State.Meta.NowMillis
	at := s.RoomExpectedAt(s.State.Asks.Get(ask), node, s.now)
	return at, at != Never
}

// ExpectedFirst returns the widest locality at which an ask could reserve no other node that is
// expected to have room before the given node. It returns 0 if there is none.
func (s *Scheduler) ExpectedFirst(ask state.AskSlot, node state.NodeSlot) yarn.Locality {
	s.now = s.State.Meta.NowMillis
	k := s.State.Asks.Get(ask)
	v := s.passOn(s.State.Nodes.Get(node))
	for at := yarn.OffSwitch; at >= s.localityOn(k, node); at-- {
		if v.earliestNode(s.State.Apps.Get(k.App), ask, node, at) == node {
			return at
		}
	}
	return 0
}
