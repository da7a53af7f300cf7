package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// NodeRegistered adds a node, or brings a known one back. Node is its number,
// given at its first registration and kept for ever.
type NodeRegistered struct {
	Node     uint32
	ID       yarn.NodeID
	HTTPPort uint16
	Rack     string
	Total    yarn.Resource
	Version  string
	Dialed   bool
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

// CleanUpsTold says that a node has had the order to clear away what is left of
// applications.
type CleanUpsTold struct {
	Node uint32
	Apps []yarn.ApplicationID
}

func (*CleanUpsTold) Kind() Kind        { return KindCleanUpsTold }
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
	c.Bool(&e.Dialed)
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
func (e *CleanUpsTold) Code(c *codec.Coder) {
	c.U32(&e.Node)
	codec.List(c, &e.Apps, func(c *codec.Coder, id *yarn.ApplicationID) { c.ApplicationID(id) })
}
