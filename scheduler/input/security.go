package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// IssueDelegationToken issues a delegation token. Its holder acts as Owner, and Renewer may renew
// it. RealUser is the user who requested it for Owner; empty if that was Owner.
type IssueDelegationToken struct {
	Owner, Renewer, RealUser string
}

// IssueDelegationTokenReply has the parts of the token's identifier that the cluster chose. Times
// are Unix milliseconds.
type IssueDelegationTokenReply struct {
	Done
	Sequence    uint32
	KeyID       int32
	IssueMillis int64
	MaxMillis   int64
}

// RenewDelegationToken extends the validity of a token. By must be its renewer.
type RenewDelegationToken struct {
	Sequence uint32
	By       string
}

// RenewDelegationTokenReply has the new expiry time, in Unix milliseconds.
type RenewDelegationTokenReply struct {
	Done
	ExpiresMillis int64
}

// CancelDelegationToken cancels a token. By must be its owner or renewer.
type CancelDelegationToken struct {
	Sequence uint32
	By       string
}

// SetHosts replaces the lists of hosts. Only hosts in Include may register; an empty Include allows
// all. Hosts in Exclude may not. Nodes that are no longer allowed leave at once, or with Graceful
// after they are drained, for at most TimeoutMillis (0: no limit). Nodes that are allowed again
// come back.
type SetHosts struct {
	Include, Exclude []string
	Graceful         bool
	TimeoutMillis    int64
	Who              string
	Timeouts         []HostTimeout // of hosts with a timeout of their own
}

// HostTimeout is the longest time that the nodes of a host may drain; 0 means no limit.
type HostTimeout struct {
	Host   string
	Millis int64
}

// SetHostsReply lists the nodes that have begun to leave and to come back.
type SetHostsReply struct {
	Done
	Leaving, Returning []yarn.NodeID
}

// Kind implements Input.
func (*IssueDelegationToken) Kind() Kind  { return KindIssueDelegationToken }
func (*RenewDelegationToken) Kind() Kind  { return KindRenewDelegationToken }
func (*CancelDelegationToken) Kind() Kind { return KindCancelDelegationToken }
func (*SetHosts) Kind() Kind              { return KindSetHosts }

// NewReply implements Input.
func (*IssueDelegationToken) NewReply() Reply  { return new(IssueDelegationTokenReply) }
func (*RenewDelegationToken) NewReply() Reply  { return new(RenewDelegationTokenReply) }
func (*CancelDelegationToken) NewReply() Reply { return new(Done) }
func (*SetHosts) NewReply() Reply              { return new(SetHostsReply) }

// Code implements Input.
func (i *IssueDelegationToken) Code(c *codec.Coder) {
	c.String(&i.Owner)
	c.String(&i.Renewer)
	c.String(&i.RealUser)
}

// Code implements Reply.
func (r *IssueDelegationTokenReply) Code(c *codec.Coder) {
	r.code(c)
	c.U32(&r.Sequence)
	c.I32(&r.KeyID)
	c.I64(&r.IssueMillis)
	c.I64(&r.MaxMillis)
}

// Code implements Input.
func (i *RenewDelegationToken) Code(c *codec.Coder) {
	c.U32(&i.Sequence)
	c.String(&i.By)
}

// Code implements Reply.
func (r *RenewDelegationTokenReply) Code(c *codec.Coder) {
	r.code(c)
	c.I64(&r.ExpiresMillis)
}

// Code implements Input.
func (i *CancelDelegationToken) Code(c *codec.Coder) {
	c.U32(&i.Sequence)
	c.String(&i.By)
}

// Code implements Input.
func (i *SetHosts) Code(c *codec.Coder) {
	texts(c, &i.Include)
	texts(c, &i.Exclude)
	c.Bool(&i.Graceful)
	c.I64(&i.TimeoutMillis)
	c.String(&i.Who)
	codec.List(c, &i.Timeouts, func(c *codec.Coder, t *HostTimeout) {
		c.String(&t.Host)
		c.I64(&t.Millis)
	})
}

// Code implements Reply.
func (r *SetHostsReply) Code(c *codec.Coder) {
	r.code(c)
	nodeIDs(c, &r.Leaving)
	nodeIDs(c, &r.Returning)
}

func nodeIDs(c *codec.Coder, v *[]yarn.NodeID) {
	codec.List(c, v, func(c *codec.Coder, id *yarn.NodeID) { c.NodeID(id) })
}
