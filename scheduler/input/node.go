package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// ContainerStatus is the state of one container as its node reports it.
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

// RecoveredContainer is what a node reports about a container in addition to its status.
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

// RegisterNode registers a node, for the first time or again. Containers are those that it still
// runs.
type RegisterNode struct {
	ID         yarn.NodeID
	HTTPPort   uint16
	Rack       string
	Total      yarn.Resource
	Version    string
	Containers []ContainerStatus
	// Recovered are the containers that another ResourceManager may have allocated. They matter
	// only when a node first registers with a cluster that was migrated from that ResourceManager.
	Recovered []RecoveredContainer
	// Running are the applications of which the node still has containers or files.
	Running []yarn.ApplicationID
	// NodeManager says that this is a NodeManager of Hadoop: the leader calls it to start AMs. A
	// simulated node gets the launch in the reply to its heartbeat instead.
	NodeManager bool
	// Unhealthy says that the node considers itself unhealthy, and Report why.
	Unhealthy bool
	Report    string
	// Address is the address from which the node calls; empty if it is unknown.
	Address string
	// HeartbeatSession and PrevSession are as in NodeHeartbeat. A registration is a session of its
	// own, which ends with the first heartbeat after it.
	HeartbeatSession, PrevSession uint64
}

// RegisterNodeReply says which containers the node must kill, because the cluster does not know
// them, and of which applications it must remove the files. Number is the node's number in events
// and in NodesHeard.
type RegisterNodeReply struct {
	Done
	Number  yarn.NodeSlot
	Kill    []yarn.ContainerID
	CleanUp []yarn.ApplicationID
	Total   yarn.Resource // set by an administrator; zero if none was set
}

// NodeHeartbeat reports what changed on a node since its last heartbeat. The planner then runs a
// scheduling pass over the node.
type NodeHeartbeat struct {
	ID        yarn.NodeID
	Unhealthy bool
	Report    string
	Statuses  []ContainerStatus
	// Full says that Statuses has every container of the node. A container that the node reported
	// earlier and that is not in Statuses is lost.
	Full bool
	// CleanupsAcked and SignalsAcked are the cleanups and signals that the node has received.
	CleanupsAcked []yarn.ApplicationID
	SignalsAcked  []yarn.ContainerID
	// HeartbeatSession is the number of an unbroken run of the node's heartbeats at one frontend.
	// No other run has the same number. The first heartbeat of a run has the number of the run
	// before it in PrevSession. Response is the number of the last response that the node has. With
	// these numbers the planner recognizes a late heartbeat: since it was sent, the node has called
	// another frontend, or has called again. HeartbeatSession 0 means that the frontend uses no
	// sessions and delivers the heartbeats in order.
	HeartbeatSession, PrevSession uint64
	Response                      int32
	// Sizes are the sizes on the node of containers that have grown and are not confirmed yet.
	// SizesAcked are the resize orders that the node has received.
	Sizes      []ContainerSize
	SizesAcked []SizeOrder
	// RemovalsAcked is the number of the last completed container that the node has been told to
	// forget; 0 if there was none since the frontend serves the node. See state.State.Removals.
	RemovalsAcked uint64
	// KeepAlive are the ended applications whose logs the node still collects.
	KeepAlive []yarn.ApplicationID
}

// NodesHeard says that the nodes with these numbers sent heartbeats that reported nothing new. The
// planner runs a scheduling pass over each.
type NodesHeard struct{ Nodes []yarn.NodeSlot }

// NodeSilence says which nodes have missed heartbeats, and which silent nodes are heard again although
// the planner saw none of their heartbeats. The leader itself makes it from its timers.
type NodeSilence struct {
	Silent []SilentNode
	Heard  []yarn.NodeSlot
}

// SilentNode is a node that has sent nothing since a time.
type SilentNode struct {
	Node        yarn.NodeSlot
	SinceMillis int64
}

func (n *SilentNode) code(c *codec.Coder) {
	codec.Slot(c, &n.Node)
	c.I64(&n.SinceMillis)
}

// Signal is a signal for a container. Command is a number of YARN's SignalContainerCommand.
type Signal struct {
	Container yarn.ContainerID
	Command   uint8
}

