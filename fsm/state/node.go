package state

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

var _ = applies((*State).nodeRegistered)

func (s *Cluster) nodeRegistered(e *event.NodeRegistered) error {
	slot := s.Nodes.Find(e.ID)
	if (slot == 0 && e.Node != s.Nodes.Next()) || (slot != 0 && slot != e.Node) || e.Total.Negative() {
		return broken(e, "the node's number is %d, the next one %d", slot, s.Nodes.Next())
	}
	host, rack := s.Names.Intern(&s.Meta, e.ID.Host), s.Names.Intern(&s.Meta, e.Rack)
	if slot == 0 {
		slot, _ = table.Alloc(&s.Nodes.Keyed.Table)
		s.noteKnown(s.Nodes.Mut(slot), e.ID)
		table.InsertKeyed(&s.Nodes.Keyed, slot)
	}
	s.changes.Node(change.NodeRegistered, slot)
	n := s.Nodes.Mut(slot)
	s.Names.Unretain(&s.Meta, n.Host) // of the registration before, if there was one
	s.Names.Unretain(&s.Meta, n.RackID)
	s.NodeApplications.DropCleanups(&s.Meta, n) // the registration reported what the node still keeps
	s.changeCapacity(n, func() {
		n.Host, n.RackID, n.Rack = host, rack, e.Rack
		n.HTTPPort, n.Version, n.NodeManager = e.HTTPPort, e.Version, e.NodeManager
		n.State, n.Report, n.DeadlineMillis = yarn.NodeRunning, "", 0
		n.Total = e.Total
		if n.TotalSet {
			n.Total = n.SetTotal
		}
		n.Registered = s.Meta.NowMillis
	})
	n.Address, n.HeartbeatSession, n.Response = e.Address, e.HeartbeatSession, 0
	n.SilentSinceMillis = 0
	s.fold(uint64(count(n.NodeManager)))
	s.fold(table.Hash(n.Address) ^ n.HeartbeatSession)
	if n.NodeManager {
		s.trackApps(slot, n)
	} else {
		s.dropRemovals(n)
	}
	return nil
}

// noteKnown fills in a new node's record.
func (s *Cluster) noteKnown(n *Node, id yarn.NodeID) {
	n.ID, n.Label = id, s.LabelledHosts.LabelOf(id)
	n.KnownMillis = s.Meta.NowMillis
}

var _ = applies(func(s *State, e *event.NodeHeard) error { return s.Nodes.NodeHeard(&s.Meta, e) })

// changeCapacity calls f, which changes a node's total or state, and updates the sums over usable
// nodes. A saturated sum has lost its true value, so it is computed again instead of updated.
func (s *Cluster) changeCapacity(n *Node, f func()) {
	state, total := n.State, n.Total
	again := s.Meta.Cluster.Saturated()
	if n.State.Usable() {
		s.countNode(n, -1)
	}
	f()
	if n.State.Usable() {
		s.countNode(n, 1)
	}
	if again {
		s.Meta.Cluster = s.Nodes.UsableTotal()
		s.sumLabels()
	}
	if n.State != state || n.Total != total {
		s.Meta.NodeChanges++
		s.Nodes.NoteSize(n, state == yarn.NodeRunning, total)
	}
	s.fold(uint64(n.Host)<<32 | uint64(n.ID.Port)<<8 | uint64(n.State))
	s.ReservationBans.FreeRoomChanged(&s.Meta, n)
	s.foldResource(n.Total)
}

// countNode adds a usable node to the sums of the cluster and of its label, or subtracts it.
func (s *Accounts) countNode(n *Node, sign int32) {
	total := n.Total.Times(int64(sign))
	s.Meta.Cluster = s.Meta.Cluster.Add(total)
	s.Meta.UsableNodes += sign
	if n.Label != 0 {
		l := s.Labels.Mut(n.Label)
		l.Total = l.Total.Add(total)
		l.Nodes += sign
	}
}

