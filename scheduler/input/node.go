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

// RecoveredContainer is what a node knows of a container beside its status.
type RecoveredContainer struct {
	Container     yarn.ContainerID
	Key           yarn.SchedulerKey
	Size          yarn.Resource
	StartedMillis int64
}

func (r *RecoveredContainer) code(c *codec.Coder) {
	c.ContainerID(&r.Container)
	c.Key(&r.Key)
	c.Resource(&r.Size)
	c.I64(&r.StartedMillis)
}

// RegisterNode brings a node in, or back. Containers are those it still runs.
type RegisterNode struct {
	ID         yarn.NodeID
	HTTPPort   uint16
	Rack       string
	Total      yarn.Resource
	Version    string
	Containers []ContainerStatus
	// Recovered are those that another ResourceManager may have given, when the node registers for
	// the first time with a cluster that was taken over from it.
	Recovered []RecoveredContainer
	// Running are the applications that the node still keeps something of.
	Running []yarn.ApplicationID
	// NodeManager says that this is a NodeManager of Hadoop: the leader calls it to start
	// AMs. A simulated node gets the order in the answer to its heartbeat.
	NodeManager bool
	// Unhealthy is the node's own judgment of itself, with its reasons.
	Unhealthy bool
	Report    string
	// Address is where the node calls from; empty when that is not known.
	Address string
	// HeartbeatSession and PrevSession are those of NodeHeartbeat. A registration is a
	// session of its own, which the first heartbeat after it ends.
	HeartbeatSession, PrevSession uint64
}

// RegisterNodeReply tells a node which containers to kill, those that the
// cluster does not know, and of which applications to clear away what is left.
// Number is the node's number in events and batches.
type RegisterNodeReply struct {
	Done
	Number  uint32
	Kill    []yarn.ContainerID
	CleanUp []yarn.ApplicationID
	Total   yarn.Resource // in force: an administrator's, when one was set
}

// NodeHeartbeat is a node's heartbeat: what changed on it since the last one, and a
// scheduling pass.
type NodeHeartbeat struct {
	ID        yarn.NodeID
	Unhealthy bool
	Report    string
	Statuses  []ContainerStatus
	// Full says that Statuses has every container of the node: what the cluster
	// knows to run there and is not among them is lost.
	Full bool
	// Told and Signalled are the clean-ups and signals that the node has had.
	CleanupsAcked []yarn.ApplicationID
	SignalsAcked  []yarn.ContainerID
	// HeartbeatSession is the number of an unbroken run of the node's heartbeats at one
	// frontend. No other run has it. The first heartbeat of a run names the run before it
	// in PrevSession. Response is the number of the last answer that the node has. With
	// these the planner recognizes a late heartbeat: the node has since called another
	// frontend, or called again. HeartbeatSession 0: the frontend does not say, and its
	// heartbeats come in order.
	HeartbeatSession, PrevSession uint64
	Response                      int32
	// Sizes are how large containers are there that have grown and not been confirmed;
	// SizesTold the orders of sizes that the node has had.
	Sizes      []ContainerSize
	SizesAcked []SizeOrder
	// RemovalsAcked is the number of the last completed container that the node has been
	// told to forget; 0: none since the frontend serves it. See state.Removals.
	RemovalsAcked uint64
	// KeepAlive are the applications that have ended and whose logs the node still collects.
	KeepAlive []yarn.ApplicationID
}

// NodesHeard says that nodes, by their numbers, sent heartbeats that changed
// nothing: they live, and are to be served.
type NodesHeard struct{ Nodes []uint32 }

// Signal is a signal for a container.
type Signal struct {
	Container yarn.ContainerID
	Command   uint8
}

