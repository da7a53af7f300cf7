package event

import "rmd/internal/codec"

// TimeAdvanced sets the state's clock. It is the first event of every input that changes something.
// NowMillis (Unix) never decreases, not even across leaders.
type TimeAdvanced struct{ NowMillis int64 }

// ClusterInitialized is the first event of a cluster. It has the cluster's identity, the timestamp
// of its application ids, and its first feature level.
type ClusterInitialized struct {
	ClusterID        string
	ClusterTimestamp int64
	Level            uint32
}

// LevelRaised raises the feature level.
type LevelRaised struct{ Level uint32 }

// EpochRaised follows a restore from backup or a manual recovery. Container and application ids
// given later differ from all earlier ones.
type EpochRaised struct {
	Epoch            uint32
	ClusterTimestamp int64
	Why              string
}

// AuditDone is the prefix of the result of an action that was done. Other results are refusals.
const AuditDone = "done"

// Audited records an action of an operator, or a call that was refused.
type Audited struct {
	Who, From, Action, Target, Result string
}

// RequestRecorded stores the reply to a call with an idempotency key, so that a repeated call gets
// the same reply.
type RequestRecorded struct {
	Key      string
	BodyHash uint64
	Reply    []byte
}

// RequestsForgotten removes the Count oldest stored requests.
type RequestsForgotten struct{ Count uint32 }

// JoinTokenCreated adds a token with which one new replica may join. The log has only the hash of
// the token.
type JoinTokenCreated struct {
	Hash          []byte
	Voter         bool
	ExpiresMillis int64
	CreatedBy     string
}

// JoinTokenUsed marks a join token as used.
type JoinTokenUsed struct {
	Hash []byte
	By   string
}

// JoinTokensExpired removes the tokens that have expired on the state's clock.
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

// TimeIn returns the time to which events advance the cluster's clock, in Unix milliseconds, or 0
// if they do not. Events of the same millisecond as those before them do not.
func TimeIn(events []Event) (nowMillis int64) {
	for _, e := range events {
		if t, ok := e.(*TimeAdvanced); ok {
			nowMillis = t.NowMillis
		}
	}
	return nowMillis
}

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
