package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// NodeRegistered adds a node, or brings a known one back. Node is its number,
// given at its first registration and kept until it is forgotten.
type NodeRegistered struct {
	Node        uint32
	ID          yarn.NodeID
	HTTPPort    uint16
	Rack        string
	Total       yarn.Resource
	Version     string
	NodeManager bool
	// Address is where the node called from; empty when that is not known.
	Address string
	// HeartbeatSession names this registration among the node's registrations.
	HeartbeatSession uint64
}

// NodeHeard says that a node's report was taken in: the heartbeat session that it
// belongs to, and its number there. What comes after it and is older is late.
type NodeHeard struct {
	Node             uint32
	HeartbeatSession uint64
	Response         int32
}

// NodeStateChanged moves a node between its states.
type NodeStateChanged struct {
	Node  uint32
	State yarn.NodeState
	// DeadlineMillis ends a drain; 0 is none.
	DeadlineMillis int64
	Report         string
}

// NodeResourceChanged sets a node's total.
type NodeResourceChanged struct {
	Node  uint32
	Total yarn.Resource
	// Set says that an administrator set it; it outlives registrations.
	Set bool
}

// CleanupsAcked says that a node has had the order to clear away what is left of
// applications.
type CleanupsAcked struct {
	Node uint32
	Apps []yarn.ApplicationID
}

// RemovalsAcked says that a node has had the order to forget the completed containers that were
// listed for it, up to the one with the number Through.
type RemovalsAcked struct {
	Node    uint32
	Through uint64
}

// NodeForgotten removes an inactive node. Its number is free for another one.
type NodeForgotten struct {
	Node uint32
	ID   yarn.NodeID
}

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