// ExpireContainers reports containers that were not started, or increases that were not used,
// within the container allocation expiry interval.
type ExpireContainers struct{ Containers []yarn.ContainerID }

// Launch is a container that the ResourceManager itself starts: an AM. Context is the submission
// context of the application.
type Launch struct {
	Container yarn.ContainerID
	Size      yarn.Resource
	User      string
	Context   []byte
}

// NodeHeartbeatReply has the commands for a node. Launches and kills are repeated until the node
// reports the new state of the container. A node ignores a command that it has already received.
type NodeHeartbeatReply struct {
	Done
	Launch   []Launch
	Kill     []yarn.ContainerID
	Resync   bool // the node must register again
	Shutdown bool // the node is decommissioned
	// CleanUp and Signals are repeated until the node acknowledges them.
	CleanUp []yarn.ApplicationID
	Signals []Signal
	// Late says that the heartbeat was late (see NodeHeartbeat). It had no effect, and the reply
	// has nothing else.
	Late bool
	// Resize are the containers whose size the node must change to the size in the state. They are
	// repeated until the node acknowledges them.
	Resize []SizeOrder
}

// ExpireNode reports that a node sent no heartbeat for its expiry interval.
type ExpireNode struct{ ID yarn.NodeID }

// DrainNode starts the graceful decommission of a node. With Back it ends one, or takes a
// decommissioned node back.
type DrainNode struct {
	ID             yarn.NodeID
	Back           bool
	Now            bool  // decommission at once; the node loses its containers
	DeadlineMillis int64 // Unix; 0: none
}

// DrainNodes starts the graceful decommission of several nodes, of all of them or of none. A node
// that is already draining gets the new deadline. A decommissioned node stays decommissioned.
type DrainNodes struct {
	IDs            []yarn.NodeID
	DeadlineMillis int64 // Unix; 0: none
}

// ForgetNode removes a node that is inactive. With Untracked the leader itself requests it for a
// node that has been inactive for long. It then has an effect only if the lists of hosts do not
// name the node.
type ForgetNode struct {
	ID        yarn.NodeID
	Untracked bool
}

// SetNodeResource sets a node's total resource.
type SetNodeResource struct {
	ID    yarn.NodeID
	Total yarn.Resource
}

// UnregisterNode is a node's regular shutdown. HeartbeatSession is the session that it ends, so
// that the planner can recognize a late call; 0 means that the frontend uses no sessions.
type UnregisterNode struct {
	ID               yarn.NodeID
	HeartbeatSession uint64
}

// Kind implements Input.
func (*RegisterNode) Kind() Kind     { return KindRegisterNode }
func (*NodeHeartbeat) Kind() Kind    { return KindNodeHeartbeat }
func (*NodesHeard) Kind() Kind       { return KindNodesHeard }
func (*NodeSilence) Kind() Kind      { return KindNodeSilence }
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
func (*NodeSilence) NewReply() Reply      { return new(Done) }
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
	codec.List(c, &i.Recovered, func(c *codec.Coder, r *RecoveredContainer) { r.code(c) })
}

// Code implements Reply.
func (r *RegisterNodeReply) Code(c *codec.Coder) {
	r.code(c)
	codec.Slot(c, &r.Number)
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
	sizes(c, &i.Sizes)
	sizeOrders(c, &i.SizesAcked)
	c.U64(&i.RemovalsAcked)
	appIDs(c, &i.KeepAlive)
}

// Code implements Input.
func (i *NodesHeard) Code(c *codec.Coder) {
	codec.List(c, &i.Nodes, func(c *codec.Coder, n *yarn.NodeSlot) { codec.Slot(c, n) })
}

// Code implements Input.
func (i *NodeSilence) Code(c *codec.Coder) {
	codec.List(c, &i.Silent, func(c *codec.Coder, n *SilentNode) { n.code(c) })
	codec.List(c, &i.Heard, func(c *codec.Coder, n *yarn.NodeSlot) { codec.Slot(c, n) })
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
	c.Bool(&r.Late)
	sizeOrders(c, &r.Resize)
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
