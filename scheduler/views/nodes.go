package views

import (
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/nodeindex"
)

// nodeIndexes has the indexes that were used, by order of shapes. The others are nil.
type nodeIndexes [len(nodeindex.Layouts)]*nodeindex.Index

func (x *nodeIndexes) mark(node state.NodeSlot) {
	for _, index := range x {
		if index != nil {
			index.Mark(node)
		}
	}
}

// refreshNode records that a node has changed.
func (s *Views) refreshNode(slot state.NodeSlot) {
	n := s.State.Nodes.Get(slot) // a zero record if the node was forgotten
	p := s.PartitionOf(n)
	p.nodes.mark(slot)
	p.lent.mark(slot)
	s.refreshHost(slot, n.Host)
}

// refreshHost keeps the lists of the nodes on each host.
func (s *Views) refreshHost(slot state.NodeSlot, host state.NameSlot) {
	for int(slot) >= len(s.hostOf) {
		s.hostOf = append(s.hostOf, 0)
	}
	old := s.hostOf[slot]
	if old == host {
		return
	}
	s.hostOf[slot] = host
	if old != 0 {
		s.NodesOn[old] = slices.DeleteFunc(s.NodesOn[old], func(n state.NodeSlot) bool { return n == slot })
	}
	if host != 0 {
		at, _ := slices.BinarySearch(s.NodesOn[host], slot)
		s.NodesOn[host] = slices.Insert(s.NodesOn[host], at, slot)
	}
}

// Replaced reports whether the host of an inactive node has another node that sends heartbeats, or
// that registered later.
func (s *Views) Replaced(slot state.NodeSlot) bool {
	n := s.State.Nodes.Get(slot)
	others := s.NodesOn[n.Host]
	for i := len(others) - 1; i >= 0; i-- { // the newest is probably the last
		if o := s.State.Nodes.Get(others[i]); others[i] != slot &&
			(o.Heard() || o.Registered > n.Registered || o.Registered == n.Registered && others[i] > slot) {
			return true
		}
	}
	return false
}

// FreeNodes returns the index of the nodes of a partition that may take containers: those without a
// reservation, or the reserved ones that may lend their room.
func (s *Views) FreeNodes(p *Partition, lent bool, order int) *nodeindex.Index {
	indexes := &p.nodes
	if lent {
		indexes = &p.lent
	}
	x := indexes[order]
	if x == nil {
		x = nodeindex.New(order)
		indexes[order] = x
		s.State.Nodes.Each(func(slot state.NodeSlot, _ *state.Node) bool { x.Mark(slot); return true })
	}
	x.Refresh(func(slot state.NodeSlot) nodeindex.Shape {
		return s.shapeIn(p, lent, &x.Layout, s.State.Nodes.Get(slot))
	})
	return x
}

// shapeIn returns the shape of a node in an index of a partition, or 0 if the node is not in it.
func (s *Views) shapeIn(p *Partition, lent bool, l *nodeindex.Layout, n *state.Node) nodeindex.Shape {
	if n.Label != p.Label || !n.TakesContainers() || (n.Reservation != 0) != lent || !s.HasRoom(n) {
		return 0
	}
	return l.ShapeOf(n.Total, n.Unallocated(), s.KindsThatCount())
}

// HasRoom reports whether the free resources of a node can take a container.
func (s *Views) HasRoom(n *state.Node) bool {
	return s.Config.Calculator.HasRoom(n.Unallocated(), s.Config.MinAlloc)
}

// KindsThatCount returns the number of resource kinds that the calculator compares.
func (s *Views) KindsThatCount() int {
	if !s.Config.Calculator.Dominant {
		return 1
	}
	return s.Config.Calculator.Kinds
}
