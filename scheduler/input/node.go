package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// ContainerStatus is what a node says of one container.
type ContainerStatus struct {
	Container   yarn.ContainerID
	State       yarn.ContainerState // ContainerRunning or ContainerCompleted
	ExitStatus  int32
	Diagnostics string
}

func (s *ContainerStatus) code(c *codec.Coder) {
	c.ContainerID(&s.Container)
	codec.Enum(c, &s.State)
	c.I32(&s.ExitStatus)
	c.String(&s.Diagnostics)
}

// RegisterNode brings a node in, or back. Containers are those it still runs.
type RegisterNode struct {
	ID         yarn.NodeID
	HTTPPort   uint16
	Rack       string
	Total      yarn.Resource
	Version    string
	Containers []ContainerStatus
}

// RegisterNodeReply tells a node which containers to kill: those that the
// cluster does not know.
type RegisterNodeReply struct {
	Done
	Kill []yarn.ContainerID
}

// NodeHeartbeat is a node's turn: what changed on it since the last one, and a
// scheduling pass.
type NodeHeartbeat struct {
	ID        yarn.NodeID
	Unhealthy bool
	Report    string
	Statuses  []ContainerStatus
}

// Launch is a container that the ResourceManager itself starts: an AM.
type Launch struct {
	Container yarn.ContainerID
	Size      yarn.Resource
	User      string
	Context   []byte
}

// NodeHeartbeatReply carries the orders for a node. Launches and kills are
// repeated until the node reports the container's new state; a node takes each
// once.
type NodeHeartbeatReply struct {
	Done
	Launch   []Launch
	Kill     []yarn.ContainerID
	Resync   bool // the cluster does not know this node: register again
	Shutdown bool // decommissioned
}

// ExpireNode says that a node has been silent for its expiry interval.
type ExpireNode struct{ ID yarn.NodeID }

// DrainNode starts (or, with Back, undoes) a graceful decommission.
type DrainNode struct {
	ID             yarn.NodeID
	Back           bool
	DeadlineMillis int64 // Unix; 0: none
}

// SetNodeResource changes a node's total.
type SetNodeResource struct {
	ID    yarn.NodeID
	Total yarn.Resource
}

// UnregisterNode is a node's clean shutdown.
type UnregisterNode struct{ ID yarn.NodeID }

// Kind implements Input.
func (*RegisterNode) Kind() Kind    { return KindRegisterNode }
func (*NodeHeartbeat) Kind() Kind   { return KindNodeHeartbeat }
func (*ExpireNode) Kind() Kind      { return KindExpireNode }
func (*DrainNode) Kind() Kind       { return KindDrainNode }
func (*SetNodeResource) Kind() Kind { return KindSetNodeResource }
func (*UnregisterNode) Kind() Kind  { return KindUnregisterNode }

// NewReply implements Input.
func (*RegisterNode) NewReply() Reply    { return new(RegisterNodeReply) }
func (*NodeHeartbeat) NewReply() Reply   { return new(NodeHeartbeatReply) }
func (*ExpireNode) NewReply() Reply      { return new(Done) }
func (*DrainNode) NewReply() Reply       { return new(Done) }
func (*SetNodeResource) NewReply() Reply { return new(Done) }
func (*UnregisterNode) NewReply() Reply  { return new(Done) }

// Code implements Input.
func (i *RegisterNode) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.U16(&i.HTTPPort)
	c.String(&i.Rack)
	c.Resource(&i.Total)
	c.String(&i.Version)
	codec.List(c, &i.Containers, func(c *codec.Coder, s *ContainerStatus) { s.code(c) })
}

// Code implements Reply.
func (r *RegisterNodeReply) Code(c *codec.Coder) {
	r.code(c)
	codec.List(c, &r.Kill, func(c *codec.Coder, id *yarn.ContainerID) { c.ContainerID(id) })
}

// Code implements Input.
func (i *NodeHeartbeat) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.Bool(&i.Unhealthy)
	c.String(&i.Report)
	codec.List(c, &i.Statuses, func(c *codec.Coder, s *ContainerStatus) { s.code(c) })
}

// Code implements Reply.
func (r *NodeHeartbeatReply) Code(c *codec.Coder) {
	r.code(c)
	codec.List(c, &r.Launch, func(c *codec.Coder, l *Launch) {
		c.ContainerID(&l.Container)
		c.Resource(&l.Size)
		c.String(&l.User)
		c.Raw(&l.Context)
	})
	codec.List(c, &r.Kill, func(c *codec.Coder, id *yarn.ContainerID) { c.ContainerID(id) })
	c.Bool(&r.Resync)
	c.Bool(&r.Shutdown)
}

// Code implements Input.
func (i *ExpireNode) Code(c *codec.Coder) { c.NodeID(&i.ID) }

// Code implements Input.
func (i *DrainNode) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.Bool(&i.Back)
	c.I64(&i.DeadlineMillis)
}

// Code implements Input.
func (i *SetNodeResource) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.Resource(&i.Total)
}

// Code implements Input.
func (i *UnregisterNode) Code(c *codec.Coder) { c.NodeID(&i.ID) }
