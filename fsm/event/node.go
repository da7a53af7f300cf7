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
}

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
}
