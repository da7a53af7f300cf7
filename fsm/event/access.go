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

// AccessTokenRevoked removes an access token.
type AccessTokenRevoked struct{ Name string }

// AutopilotSet replaces the settings of the automatic care of replicas.
type AutopilotSet struct {
	CleanupDeadServers  bool
	DeadServerMillis    int64
	MinQuorum           uint32
	LastContactMillis   int64
	MaxTrailingLogs     uint64
	StabilizationMillis int64
}

// Kind implements Event.
func (*AccessTokenSet) Kind() Kind     { return KindAccessTokenSet }
func (*AccessTokenRevoked) Kind() Kind { return KindAccessTokenRevoked }
func (*AutopilotSet) Kind() Kind       { return KindAutopilotSet }

// Code implements Event.
func (e *AccessTokenSet) Code(c *codec.Coder) {
	c.String(&e.Name)
	c.Raw(&e.Hash)
	codec.Enum(c, &e.Role)
	c.I64(&e.ExpiresMillis)
	c.String(&e.By)
}

// Code implements Event.
func (e *AccessTokenRevoked) Code(c *codec.Coder) { c.String(&e.Name) }

// Code implements Event.
func (e *AutopilotSet) Code(c *codec.Coder) {
	c.Bool(&e.CleanupDeadServers)
	c.I64(&e.DeadServerMillis)
	c.U32(&e.MinQuorum)
	c.I64(&e.LastContactMillis)
	c.U64(&e.MaxTrailingLogs)
	c.I64(&e.StabilizationMillis)
}
