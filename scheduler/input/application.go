package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// SubmitApplication submits an application. If ID is zero, the cluster assigns the next id. DryRun
// only checks the submission.
type SubmitApplication struct {
	ID             yarn.ApplicationID
	Name           string
	User           string
	Groups         []string
	Queue          string
	Type           string
	Tags           []string
	Priority       int32
	PrioritySet    bool
	AM             yarn.Resource
	Unmanaged      bool
	KeepContainers bool
	MaxAttempts    uint32
	LifetimeMillis int64
	// ValidityMillis is the time for which a failed attempt counts against MaxAttempts; 0 means for
	// ever.
	ValidityMillis int64
	Context        []byte
	DryRun         bool
	// AMPlaces are the hosts and racks at which the AM is asked for, in addition to "*". With
	// AMStrict the AM may run only there. All of them ask for one container of size AM.
	AMPlaces []yarn.Place
	AMStrict bool
	// Label is the label of asks that name none. Empty means the queue's default, yarn.NoLabel
	// means nodes without a label. AMLabel is the label of the AM. Empty means the cluster's
	// default for AMs, or Label if there is no such default.
	Label, AMLabel string
	// TagGroups are the groups of the user that a tag userid=NAME names. The primary group comes
	// first.
	TagGroups []string
	Tokens    AppTokens
}

// SubmitApplicationReply has the application's id and the path of its leaf queue.
type SubmitApplicationReply struct {
	Done
	ID    yarn.ApplicationID
	Queue string
}

// NewApplication reserves an id for an application that will be submitted later.
type NewApplication struct{}

// NewApplicationReply has the reserved id and the size of the largest container of the cluster.
type NewApplicationReply struct {
	Done
	ID      yarn.ApplicationID
	Maximum yarn.Resource
}

// SetLifetime limits the time from an application's submission to its end; 0 means no limit.
type SetLifetime struct {
	ID             yarn.ApplicationID
	LifetimeMillis int64
}

// FailAttempt ends the current attempt as if its AM had failed. User requests it.
type FailAttempt struct {
	Attempt yarn.AttemptID
	User    string
}

// SignalContainer makes the node of a container send a signal to it. Command is a number of YARN's
// SignalContainerCommand.
type SignalContainer struct {
	Container yarn.ContainerID
	Command   uint8
}

// KillApplication ends an application.
type KillApplication struct {
	ID          yarn.ApplicationID
	User        string
	Diagnostics string
}

// MoveApplication moves an application to another leaf queue.
type MoveApplication struct {
	ID     yarn.ApplicationID
	Queue  string
	User   string // who requests it; empty: an administrator
	Groups []string
}

// SetPriority changes an application's priority. The reply has the priority that was granted.
type SetPriority struct {
	ID       yarn.ApplicationID
	Priority int32
	User     string // who requests it; empty: an administrator
	Groups   []string
}

// SetPriorityReply has the granted priority, which is at most the cluster's maximum.
type SetPriorityReply struct {
	Done
	Priority int32
}

// CancelReservation cancels a reservation for an operator.
type CancelReservation struct {
	Number uint64
	Who    string
	Reason string
}

// Kind implements Input.
func (*SubmitApplication) Kind() Kind { return KindSubmitApplication }
func (*NewApplication) Kind() Kind    { return KindNewApplication }
func (*SetLifetime) Kind() Kind       { return KindSetLifetime }
func (*FailAttempt) Kind() Kind       { return KindFailAttempt }
func (*SignalContainer) Kind() Kind   { return KindSignalContainer }
func (*KillApplication) Kind() Kind   { return KindKillApplication }
func (*MoveApplication) Kind() Kind   { return KindMoveApplication }
func (*SetPriority) Kind() Kind       { return KindSetPriority }
func (*CancelReservation) Kind() Kind { return KindCancelReservation }

