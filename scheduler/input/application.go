package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// SubmitApplication submits an application. With an empty ID the cluster gives
// the next one; DryRun only checks.
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
	Context        []byte
	DryRun         bool
}

// SubmitApplicationReply tells the id and the leaf queue it went to.
type SubmitApplicationReply struct {
	Done
	ID    yarn.ApplicationID
	Queue string
}

// KillApplication ends an application.
type KillApplication struct {
	ID          yarn.ApplicationID
	User        string
	Diagnostics string
}

// MoveApplication moves an application to another leaf queue.
type MoveApplication struct {
	ID    yarn.ApplicationID
	Queue string
}

// SetPriority changes an application's priority; the reply has the one granted.
type SetPriority struct {
	ID       yarn.ApplicationID
	Priority int32
}

// SetPriorityReply tells the priority after the cluster's maximum.
type SetPriorityReply struct {
	Done
	Priority int32
}

// CancelReservation is an operator's cancellation.
type CancelReservation struct {
	Number uint64
	Who    string
	Reason string
}

// Kind implements Input.
func (*SubmitApplication) Kind() Kind { return KindSubmitApplication }
func (*KillApplication) Kind() Kind   { return KindKillApplication }
func (*MoveApplication) Kind() Kind   { return KindMoveApplication }
func (*SetPriority) Kind() Kind       { return KindSetPriority }
func (*CancelReservation) Kind() Kind { return KindCancelReservation }

// NewReply implements Input.
func (*SubmitApplication) NewReply() Reply { return new(SubmitApplicationReply) }
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
	c.Raw(&i.Context)
	c.Bool(&i.DryRun)
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
}

// Code implements Input.
func (i *SetPriority) Code(c *codec.Coder) {
	c.ApplicationID(&i.ID)
	c.I32(&i.Priority)
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
