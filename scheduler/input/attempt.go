package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// RegisterAttempt registers an AM. With HasResponse, Response is the last response number that the
// frontend knew when the AM called. If a later number has been given since, the registration is a
// late copy, and it does not make the AM start over.
type RegisterAttempt struct {
	Attempt     yarn.AttemptID
	Host        string
	RPCPort     int32
	TrackingURL string
	HasResponse bool
	Response    int32
	// Entropy is 32 random bytes where Kerberos authenticates callers. The attempt's key for the
	// tokens of its clients is made from those of its first registration. Without them it gets none.
	Entropy []byte
}

// RegisterAttemptReply gives an AM its limits and the containers that were kept from earlier
// attempts. An AM that was registered before must send all its asks again.
type RegisterAttemptReply struct {
	Done
	Queue   string
	Maximum yarn.Resource
	Kept    []Granted
	// KeptVersions are the versions of the containers in Kept: how often the size of each was
	// changed. Containers beyond its end have version 0.
	KeptVersions []int32
}

// Ask sets what an attempt asks for under a key and a resource name: a host, a rack or "*". Count
// is absolute; it replaces the count of an earlier ask.
//
// Label is the label of the nodes that may serve the key. Only asks for "*" have it. Empty means
// the label of the application, or the queue's default if the application has none. yarn.NoLabel
// means nodes without a label.
type Ask struct {
	Key   yarn.SchedulerKey
	Name  string
	Count int64
	Size  yarn.Resource
	Relax bool
	Label string
}

// Granted is a container as its AM sees it.
type Granted struct {
	Container yarn.ContainerID
	Key       yarn.SchedulerKey
	Node      yarn.NodeID
	Rack      string
	HTTPPort  uint16
	Size      yarn.Resource
	// AllocatedMillis is the time of the allocation, in Unix milliseconds.
	AllocatedMillis int64
}

// Allocate is an AM's heartbeat. Response is the number of the last response that the AM has. A
// call with the same number gets the same response.
//
// FromAM says that the AM itself sent the number, so the AM has that response, and that the AM
// accepts any later number. A late copy of such a call takes nothing from the AM. Without FromAM a
// call may have the number from the state, which does not change while responses are idle. A late
// copy may then take what was meant for the next call.
type Allocate struct {
	Attempt         yarn.AttemptID
	Response        int32
	Asks            []Ask
	Releases        []yarn.ContainerID
	BlacklistAdd    []string
	BlacklistRemove []string
	// Progress is in hundredths of a percent, 0 to 10000.
	Progress uint32
	// TrackingURL replaces the one of the registration; empty: no change.
	TrackingURL string
	FromAM      bool
	// Updates are the containers to be changed.
	Updates []Update
	// Gang declares the application's gang, as SetGang does. Empty means no change.
	Gang string
}

// AllocateReply has the containers that were granted and that completed since the response that the
// AM has acknowledged.
type AllocateReply struct {
	Done
	Response  int32
	Granted   []Granted
	Completed []ContainerStatus
	Headroom  yarn.Resource
	Nodes     uint32
	Priority  int32 // of the application
	// Resized are the containers whose size has changed. UpdateErrors are the updates of this call
	// that are not made.
	Resized      []Resized
	UpdateErrors []UpdateError
	// Preempted are the containers with a preemption warning that no earlier response had. Their
	// total size is PreemptedUnits times PreemptedUnit, rounded up. PreemptedUnit is the smallest
	// container that may be allocated.
	Preempted      []Preempting
	PreemptedUnit  yarn.Resource
	PreemptedUnits int32
}

// FinishAttempt is an AM's unregistration. If the AM runs on a Hadoop NodeManager, the attempt ends
// with the AM's container. Otherwise it ends at once.
type FinishAttempt struct {
	Attempt     yarn.AttemptID
	Final       yarn.FinalStatus
	Diagnostics string
	TrackingURL string
}

// ExpireAttempt reports that an AM sent no heartbeat for its expiry interval.
type ExpireAttempt struct{ Attempt yarn.AttemptID }

// AttemptLaunched reports that a node has accepted the attempt's AM container.
type AttemptLaunched struct {
	Attempt   yarn.AttemptID
	Container uint64
}

// AttemptLaunchFailed reports that the attempt's AM container could not be started. NodeFault says
// that the node could not be reached. Such a failure does not count against the application.
type AttemptLaunchFailed struct {
	Attempt     yarn.AttemptID
	Container   uint64
	NodeFault   bool
	Diagnostics string
}