// ExpireContainers says that containers were granted and not started within the
// time for it.
type ExpireContainers struct{ Containers []yarn.ContainerID }

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
	// CleanUp and Signals are repeated until the node is said to have had them.
	CleanUp []yarn.ApplicationID
	Signals []Signal
	// Total is what an administrator set the node to; zero: nothing was set.
	Total yarn.Resource
	// Late says that the node has been heard since: nothing of the report was
	// believed, and nothing is answered.
	Late bool
	// Resize are containers to be given the size that they have in the state, repeated
	// until the node is said to have had it.
	Resize []SizeOrder
}

// ExpireNode says that a node has been silent for its expiry interval.
type ExpireNode struct{ ID yarn.NodeID }

// DrainNode starts (or, with Back, undoes) a graceful decommission.
type DrainNode struct {
	ID             yarn.NodeID
	Back           bool
	Now            bool  // at once, its containers are lost
	DeadlineMillis int64 // Unix; 0: none
}

// DrainNodes starts a graceful decommission of several nodes: of all, or of none. A node that
// drains already gets the deadline, and one that is decommissioned stays so.
type DrainNodes struct {
	IDs            []yarn.NodeID
	DeadlineMillis int64 // Unix; 0: none
}

// ForgetNode removes a node that is inactive. Untracked is the leader's own request for a node
// that is inactive for long: it changes nothing unless the lists of hosts leave the node out.
type ForgetNode struct {
	ID        yarn.NodeID
	Untracked bool
}

// SetNodeResource changes a node's total.
type SetNodeResource struct {
	ID    yarn.NodeID
	Total yarn.Resource
}

// UnregisterNode is a node's clean shutdown. HeartbeatSession is the session that it ends, so
// that a late call is recognized; 0: the frontend does not say.
type UnregisterNode struct {
	ID               yarn.NodeID
	HeartbeatSession uint64
}

// Kind implements Input.
func (*RegisterNode) Kind() Kind     { return KindRegisterNode }
func (*NodeHeartbeat) Kind() Kind    { return KindNodeHeartbeat }
func (*NodesHeard) Kind() Kind       { return KindNodesHeard }
func (*ExpireContainers) Kind() Kind { return KindExpireContainers }
func (*ExpireNode) Kind() Kind       { return KindExpireNode }
func (*DrainNode) Kind() Kind        { return KindDrainNode }
func (*DrainNodes) Kind() Kind       { return KindDrainNodes }
func (*ForgetNode) Kind() Kind       { return KindForgetNode }
func (*SetNodeResource) Kind() Kind  { return KindSetNodeResource }
func (*UnregisterNode) Kind() Kind   { return KindUnregisterNode }

// NewReply implements Input.
func (*RegisterNode) NewReply() Reply     { return new(RegisterNodeReply) }
func (*NodeHeartbeat) NewReply() Reply    { return new(NodeHeartbeatReply) }
func (*NodesHeard) NewReply() Reply       { return new(Done) }
func (*ExpireContainers) NewReply() Reply { return new(Done) }
func (*ExpireNode) NewReply() Reply       { return new(Done) }
func (*DrainNode) NewReply() Reply        { return new(Done) }
func (*DrainNodes) NewReply() Reply       { return new(Done) }
func (*ForgetNode) NewReply() Reply       { return new(Done) }
func (*SetNodeResource) NewReply() Reply  { return new(Done) }
func (*UnregisterNode) NewReply() Reply   { return new(Done) }

// Code implements Input.
func (i *RegisterNode) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.U16(&i.HTTPPort)
	c.String(&i.Rack)
	c.Resource(&i.Total)
	c.String(&i.Version)
	codec.List(c, &i.Containers, func(c *codec.Coder, s *ContainerStatus) { s.code(c) })
	appIDs(c, &i.Running)
	c.Bool(&i.NodeManager)
	c.Bool(&i.Unhealthy)
	c.String(&i.Report)
	c.String(&i.Address)
	c.U64(&i.HeartbeatSession)
	c.U64(&i.PrevSession)
	if further(c, len(i.Recovered) > 0) {
		codec.List(c, &i.Recovered, func(c *codec.Coder, r *RecoveredContainer) { r.code(c) })
	}
}

