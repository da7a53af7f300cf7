package record

import (
	"rmd/fsm/event"
	"rmd/fsm/state/largest"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Node is one NodeManager's machine. Its slot is its number. The node keeps it until it is
// forgotten.
type Node struct {
	ID             yarn.NodeID
	Host           NameSlot
	RackID         NameSlot
	Rack           string
	HTTPPort       uint16
	Version        string
	State          yarn.NodeState
	DeadlineMillis int64           // end of a graceful decommission; 0: none
	Report         string          // health report
	Total          yarn.Resource   // as registered or set by an administrator
	Allocated      yarn.Resource   // sum over Containers
	Reservation    ReservationSlot // slot of its reservation; at most one
	Containers     ContainerSlot   // first Container with OnNode
	Count          int32           // containers with OnNode
	// ReservationBans is the first ReservationBan. FreeRoomChanged drops the list.
	ReservationBans ReservationBanSlot
	Registered      int64 // time of the last registration
	// PendingCommands counts containers that the node must still launch, kill, signal or resize, or
	// whose size it must confirm. While it is 0, a heartbeat need not walk over the containers.
	// Kept by occupy and ChangeCommand.
	PendingCommands  int32
	NodeManager      bool // a Hadoop NodeManager; false: a simulated node
	TotalSet         bool // an administrator set SetTotal, which outlives registrations
	SetTotal         yarn.Resource
	NodeApplications NodeApplicationSlot // first NodeApplication
	PendingCleanups  int32               // NodeApplications of applications that have ended
	Address          string              // from which it registered; empty: unknown
	// HeartbeatSession and Response belong to the last report that was accepted. Older reports are
	// refused.
	HeartbeatSession uint64
	Response         int32
	// KnownMillis is when the node got its number, and DrainSinceMillis when its drain began, or 0
	// if the node does not drain.
	KnownMillis, DrainSinceMillis int64
	SilentSinceMillis             int64 // when it was last heard, if it has missed heartbeats since; else 0
	// when a node that sends no heartbeats any more was heard last; see HeardMillis
	LastHeardMillis int64
	Removals        RemovalsSlot // slot of its Removals; not in snapshots: follows from Removable
	Label           LabelSlot    // not in snapshots: follows from LabelledHosts
}

// Unallocated returns the free resources of the node. They are negative if its total was lowered.
func (n *Node) Unallocated() yarn.Resource { return n.Total.Sub(n.Allocated) }

// Code encodes the record, or decodes into it.
func (n *Node) Code(c *codec.Coder) {
	c.NodeID(&n.ID)
	codec.Slot(c, &n.Host)
	codec.Slot(c, &n.RackID)
	c.String(&n.Rack)
	c.U16(&n.HTTPPort)
	c.String(&n.Version)
	codec.Enum(c, &n.State)
	c.I64(&n.DeadlineMillis)
	c.String(&n.Report)
	c.Resource(&n.Total)
	c.Resource(&n.Allocated)
	codec.Slot(c, &n.Reservation)
	codec.Slot(c, &n.Containers)
	c.I32(&n.Count)
	codec.Slot(c, &n.ReservationBans)
	c.I64(&n.Registered)
	c.I32(&n.PendingCommands)
	c.Bool(&n.NodeManager)
	c.Bool(&n.TotalSet)
	c.Resource(&n.SetTotal)
	codec.Slot(c, &n.NodeApplications)
	c.I32(&n.PendingCleanups)
	c.String(&n.Address)
	c.U64(&n.HeartbeatSession)
	c.I32(&n.Response)
	c.I64(&n.KnownMillis)
	c.I64(&n.DrainSinceMillis)
	c.I64(&n.SilentSinceMillis)
	c.I64(&n.LastHeardMillis)
}

// Nodes is the table of nodes.
type Nodes struct {
	table.Keyed[NodeSlot, Node, *Node]
	Largest largest.Set // of running nodes
}

// Find returns the slot of a node, which is also its number, or 0 if it is unknown.
func (t *Nodes) Find(id yarn.NodeID) NodeSlot {
	return t.Lookup(hashNode(id), func(r *Node) bool { return r.ID == id })
}

func hashNode(id yarn.NodeID) uint64 { return table.Hash(id.Host) ^ table.Mix(uint64(id.Port)) }

// Hash returns the hash of the key.
func (n *Node) Hash() uint64 { return hashNode(n.ID) }

// Same reports whether the keys are equal.
func (n *Node) Same(other *Node) bool { return n.ID == other.ID }

// Next returns the number that the next new node will get.
func (t *Nodes) Next() NodeSlot { return table.NextSlot(&t.Keyed.Table) }

// NoteDrain records when a drain began. A registration does not end a drain: the next event sets
// the node to decommissioning again.
func (m *Meta) NoteDrain(n *Node) {
	switch {
	case n.State != yarn.NodeDecommissioning:
		n.DrainSinceMillis = 0
	case n.DrainSinceMillis == 0:
		n.DrainSinceMillis = m.NowMillis
		m.Fold(uint64(n.DrainSinceMillis))
	}
}

// NodeHeard applies a report of a node.
func (t *Nodes) NodeHeard(m *Meta, e *event.NodeHeard) error {
	if !t.Has(e.Node) || e.HeartbeatSession == 0 || e.Response < 0 {
		return Broken(e, "no such node, heartbeat session or response")
	}
	n := t.Mut(e.Node)
	n.HeartbeatSession, n.Response = e.HeartbeatSession, e.Response
	m.Fold(uint64(e.Node)<<32 | uint64(uint32(e.Response)))
	m.Fold(e.HeartbeatSession)
	return nil
}

// Heard reports whether a node in this state sends heartbeats.
func (n *Node) Heard() bool {
	return n.State == yarn.NodeRunning || n.State == yarn.NodeUnhealthy || n.State == yarn.NodeDecommissioning
}

// Serving reports whether the state of a node allows new containers. A node that was taken back must
// register first. Use TakesContainers to choose a node.
func (n *Node) Serving() bool { return n.State == yarn.NodeRunning && n.Report != TakenBack }

// TakesContainers reports whether a node may get containers and reservations now: it serves, and it
// is not silent. What was allocated on a silent node might never start.
func (n *Node) TakesContainers() bool { return n.Serving() && !n.Silent() }

// Silent reports whether the node has missed heartbeats. After its expiry interval it is lost.
func (n *Node) Silent() bool { return n.SilentSinceMillis != 0 }

// SilentMillis returns for how long a silent node was not heard; 0 if it is not silent.
func (n *Node) SilentMillis(nowMillis int64) int64 {
	if !n.Silent() {
		return 0
	}
	return max(nowMillis-n.SilentSinceMillis, 0)
}

// HeardMillis returns when the node was heard last. A node that sends heartbeats and is not silent
// counts as heard now: its last heartbeat is at most as old as the silence that is allowed, and a
// heartbeat with nothing new is not in the log.
func (n *Node) HeardMillis(nowMillis int64) int64 {
	switch {
	case !n.Heard():
		return n.LastHeardMillis
	case n.Silent():
		return n.SilentSinceMillis
	}
	return nowMillis
}

// TakenBack is the Report of a node that must register before it takes containers again. The
// registration clears it.
const TakenBack = "taken back, registers again"

// Drained reports whether the node can be removed without loss: it has no containers, and no
// running application needs what it keeps. A NodeManager keeps the output of finished tasks, which
// other tasks fetch, until the application ends.
func (n *Node) Drained() bool { return n.Count == 0 && n.NodeApplications == 0 }

// Draining is what a draining node waits for, in YARN's words.
type Draining string

// The values of Draining.
const (
	DrainContainers Draining = "WAIT_CONTAINER" // for its containers to end
	DrainApps       Draining = "WAIT_APP"       // for applications that ran on the node to end
	DrainReady      Draining = "READY"          // for its next heartbeat
	DrainTimeout    Draining = "TIMEOUT"        // for nothing: the deadline has passed
)

// Draining returns what the node waits for at the given time, or "" if it does not drain.
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

// DrainMillis returns the time until the deadline of a drain. ok is false if there is no deadline.
func (n *Node) DrainMillis(nowMillis int64) (left int64, ok bool) {
	if n.State != yarn.NodeDecommissioning || n.DeadlineMillis == 0 {
		return 0, false
	}
	return max(n.DeadlineMillis-nowMillis, 0), true
}

// UsableTotal returns the sum of the resources of all usable nodes.
func (t *Nodes) UsableTotal() (total yarn.Resource) {
	t.Each(func(_ NodeSlot, n *Node) bool {
		if n.State.Usable() {
			total = total.Add(n.Total)
		}
		return true
	})
	return total
}
