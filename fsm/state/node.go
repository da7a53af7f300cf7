package state

import (
	"math"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Node returns the slot (which is the number) of a node; 0 when unknown.
func (s *State) Node(id yarn.NodeID) uint32 {
	return s.byNode.find(hashNode(id), func(slot uint32) bool { return s.Nodes.Get(slot).ID == id })
}

func hashNode(id yarn.NodeID) uint64 { return hashString(id.Host) ^ hash64(uint64(id.Port)) }

func (s *State) hashOfNode(slot uint32) uint64 { return hashNode(s.Nodes.Get(slot).ID) }

// NextNode is the number that a node registering for the first time will have.
func (s *State) NextNode() uint32 { return s.Nodes.next() }

func (s *State) nodeRegistered(e *event.NodeRegistered) error {
	slot := s.Node(e.ID)
	if (slot == 0 && e.Node != s.NextNode()) || (slot != 0 && slot != e.Node) || e.Total.Negative() {
		return broken(e, "the node's number is %d, the next one %d", slot, s.NextNode())
	}
	host, rack := s.intern(e.ID.Host), s.intern(e.Rack)
	if slot == 0 {
		slot, _ = s.Nodes.alloc()
		s.noteKnown(s.Nodes.mut(slot), e.ID)
		s.byNode.insert(hashNode(e.ID), slot, s.hashOfNode)
	}
	s.touchNode(slot)
	n := s.Nodes.mut(slot)
	s.dropCleanups(n) // it told what it still keeps
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
	s.fold(uint64(count(n.NodeManager)))
	s.fold(hashString(n.Address) ^ n.HeartbeatSession)
	if n.NodeManager {
		s.trackApps(slot, n)
	} else {
		s.dropRemovals(n)
	}
	return nil
}

// noteKnown makes an empty record that of a node.
func (s *State) noteKnown(n *Node, id yarn.NodeID) {
	n.ID, n.Label = id, s.MappedLabel(id)
	if s.Meta.Level >= event.LevelNodeTimes {
		n.KnownMillis = s.Meta.NowMillis
	}
}

// noteDrain keeps when a drain began. A registration does not end a drain: the drain goes on with
// the next event.
func (s *State) noteDrain(n *Node) {
	switch {
	case n.State != yarn.NodeDecommissioning:
		n.DrainSinceMillis = 0
	case n.DrainSinceMillis == 0 && s.Meta.Level >= event.LevelNodeTimes:
		n.DrainSinceMillis = s.Meta.NowMillis
		s.fold(uint64(n.DrainSinceMillis))
	}
}

func (s *State) nodeHeard(e *event.NodeHeard) error {
	if !s.Nodes.Has(e.Node) || e.HeartbeatSession == 0 || e.Response < 0 {
		return broken(e, "no such node, heartbeat session or response")
	}
	n := s.Nodes.mut(e.Node)
	n.HeartbeatSession, n.Response = e.HeartbeatSession, e.Response
	s.fold(uint64(e.Node)<<32 | uint64(uint32(e.Response)))
	s.fold(e.HeartbeatSession)
	return nil
}

// Heard says whether a node is one that sends heartbeats.
func (n *Node) Heard() bool {
	return n.State == yarn.NodeRunning || n.State == yarn.NodeUnhealthy || n.State == yarn.NodeDecommissioning
}

// Serving says whether a node takes new containers. One that was taken back must register first.
func (n *Node) Serving() bool { return n.State == yarn.NodeRunning && n.Report != TakenBack }

// TakenBack is the report of a node that must register again before it is served. Its registration
// clears it.
const TakenBack = "taken back, registers again"

// Drained reports whether a node can be taken away without a loss: it has no container, and no
// application that ran there still needs what it keeps. A NodeManager keeps the output of an
// application's finished tasks, which others fetch, until it is told of the application's end.
func (n *Node) Drained() bool { return n.Count == 0 && n.NodeApplications == 0 }

// Draining is what a draining node waits for, in the words of YARN.
type Draining string

// What a draining node waits for.
const (
	DrainContainers Draining = "WAIT_CONTAINER" // for containers that run there
	DrainApps       Draining = "WAIT_APP"       // for the end of applications that ran there
	DrainReady      Draining = "READY"          // for its next heartbeat
	DrainTimeout    Draining = "TIMEOUT"        // for nothing: its deadline has passed
)

// Draining says what a draining node waits for at a time; empty when the node does not drain.
func (n *Node) Draining(nowMillis int64) Draining {
	switch {
	case n.State != yarn.NodeDecommissioning:
		return ""
	case n.DeadlineMillis != 0 && n.DeadlineMillis <= nowMillis:
		return DrainTimeout
	case n.Count > 0:
		return DrainContainers
	case !n.Drained():
		return DrainApps
	}
	return DrainReady
}

// DrainMillis is the time until a drain's deadline; ok is false without one.
func (n *Node) DrainMillis(nowMillis int64) (left int64, ok bool) {
	if n.State != yarn.NodeDecommissioning || n.DeadlineMillis == 0 {
		return 0, false
	}
	return max(n.DeadlineMillis-nowMillis, 0), true
}

// changeCapacity changes a node's total or state and keeps the cluster's sum of
// usable nodes. From a sum that stands for more than its number nothing can be taken:
// it is summed again.
func (s *State) changeCapacity(n *Node, f func()) {
	s.touched.Cluster = true
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
		s.Meta.Cluster = s.usableTotal()
		s.sumLabels()
	}
	if n.State != state || n.Total != total {
		s.Meta.NodeChanges++
	}
	s.fold(uint64(n.Host)<<32 | uint64(n.ID.Port)<<8 | uint64(n.State))
	s.freeRoomChanged(n)
	s.foldResource(n.Total)
}

