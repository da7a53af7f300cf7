package event

import (
	"fmt"

	"rmd/internal/codec"
)

// TimeAdvanced sets the state's clock. It is the first event of every input that changes something.
// NowMillis (Unix) never decreases, not even across leaders.
type TimeAdvanced struct{ NowMillis int64 }

var KindTimeAdvanced = define[TimeAdvanced](1, Clock)

func (*TimeAdvanced) Kind() Kind            { return KindTimeAdvanced }
func (e *TimeAdvanced) Code(c *codec.Coder) { c.I64(&e.NowMillis) }

// ClusterInitialized is the first event of a cluster. It has the cluster's identity, the timestamp
// of its application ids, and its first feature level.
type ClusterInitialized struct {
	ClusterID        string
	ClusterTimestamp int64
	Level            uint32
}

var KindClusterInitialized = define[ClusterInitialized](2)

func (*ClusterInitialized) Kind() Kind { return KindClusterInitialized }

func (e *ClusterInitialized) Code(c *codec.Coder) {
	c.String(&e.ClusterID)
	c.I64(&e.ClusterTimestamp)
	c.U32(&e.Level)
}

func (*ClusterInitialized) Text() string {
	return "the cluster begins"
}

// LevelRaised raises the feature level.
type LevelRaised struct{ Level uint32 }

var KindLevelRaised = define[LevelRaised](3)

func (*LevelRaised) Kind() Kind            { return KindLevelRaised }
func (e *LevelRaised) Code(c *codec.Coder) { c.U32(&e.Level) }

func (e *LevelRaised) Text() string {
	return fmt.Sprintf("feature level %d in force", e.Level)
}

// EpochRaised follows a restore from backup or a manual recovery. Container and application ids
// given later differ from all earlier ones.
type EpochRaised struct {
	Epoch            uint32
	ClusterTimestamp int64
	Why              string
}

var KindEpochRaised = define[EpochRaised](4)

func (*EpochRaised) Kind() Kind { return KindEpochRaised }

func (e *EpochRaised) Code(c *codec.Coder) {
	c.U32(&e.Epoch)
	c.I64(&e.ClusterTimestamp)
	c.String(&e.Why)
}

// AuditDone is the prefix of the result of an action that was done. Other results are refusals.
const AuditDone = "done"

// Audited records an action of an operator, or a call that was refused.
type Audited struct {
	Who, From, Action, Target, Result string
}

var KindAudited = define[Audited](5)

func (*Audited) Kind() Kind { return KindAudited }

func (e *Audited) Code(c *codec.Coder) {
	c.String(&e.Who)
	c.String(&e.From)
	c.String(&e.Action)
	c.String(&e.Target)
	c.String(&e.Result)
}

func (e *Audited) Text() string {
	return parts("administrator: "+e.Action, e.Target, by(e.Who), e.Result)
}

// RequestRecorded stores the reply to a call with an idempotency key, so that a repeated call gets
// the same reply.
type RequestRecorded struct {
	Key      string
	BodyHash uint64
	Reply    []byte
}

var KindRequestRecorded = define[RequestRecorded](6, Receipt)

func (*RequestRecorded) Kind() Kind { return KindRequestRecorded }

func (e *RequestRecorded) Code(c *codec.Coder) {
	c.String(&e.Key)
	c.U64(&e.BodyHash)
	c.Raw(&e.Reply)
}

// RequestsForgotten removes the Count oldest stored requests.
type RequestsForgotten struct{ Count uint32 }

var KindRequestsForgotten = define[RequestsForgotten](7)

func (*RequestsForgotten) Kind() Kind            { return KindRequestsForgotten }
func (e *RequestsForgotten) Code(c *codec.Coder) { c.U32(&e.Count) }

// JoinTokenCreated adds a token with which one new replica may join. The log has only the hash of
// the token.
type JoinTokenCreated struct {
	Hash          []byte
	Voter         bool
	ExpiresMillis int64
	CreatedBy     string
}

var KindJoinTokenCreated = define[JoinTokenCreated](8)

func (*JoinTokenCreated) Kind() Kind { return KindJoinTokenCreated }

func (e *JoinTokenCreated) Code(c *codec.Coder) {
	c.Raw(&e.Hash)
	c.Bool(&e.Voter)
	c.I64(&e.ExpiresMillis)
	c.String(&e.CreatedBy)
}

// JoinTokenUsed marks a join token as used.
type JoinTokenUsed struct {
	Hash []byte
	By   string
}

var KindJoinTokenUsed = define[JoinTokenUsed](9)

func (*JoinTokenUsed) Kind() Kind { return KindJoinTokenUsed }

func (e *JoinTokenUsed) Code(c *codec.Coder) {
	c.Raw(&e.Hash)
	c.String(&e.By)
}

// JoinTokensExpired removes the tokens that have expired on the state's clock.
type JoinTokensExpired struct{}

var KindJoinTokensExpired = define[JoinTokensExpired](10)

func (*JoinTokensExpired) Kind() Kind          { return KindJoinTokensExpired }
func (e *JoinTokensExpired) Code(*codec.Coder) {}

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
