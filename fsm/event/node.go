package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// NodeRegistered adds a node or records that a known node has registered again. Node is the node's
// number, which it gets at its first registration and keeps until it is forgotten.
type NodeRegistered struct {
	Node        yarn.NodeSlot
	ID          yarn.NodeID
	HTTPPort    uint16
	Rack        string
	Total       yarn.Resource
	Version     string
	NodeManager bool
	// Address is the address from which the node registered; empty: unknown.
	Address string
	// HeartbeatSession identifies this registration.
	HeartbeatSession uint64
}

var KindNodeRegistered = define[NodeRegistered](30)

func (*NodeRegistered) Kind() Kind { return KindNodeRegistered }

func (e *NodeRegistered) Code(c *codec.Coder) {
	codec.Slot(c, &e.Node)
	c.NodeID(&e.ID)
	c.U16(&e.HTTPPort)
	c.String(&e.Rack)
	c.Resource(&e.Total)
	c.String(&e.Version)
	c.Bool(&e.NodeManager)
	c.String(&e.Address)
	c.U64(&e.HeartbeatSession)
}

func (*NodeRegistered) Text() string {
	return "node registered"
}

// NodeHeard records the heartbeat session and number of the last report that was accepted from a
// node. Older reports that arrive later are refused.
type NodeHeard struct {
	Node             yarn.NodeSlot
	HeartbeatSession uint64
	Response         int32
}

var KindNodeHeard = frequent[NodeHeard](34)

func (*NodeHeard) Kind() Kind { return KindNodeHeard }

func (e *NodeHeard) Code(c *codec.Coder) {
	codec.Slot(c, &e.Node)
	c.U64(&e.HeartbeatSession)
	c.I32(&e.Response)
}

// NodeStateChanged sets the state of a node.
type NodeStateChanged struct {
	Node  yarn.NodeSlot
	State yarn.NodeState
	// DeadlineMillis is the deadline of a drain; 0: none.
	DeadlineMillis int64
	Report         string
}

var KindNodeStateChanged = define[NodeStateChanged](31)

func (*NodeStateChanged) Kind() Kind { return KindNodeStateChanged }

func (e *NodeStateChanged) Code(c *codec.Coder) {
	codec.Slot(c, &e.Node)
	codec.Enum(c, &e.State)
	c.I64(&e.DeadlineMillis)
	c.String(&e.Report)
}

func (e *NodeStateChanged) Text() string {
	return "node is " + words(e.State)
}

// NodeResourceChanged sets a node's total.
type NodeResourceChanged struct {
	Node  yarn.NodeSlot
	Total yarn.Resource
	// Set means that an administrator set Total. It then outlives registrations.
	Set bool
}

var KindNodeResourceChanged = define[NodeResourceChanged](32)

func (*NodeResourceChanged) Kind() Kind { return KindNodeResourceChanged }

func (e *NodeResourceChanged) Code(c *codec.Coder) {
	codec.Slot(c, &e.Node)
	c.Resource(&e.Total)
	c.Bool(&e.Set)
}

func (*NodeResourceChanged) Text() string {
	return "the node's total changed"
}

// CleanupsAcked records that a node has received the command to clean up after the given
// applications.
type CleanupsAcked struct {
	Node yarn.NodeSlot
	Apps []yarn.ApplicationID
}

var KindCleanupsAcked = define[CleanupsAcked](33)

func (*CleanupsAcked) Kind() Kind { return KindCleanupsAcked }

func (e *CleanupsAcked) Code(c *codec.Coder) {
	codec.Slot(c, &e.Node)
	codec.List(c, &e.Apps, func(c *codec.Coder, id *yarn.ApplicationID) { c.ApplicationID(id) })
}

// RemovalsAcked records that a node has received the command to forget completed containers, up to
// number Through of its list.
type RemovalsAcked struct {
	Node    yarn.NodeSlot
	Through uint64
}

var KindRemovalsAcked = define[RemovalsAcked](35)

func (*RemovalsAcked) Kind() Kind { return KindRemovalsAcked }

func (e *RemovalsAcked) Code(c *codec.Coder) {
	codec.Slot(c, &e.Node)
	c.U64(&e.Through)
}

// NodeForgotten removes an inactive node. Another node may get its number.
type NodeForgotten struct {
	Node yarn.NodeSlot
	ID   yarn.NodeID
}

var KindNodeForgotten = define[NodeForgotten](36)

func (*NodeForgotten) Kind() Kind { return KindNodeForgotten }

func (e *NodeForgotten) Code(c *codec.Coder) {
	codec.Slot(c, &e.Node)
	c.NodeID(&e.ID)
}

func (*NodeForgotten) Text() string {
	return "the inactive node is removed"
}

// NodeSilenceChanged records that a node has missed heartbeats since a time, or is heard again.
type NodeSilenceChanged struct {
	Node yarn.NodeSlot
	// SinceMillis is when the node was last heard; 0: it is heard again.
	SinceMillis int64
}

var KindNodeSilenceChanged = define[NodeSilenceChanged](37)

func (*NodeSilenceChanged) Kind() Kind { return KindNodeSilenceChanged }

func (e *NodeSilenceChanged) Code(c *codec.Coder) {
	codec.Slot(c, &e.Node)
	c.I64(&e.SinceMillis)
}

func (e *NodeSilenceChanged) Text() string {
	if e.SinceMillis == 0 {
		return "node is heard again"
	}
	return "node has missed heartbeats, and gets no containers"
}