// Code implements Reply.
func (r *RegisterNodeReply) Code(c *codec.Coder) {
	r.code(c)
	c.U32(&r.Number)
	containerIDs(c, &r.Kill)
	appIDs(c, &r.CleanUp)
	c.Resource(&r.Total)
}

func containerIDs(c *codec.Coder, v *[]yarn.ContainerID) {
	codec.List(c, v, func(c *codec.Coder, id *yarn.ContainerID) { c.ContainerID(id) })
}

func appIDs(c *codec.Coder, v *[]yarn.ApplicationID) {
	codec.List(c, v, func(c *codec.Coder, id *yarn.ApplicationID) { c.ApplicationID(id) })
}

// Code implements Input.
func (i *NodeHeartbeat) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.Bool(&i.Unhealthy)
	c.String(&i.Report)
	codec.List(c, &i.Statuses, func(c *codec.Coder, s *ContainerStatus) { s.code(c) })
	c.Bool(&i.Full)
	appIDs(c, &i.CleanupsAcked)
	containerIDs(c, &i.SignalsAcked)
	c.U64(&i.HeartbeatSession)
	c.U64(&i.PrevSession)
	c.I32(&i.Response)
	if further(c, len(i.Sizes)+len(i.SizesAcked)+len(i.KeepAlive) > 0 || i.RemovalsAcked > 0) {
		sizes(c, &i.Sizes)
		sizeOrders(c, &i.SizesAcked)
	}
	if further(c, i.RemovalsAcked > 0 || len(i.KeepAlive) > 0) {
		c.U64(&i.RemovalsAcked)
	}
	if further(c, len(i.KeepAlive) > 0) {
		appIDs(c, &i.KeepAlive)
	}
}

// Code implements Input.
func (i *NodesHeard) Code(c *codec.Coder) {
	codec.List(c, &i.Nodes, func(c *codec.Coder, n *uint32) { c.U32(n) })
}

// Code implements Input.
func (i *ExpireContainers) Code(c *codec.Coder) { containerIDs(c, &i.Containers) }

// Code implements Reply.
func (r *NodeHeartbeatReply) Code(c *codec.Coder) {
	r.code(c)
	codec.List(c, &r.Launch, func(c *codec.Coder, l *Launch) {
		c.ContainerID(&l.Container)
		c.Resource(&l.Size)
		c.String(&l.User)
		c.Raw(&l.Context)
	})
	containerIDs(c, &r.Kill)
	c.Bool(&r.Resync)
	c.Bool(&r.Shutdown)
	appIDs(c, &r.CleanUp)
	codec.List(c, &r.Signals, func(c *codec.Coder, s *Signal) {
		c.ContainerID(&s.Container)
		c.U8(&s.Command)
	})
	c.Resource(&r.Total)
	c.Bool(&r.Late)
	if further(c, len(r.Resize) > 0) {
		sizeOrders(c, &r.Resize)
	}
}

// Code implements Input.
func (i *ExpireNode) Code(c *codec.Coder) { c.NodeID(&i.ID) }

// Code implements Input.
func (i *DrainNode) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.Bool(&i.Back)
	c.Bool(&i.Now)
	c.I64(&i.DeadlineMillis)
}

// Code implements Input.
func (i *DrainNodes) Code(c *codec.Coder) {
	nodeIDs(c, &i.IDs)
	c.I64(&i.DeadlineMillis)
}

// Code implements Input.
func (i *ForgetNode) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.Bool(&i.Untracked)
}

// Code implements Input.
func (i *SetNodeResource) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.Resource(&i.Total)
}

// Code implements Input.
func (i *UnregisterNode) Code(c *codec.Coder) {
	c.NodeID(&i.ID)
	c.U64(&i.HeartbeatSession)
}
