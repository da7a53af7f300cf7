package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// AccessTokenSet adds an access token or replaces the one with the same name. The log has only the
// SHA-256 hash of the token.
type AccessTokenSet struct {
	Name          string
	Hash          []byte
	Role          yarn.Role
	ExpiresMillis int64
	By            string
}

var KindAccessTokenSet = define[AccessTokenSet](17)

func (*AccessTokenSet) Kind() Kind { return KindAccessTokenSet }

func (e *AccessTokenSet) Code(c *codec.Coder) {
	c.String(&e.Name)
	c.Raw(&e.Hash)
	codec.Enum(c, &e.Role)
	c.I64(&e.ExpiresMillis)
	c.String(&e.By)
}

// AccessTokenRevoked removes an access token.
type AccessTokenRevoked struct{ Name string }

var KindAccessTokenRevoked = define[AccessTokenRevoked](18)

func (*AccessTokenRevoked) Kind() Kind            { return KindAccessTokenRevoked }
func (e *AccessTokenRevoked) Code(c *codec.Coder) { c.String(&e.Name) }

// AutopilotSet replaces the settings of the automatic care of replicas.
type AutopilotSet struct {
	CleanupDeadServers  bool
	DeadServerMillis    int64
	MinQuorum           uint32
	LastContactMillis   int64
	MaxTrailingLogs     uint64
	StabilizationMillis int64
}

var KindAutopilotSet = define[AutopilotSet](19)

func (*AutopilotSet) Kind() Kind { return KindAutopilotSet }

func (e *AutopilotSet) Code(c *codec.Coder) {
	c.Bool(&e.CleanupDeadServers)
	c.I64(&e.DeadServerMillis)
	c.U32(&e.MinQuorum)
	c.I64(&e.LastContactMillis)
	c.U64(&e.MaxTrailingLogs)
	c.I64(&e.StabilizationMillis)
}