// countNode adds a usable node to the sums of the cluster and of its label, or takes it out.
func (s *State) countNode(n *Node, sign int32) {
	total := n.Total.Times(int64(sign))
	s.Meta.Cluster = s.Meta.Cluster.Add(total)
	s.Meta.UsableNodes += sign
	if n.Label != 0 {
		l := s.Labels.mut(uint32(n.Label))
		l.Total = l.Total.Add(total)
		l.Nodes += sign
	}
}

// sumLabels sums up what the usable nodes of each label have.
func (s *State) sumLabels() {
	s.Labels.Each(func(slot uint32, _ *Label) bool { s.Labels.mut(slot).Total = yarn.Resource{}; return true })
	s.Nodes.Each(func(_ uint32, n *Node) bool {
		if n.State.Usable() && n.Label != 0 {
			l := s.Labels.mut(uint32(n.Label))
			l.Total = l.Total.Add(n.Total)
		}
		return true
	})
}

// usableTotal sums up what usable nodes have.
func (s *State) usableTotal() (total yarn.Resource) {
	s.Nodes.Each(func(_ uint32, n *Node) bool {
		if n.State.Usable() {
			total = total.Add(n.Total)
		}
		return true
	})
	return total
}

// unwrapCluster mends the sum in a snapshot of a build whose sums wrapped: where it
// does not fit its number, it is the greatest there is.
func (s *State) unwrapCluster() {
	for i, v := range s.usableTotal() {
		if v == math.MaxInt64 {
			s.Meta.Cluster[i] = v
		}
	}
}

func (s *State) nodeStateChanged(e *event.NodeStateChanged) error {
	if !s.Nodes.Has(e.Node) || e.State < yarn.NodeRunning || e.State > yarn.NodeShutdown {
		return broken(e, "no such node or state")
	}
	n := s.Nodes.mut(e.Node)
	if !e.State.Usable() && (n.Reservation != 0 || n.Count > 0) {
		return broken(e, "it holds %d containers, reserved: %v", n.Count, n.Reservation != 0)
	}
	s.touchNode(e.Node)
	s.changeCapacity(n, func() {
		n.State, n.Report, n.DeadlineMillis = e.State, e.Report, e.DeadlineMillis
	})
	s.noteDrain(n)
	if !n.takesCommands() {
		s.dropCleanups(n)
		s.dropRemovals(n)
	}
	return nil
}

func (s *State) nodeResourceChanged(e *event.NodeResourceChanged) error {
	if !s.Nodes.Has(e.Node) || e.Total.Negative() {
		return broken(e, "no such node, or below zero")
	}
	n := s.Nodes.mut(e.Node)
	if r := n.Reservation; r != 0 && !s.fits(s.Reservations.Get(r).Size, e.Total) {
		return broken(e, "a reservation of %s is on it", s.Reservations.Get(r).Size)
	}
	s.touchNode(e.Node)
	s.changeCapacity(n, func() { n.Total = e.Total })
	if e.Set {
		n.TotalSet, n.SetTotal = true, e.Total
		s.fold(1)
	}
	return nil
}
