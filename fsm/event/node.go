package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// NodeRegistered adds a node or records that a known node has registered again. Node is the node's
// number, which it gets at its first registration and keeps until it is forgotten.
type NodeRegistered struct {
	Node        uint32
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

// NodeHeard records the heartbeat session and number of the last report that was accepted from a
// node. Older reports that arrive later are refused.
type NodeHeard struct {
	Node             uint32
	HeartbeatSession uint64
	Response         int32
}

// NodeStateChanged sets the state of a node.
type NodeStateChanged struct {
	Node  uint32
	State yarn.NodeState
	// DeadlineMillis is the deadline of a drain; 0: none.
	DeadlineMillis int64
	Report         string
}

// NodeResourceChanged sets a node's total.
type NodeResourceChanged struct {
	Node  uint32
	Total yarn.Resource
	// Set means that an administrator set Total. It then outlives registrations.
	Set bool
}

// CleanupsAcked records that a node has received the command to clean up after the given
// applications.
type CleanupsAcked struct {
	Node uint32
	Apps []yarn.ApplicationID
}

// RemovalsAcked records that a node has received the command to forget completed containers, up to
// number Through of its list.
type RemovalsAcked struct {
	Node    uint32
	Through uint64
}

// NodeForgotten removes an inactive node. Another node may get its number.
type NodeForgotten struct {
	Node uint32
	ID   yarn.NodeID
}

// NodeSilenceChanged records that a node has missed heartbeats since a time, or is heard again.
type NodeSilenceChanged struct {
	Node uint32
	// SinceMillis is when the node was last heard; 0: it is heard again.
	SinceMillis int64
}

func (*NodeSilenceChanged) Kind() Kind  { return KindNodeSilenceChanged }
func (*NodeForgotten) Kind() Kind       { return KindNodeForgotten }
func (*RemovalsAcked) Kind() Kind       { return KindRemovalsAcked }
func (*NodeHeard) Kind() Kind           { return KindNodeHeard }
func (*CleanupsAcked) Kind() Kind       { return KindCleanupsAcked }
func (*NodeRegistered) Kind() Kind      { return KindNodeRegistered }
func (*NodeStateChanged) Kind() Kind    { return KindNodeStateChanged }
func (*NodeResourceChanged) Kind() Kind { return KindNodeResourceChanged }

// Code implements Event.
func (e *NodeRegistered) Code(c *codec.Coder) {
	c.U32(&e.Node)
	c.NodeID(&e.ID)
	c.U16(&e.HTTPPort)
	c.String(&e.Rack)
	c.Resource(&e.Total)
	c.String(&e.Version)
	c.Bool(&e.NodeManager)
	c.String(&e.Address)
	c.U64(&e.HeartbeatSession)
}

// Code implements Event.
func (e *NodeHeard) Code(c *codec.Coder) {
	c.U32(&e.Node)
	c.U64(&e.HeartbeatSession)
	c.I32(&e.Response)
}

// Code implements Event.
func (e *NodeStateChanged) Code(c *codec.Coder) {
	c.U32(&e.Node)
	codec.Enum(c, &e.State)
	c.I64(&e.DeadlineMillis)
	c.String(&e.Report)
}

// Code implements Event.
func (e *NodeResourceChanged) Code(c *codec.Coder) {
	c.U32(&e.Node)
	c.Resource(&e.Total)
	c.Bool(&e.Set)
}

// Code implements Event.
func (e *CleanupsAcked) Code(c *codec.Coder) {
	c.U32(&e.Node)
	codec.List(c, &e.Apps, func(c *codec.Coder, id *yarn.ApplicationID) { c.ApplicationID(id) })
}

// Code implements Event.
func (e *RemovalsAcked) Code(c *codec.Coder) {
	c.U32(&e.Node)
	c.U64(&e.Through)
}

// Code implements Event.
func (e *NodeForgotten) Code(c *codec.Coder) {
	c.U32(&e.Node)
	c.NodeID(&e.ID)
}

// Code implements Event.
func (e *NodeSilenceChanged) Code(c *codec.Coder) {
	c.U32(&e.Node)
	c.I64(&e.SinceMillis)
}