// sumLabels computes Label.Total of all labels.
func (s *Cluster) sumLabels() {
	s.Labels.Each(func(slot LabelSlot, _ *Label) bool {
		s.Labels.Mut(slot).Total = yarn.Resource{}
		return true
	})
	s.Nodes.Each(func(_ NodeSlot, n *Node) bool {
		if n.State.Usable() && n.Label != 0 {
			l := s.Labels.Mut(n.Label)
			l.Total = l.Total.Add(n.Total)
		}
		return true
	})
}

// unwrapCluster corrects the sum in a snapshot of an old build, whose sums overflowed: a kind whose
// sum exceeds int64 gets the largest int64.
func (s *Cluster) unwrapCluster() {
	for i, v := range s.Nodes.UsableTotal() {
		if v == math.MaxInt64 {
			s.Meta.Cluster[i] = v
		}
	}
}

var _ = applies((*State).nodeStateChanged)

func (s *Cluster) nodeStateChanged(e *event.NodeStateChanged) error {
	if !s.Nodes.Has(e.Node) || e.State < yarn.NodeRunning || e.State > yarn.NodeShutdown {
		return broken(e, "no such node or state")
	}
	n := s.Nodes.Mut(e.Node)
	if !e.State.Usable() && (n.Reservation != 0 || n.Count > 0) {
		return broken(e, "it holds %d containers, reserved: %v", n.Count, n.Reservation != 0)
	}
	s.changes.Node(change.NodePhase, e.Node)
	heard := n.HeardMillis(s.Meta.NowMillis)
	s.changeCapacity(n, func() {
		n.State, n.Report, n.DeadlineMillis = e.State, e.Report, e.DeadlineMillis
	})
	s.Meta.NoteDrain(n)
	if !n.Heard() {
		n.SilentSinceMillis, n.LastHeardMillis = 0, heard
		s.fold(uint64(heard))
	}
	if !n.TakesCommands() {
		s.NodeApplications.DropCleanups(&s.Meta, n)
		s.dropRemovals(n)
	}
	return nil
}

var _ = applies((*State).nodeResourceChanged)

func (s *Running) nodeResourceChanged(e *event.NodeResourceChanged) error {
	if !s.Nodes.Has(e.Node) || e.Total.Negative() {
		return broken(e, "no such node, or below zero")
	}
	n := s.Nodes.Mut(e.Node)
	if r := n.Reservation; r != 0 && !s.Versions.Fits(s.Reservations.Get(r).Size, e.Total) {
		return broken(e, "a reservation of %s is on it", s.Reservations.Get(r).Size)
	}
	s.changes.Node(change.NodeChanged, e.Node)
	s.changeCapacity(n, func() { n.Total = e.Total })
	if e.Set {
		n.TotalSet, n.SetTotal = true, e.Total
		s.fold(1)
	}
	return nil
}

var _ = applies((*State).nodeSilenceChanged)

func (s *Cluster) nodeSilenceChanged(e *event.NodeSilenceChanged) error {
	if !s.Nodes.Has(e.Node) || e.SinceMillis < 0 || e.SinceMillis > s.Meta.NowMillis {
		return broken(e, "no such node or time")
	}
	n, silent := s.Nodes.Mut(e.Node), e.SinceMillis != 0
	switch {
	case silent == n.Silent() || !n.Heard():
		return broken(e, "node %s is %s, silent: %v", n.ID, n.State, n.Silent())
	case silent && n.Reservation != 0:
		return broken(e, "node %s is reserved", n.ID)
	}
	s.changes.Node(change.NodeChanged, e.Node)
	n.SilentSinceMillis = e.SinceMillis
	s.fold(uint64(e.Node))
	s.fold(uint64(e.SinceMillis))
	return nil
}

var _ = stored(1, part.Derived[State]{Part: part.Keyed(7, "nodes",
	func(s *State) *table.Keyed[NodeSlot, Node, *Node] { return &s.Nodes.Keyed }, (*Node).Code),
	Links: func(s *State) {
		s.unwrapCluster()
		s.Nodes.Largest = s.Nodes.FindLargest()
	}, Agrees: agrees((*check.Tables).CheckNodes)})