// Kind implements Input.
func (*AttemptLaunched) Kind() Kind     { return KindAttemptLaunched }
func (*AttemptLaunchFailed) Kind() Kind { return KindAttemptLaunchFailed }
func (*RegisterAttempt) Kind() Kind     { return KindRegisterAttempt }
func (*Allocate) Kind() Kind            { return KindAllocate }
func (*FinishAttempt) Kind() Kind       { return KindFinishAttempt }
func (*ExpireAttempt) Kind() Kind       { return KindExpireAttempt }

// NewReply implements Input.
func (*AttemptLaunched) NewReply() Reply     { return new(Done) }
func (*AttemptLaunchFailed) NewReply() Reply { return new(Done) }
func (*RegisterAttempt) NewReply() Reply     { return new(RegisterAttemptReply) }
func (*Allocate) NewReply() Reply            { return new(AllocateReply) }
func (*FinishAttempt) NewReply() Reply       { return new(Done) }
func (*ExpireAttempt) NewReply() Reply       { return new(Done) }

// Code implements Input.
func (i *RegisterAttempt) Code(c *codec.Coder) {
	c.AttemptID(&i.Attempt)
	c.String(&i.Host)
	c.I32(&i.RPCPort)
	c.String(&i.TrackingURL)
	c.Bool(&i.HasResponse)
	c.I32(&i.Response)
	c.Raw(&i.Entropy)
}

func (g *Granted) code(c *codec.Coder) {
	c.ContainerID(&g.Container)
	c.Key(&g.Key)
	c.NodeID(&g.Node)
	c.String(&g.Rack)
	c.U16(&g.HTTPPort)
	c.Resource(&g.Size)
	c.I64(&g.AllocatedMillis)
}

// Code implements Reply.
func (r *RegisterAttemptReply) Code(c *codec.Coder) {
	r.code(c)
	c.String(&r.Queue)
	c.Resource(&r.Maximum)
	codec.List(c, &r.Kept, func(c *codec.Coder, g *Granted) { g.code(c) })
	codec.List(c, &r.KeptVersions, func(c *codec.Coder, v *int32) { c.I32(v) })
}

// Code implements Input.
func (i *Allocate) Code(c *codec.Coder) {
	c.AttemptID(&i.Attempt)
	c.I32(&i.Response)
	codec.List(c, &i.Asks, func(c *codec.Coder, a *Ask) {
		c.Key(&a.Key)
		c.String(&a.Name)
		c.I64(&a.Count)
		c.Resource(&a.Size)
		c.Bool(&a.Relax)
		c.String(&a.Label)
	})
	codec.List(c, &i.Releases, func(c *codec.Coder, id *yarn.ContainerID) { c.ContainerID(id) })
	texts(c, &i.BlacklistAdd)
	texts(c, &i.BlacklistRemove)
	c.U32(&i.Progress)
	c.String(&i.TrackingURL)
	c.Bool(&i.FromAM)
	codec.List(c, &i.Updates, func(c *codec.Coder, u *Update) { u.code(c) })
	c.String(&i.Gang)
}

// Code implements Reply.
func (r *AllocateReply) Code(c *codec.Coder) {
	r.code(c)
	c.I32(&r.Response)
	codec.List(c, &r.Granted, func(c *codec.Coder, g *Granted) { g.code(c) })
	codec.List(c, &r.Completed, func(c *codec.Coder, s *ContainerStatus) { s.code(c) })
	c.Resource(&r.Headroom)
	c.U32(&r.Nodes)
	c.I32(&r.Priority)
	codec.List(c, &r.Resized, func(c *codec.Coder, z *Resized) { z.code(c) })
	codec.List(c, &r.UpdateErrors, func(c *codec.Coder, e *UpdateError) { e.code(c) })
	codec.List(c, &r.Preempted, func(c *codec.Coder, p *Preempting) { p.code(c) })
	c.Resource(&r.PreemptedUnit)
	c.I32(&r.PreemptedUnits)
}

// Code implements Input.
func (i *AttemptLaunched) Code(c *codec.Coder) {
	c.AttemptID(&i.Attempt)
	c.U64(&i.Container)
}

// Code implements Input.
func (i *AttemptLaunchFailed) Code(c *codec.Coder) {
	c.AttemptID(&i.Attempt)
	c.U64(&i.Container)
	c.Bool(&i.NodeFault)
	c.String(&i.Diagnostics)
}

// Code implements Input.
func (i *FinishAttempt) Code(c *codec.Coder) {
	c.AttemptID(&i.Attempt)
	codec.Enum(c, &i.Final)
	c.String(&i.Diagnostics)
	c.String(&i.TrackingURL)
}

// Code implements Input.
func (i *ExpireAttempt) Code(c *codec.Coder) { c.AttemptID(&i.Attempt) }
