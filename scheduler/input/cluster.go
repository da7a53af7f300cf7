package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// InitCluster gives a new cluster its identity and its first queues. It is the first input of a
// cluster. Later ones are refused.
type InitCluster struct {
	ClusterID        string
	ClusterTimestamp int64
	Properties       []Property
	// Entropy is 32 random bytes, from which the first keys are made; without
	// it the first Tick makes them.
	Entropy []byte
	// Include and Exclude are the lists of hosts, as in SetHosts. They are in force before the
	// first node registers.
	Include, Exclude []string
}

// Property is a configuration key and its value. Origin is the place where it was read, for
// messages only.
type Property struct{ Name, Value, Origin string }

// Tick makes the planner do what is due at a time: it ends drains, lifetimes, gangs and tokens,
// forgets old remembered calls, rolls keys, and activates applications.
type Tick struct {
	// Entropy is 32 random bytes from the leader, from which new keys are made. Without it no keys
	// are made.
	Entropy []byte
}

// SetQueues replaces the queue configuration. It is refused if IfVersion is neither 0 nor the
// version in force. DryRun only validates.
type SetQueues struct {
	Properties []Property
	IfVersion  uint64
	Author     string
	Comment    string
	DryRun     bool
	User       string // an administrator of the queues that change; empty: an operator
	Groups     []string
}

// SetQueuesReply has the version that is then in force, and warnings about the configuration.
type SetQueuesReply struct {
	Done
	Version  uint64
	Warnings []string
}

// RollbackQueues applies an earlier version of the configuration as a new version.
type RollbackQueues struct {
	To      uint64
	Author  string
	Comment string
}

// SetQueueState stops or starts a queue.
type SetQueueState struct {
	Queue string
	State yarn.QueueState
}

// CreateJoinToken creates a token that admits one replica. The token is valid for TTLMillis by the
// leader's clock, which may differ from the clock of the replica that received the request. Hash is
// the SHA-256 of the token; only the creator of the token has the token itself.
type CreateJoinToken struct {
	Hash      []byte
	Voter     bool
	TTLMillis int64
	Who       string
}

// UseJoinToken uses up a join token. By is the replica that joins.
type UseJoinToken struct {
	Hash []byte
	By   string
}

// UseJoinTokenReply has the role of the new replica.
type UseJoinTokenReply struct {
	Done
	Voter bool
}

// RaiseLevel raises the feature level of the cluster.
type RaiseLevel struct{ Level uint32 }

// RaiseEpoch raises the epoch after a restore or a manual recovery.
type RaiseEpoch struct {
	ClusterTimestamp int64
	Why              string
}

// Audit records an administrator's action that changes no scheduling state.
type Audit struct{ Who, From, Action, Target, Result string }

// Kind implements Input.
func (*InitCluster) Kind() Kind     { return KindInitCluster }
func (*Tick) Kind() Kind            { return KindTick }
func (*SetQueues) Kind() Kind       { return KindSetQueues }
func (*RollbackQueues) Kind() Kind  { return KindRollbackQueues }
func (*SetQueueState) Kind() Kind   { return KindSetQueueState }
func (*CreateJoinToken) Kind() Kind { return KindCreateJoinToken }
func (*UseJoinToken) Kind() Kind    { return KindUseJoinToken }
func (*RaiseLevel) Kind() Kind      { return KindRaiseLevel }
func (*RaiseEpoch) Kind() Kind      { return KindRaiseEpoch }
func (*Audit) Kind() Kind           { return KindAudit }

// NewReply implements Input.
func (*InitCluster) NewReply() Reply     { return new(SetQueuesReply) }
func (*Tick) NewReply() Reply            { return new(Done) }
func (*SetQueues) NewReply() Reply       { return new(SetQueuesReply) }
func (*RollbackQueues) NewReply() Reply  { return new(SetQueuesReply) }
func (*SetQueueState) NewReply() Reply   { return new(Done) }
func (*CreateJoinToken) NewReply() Reply { return new(Done) }
func (*UseJoinToken) NewReply() Reply    { return new(UseJoinTokenReply) }
func (*RaiseLevel) NewReply() Reply      { return new(Done) }
func (*RaiseEpoch) NewReply() Reply      { return new(Done) }
func (*Audit) NewReply() Reply           { return new(Done) }

func properties(c *codec.Coder, v *[]Property) {
	codec.List(c, v, func(c *codec.Coder, p *Property) {
		c.String(&p.Name)
		c.String(&p.Value)
		c.String(&p.Origin)
	})
}

// Code implements Input.
func (i *InitCluster) Code(c *codec.Coder) {
	c.String(&i.ClusterID)
	c.I64(&i.ClusterTimestamp)
	properties(c, &i.Properties)
	c.Raw(&i.Entropy)
	texts(c, &i.Include)
	texts(c, &i.Exclude)
}

// Code implements Input.
func (i *Tick) Code(c *codec.Coder) { c.Raw(&i.Entropy) }

// Code implements Input.
func (i *SetQueues) Code(c *codec.Coder) {
	properties(c, &i.Properties)
	c.U64(&i.IfVersion)
	c.String(&i.Author)
	c.String(&i.Comment)
	c.Bool(&i.DryRun)
	c.String(&i.User)
	texts(c, &i.Groups)
}

// Code implements Reply.
func (r *SetQueuesReply) Code(c *codec.Coder) {
	r.code(c)
	c.U64(&r.Version)
	texts(c, &r.Warnings)
}

// Code implements Input.
func (i *RollbackQueues) Code(c *codec.Coder) {
	c.U64(&i.To)
	c.String(&i.Author)
	c.String(&i.Comment)
}

// Code implements Input.
func (i *SetQueueState) Code(c *codec.Coder) {
	c.String(&i.Queue)
	codec.Enum(c, &i.State)
}

// Code implements Input.
func (i *CreateJoinToken) Code(c *codec.Coder) {
	c.Raw(&i.Hash)
	c.Bool(&i.Voter)
	c.I64(&i.TTLMillis)
	c.String(&i.Who)
}

// Code implements Input.
func (i *UseJoinToken) Code(c *codec.Coder) {
	c.Raw(&i.Hash)
	c.String(&i.By)
}

// Code implements Reply.
func (r *UseJoinTokenReply) Code(c *codec.Coder) {
	r.code(c)
	c.Bool(&r.Voter)
}

// Code implements Input.
func (i *RaiseLevel) Code(c *codec.Coder) { c.U32(&i.Level) }

// Code implements Input.
func (i *RaiseEpoch) Code(c *codec.Coder) {
	c.I64(&i.ClusterTimestamp)
	c.String(&i.Why)
}

// Code implements Input.
func (i *Audit) Code(c *codec.Coder) {
	c.String(&i.Who)
	c.String(&i.From)
	c.String(&i.Action)
	c.String(&i.Target)
	c.String(&i.Result)
}
