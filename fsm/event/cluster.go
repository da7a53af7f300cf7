package event

import "rmd/internal/codec"

// TimeAdvanced moves the state's clock. It is the first event of an input that
// changes something; NowMillis (Unix) never runs backwards, also across leaders.
type TimeAdvanced struct{ NowMillis int64 }

// ClusterInitialized is the first event of a cluster: its identity, the
// timestamp in its application ids, and the feature level it starts at.
type ClusterInitialized struct {
	ClusterID        string
	ClusterTimestamp int64
	Level            uint32
}

// LevelRaised raises the feature level.
type LevelRaised struct{ Level uint32 }

// EpochRaised marks a restore from backup or a recovery by hand: container ids
// and application timestamps made later can never meet older ones.
type EpochRaised struct {
	Epoch            uint32
	ClusterTimestamp int64
	Why              string
}

// AuditDone begins the result of an action that was done; others are refusals.
const AuditDone = "done"

// Audited records an administrator's action.
type Audited struct {
	Who, From, Action, Target, Result string
}

// RequestRecorded remembers the answer of a call that carried an idempotency
// key, so that its repetition gets the same answer.
type RequestRecorded struct {
	Key      string
	BodyHash uint64
	Reply    []byte
}

// RequestsForgotten drops the oldest Count remembered calls.
type RequestsForgotten struct{ Count uint32 }

// JoinTokenCreated admits one new replica. Only the hash of the token is kept.
type JoinTokenCreated struct {
	Hash          []byte
	Voter         bool
	ExpiresMillis int64
	CreatedBy     string
}

// JoinTokenUsed marks a token as spent.
type JoinTokenUsed struct {
	Hash []byte
	By   string
}

// JoinTokensExpired drops tokens whose time is over at the state's clock.
type JoinTokensExpired struct{}

func (*TimeAdvanced) Kind() Kind       { return KindTimeAdvanced }
func (*ClusterInitialized) Kind() Kind { return KindClusterInitialized }
func (*LevelRaised) Kind() Kind        { return KindLevelRaised }
func (*EpochRaised) Kind() Kind        { return KindEpochRaised }
func (*Audited) Kind() Kind            { return KindAudited }
func (*RequestRecorded) Kind() Kind    { return KindRequestRecorded }
func (*RequestsForgotten) Kind() Kind  { return KindRequestsForgotten }
func (*JoinTokenCreated) Kind() Kind   { return KindJoinTokenCreated }
func (*JoinTokenUsed) Kind() Kind      { return KindJoinTokenUsed }
func (*JoinTokensExpired) Kind() Kind  { return KindJoinTokensExpired }

// Code implements Event.
func (e *TimeAdvanced) Code(c *codec.Coder) { c.I64(&e.NowMillis) }

// Code implements Event.
func (e *ClusterInitialized) Code(c *codec.Coder) {
	c.String(&e.ClusterID)
	c.I64(&e.ClusterTimestamp)
	c.U32(&e.Level)
}

// Code implements Event.
func (e *LevelRaised) Code(c *codec.Coder) { c.U32(&e.Level) }

// Code implements Event.
func (e *EpochRaised) Code(c *codec.Coder) {
	c.U32(&e.Epoch)
	c.I64(&e.ClusterTimestamp)
	c.String(&e.Why)
}

// Code implements Event.
func (e *Audited) Code(c *codec.Coder) {
	c.String(&e.Who)
	c.String(&e.From)
	c.String(&e.Action)
	c.String(&e.Target)
	c.String(&e.Result)
}

// Code implements Event.
func (e *RequestRecorded) Code(c *codec.Coder) {
	c.String(&e.Key)
	c.U64(&e.BodyHash)
	c.Raw(&e.Reply)
}

// Code implements Event.
func (e *RequestsForgotten) Code(c *codec.Coder) { c.U32(&e.Count) }

// Code implements Event.
func (e *JoinTokenCreated) Code(c *codec.Coder) {
	c.Raw(&e.Hash)
	c.Bool(&e.Voter)
	c.I64(&e.ExpiresMillis)
	c.String(&e.CreatedBy)
}

// Code implements Event.
func (e *JoinTokenUsed) Code(c *codec.Coder) {
	c.Raw(&e.Hash)
	c.String(&e.By)
}

// Code implements Event.
func (e *JoinTokensExpired) Code(*codec.Coder) {}