// NewReply implements Input.
func (*SubmitApplication) NewReply() Reply { return new(SubmitApplicationReply) }
func (*NewApplication) NewReply() Reply    { return new(NewApplicationReply) }
func (*SetLifetime) NewReply() Reply       { return new(Done) }
func (*FailAttempt) NewReply() Reply       { return new(Done) }
func (*SignalContainer) NewReply() Reply   { return new(Done) }
func (*KillApplication) NewReply() Reply   { return new(Done) }
func (*MoveApplication) NewReply() Reply   { return new(Done) }
func (*SetPriority) NewReply() Reply       { return new(SetPriorityReply) }
func (*CancelReservation) NewReply() Reply { return new(Done) }

func texts(c *codec.Coder, v *[]string) {
	codec.List(c, v, func(c *codec.Coder, s *string) { c.String(s) })
}

// Code implements Input.
func (i *SubmitApplication) Code(c *codec.Coder) {
	c.ApplicationID(&i.ID)
	c.String(&i.Name)
	c.String(&i.User)
	texts(c, &i.Groups)
	c.String(&i.Queue)
	c.String(&i.Type)
	texts(c, &i.Tags)
	c.I32(&i.Priority)
	c.Bool(&i.PrioritySet)
	c.Resource(&i.AM)
	c.Bool(&i.Unmanaged)
	c.Bool(&i.KeepContainers)
	c.U32(&i.MaxAttempts)
	c.I64(&i.LifetimeMillis)
	c.I64(&i.ValidityMillis)
	c.Raw(&i.Context)
	c.Bool(&i.DryRun)
	codec.List(c, &i.AMPlaces, func(c *codec.Coder, p *yarn.Place) {
		c.String(&p.Name)
		c.Bool(&p.Relax)
	})
	c.Bool(&i.AMStrict)
	c.String(&i.Label)
	c.String(&i.AMLabel)
	texts(c, &i.TagGroups)
	i.Tokens.code(c)
}

// Code implements Reply.
func (r *SubmitApplicationReply) Code(c *codec.Coder) {
	r.code(c)
	c.ApplicationID(&r.ID)
	c.String(&r.Queue)
}

// Code implements Input.
func (i *KillApplication) Code(c *codec.Coder) {
	c.ApplicationID(&i.ID)
	c.String(&i.User)
	c.String(&i.Diagnostics)
}

// Code implements Input.
func (i *MoveApplication) Code(c *codec.Coder) {
	c.ApplicationID(&i.ID)
	c.String(&i.Queue)
	c.String(&i.User)
	texts(c, &i.Groups)
}

// Code implements Input.
func (i *NewApplication) Code(*codec.Coder) {}

// Code implements Reply.
func (r *NewApplicationReply) Code(c *codec.Coder) {
	r.code(c)
	c.ApplicationID(&r.ID)
	c.Resource(&r.Maximum)
}

// Code implements Input.
func (i *SetLifetime) Code(c *codec.Coder) {
	c.ApplicationID(&i.ID)
	c.I64(&i.LifetimeMillis)
}

// Code implements Input.
func (i *FailAttempt) Code(c *codec.Coder) {
	c.AttemptID(&i.Attempt)
	c.String(&i.User)
}

// Code implements Input.
func (i *SignalContainer) Code(c *codec.Coder) {
	c.ContainerID(&i.Container)
	c.U8(&i.Command)
}

// Code implements Input.
func (i *SetPriority) Code(c *codec.Coder) {
	c.ApplicationID(&i.ID)
	c.I32(&i.Priority)
	c.String(&i.User)
	texts(c, &i.Groups)
}

// Code implements Reply.
func (r *SetPriorityReply) Code(c *codec.Coder) {
	r.code(c)
	c.I32(&r.Priority)
}

// Code implements Input.
func (i *CancelReservation) Code(c *codec.Coder) {
	c.U64(&i.Number)
	c.String(&i.Who)
	c.String(&i.Reason)
}
