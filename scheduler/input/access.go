package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// SetAccessToken creates an access token. With Replace it gives an existing token of that name a
// new secret, role and expiry time. Hash is the SHA-256 of the token; only the creator of the token
// has the token itself.
type SetAccessToken struct {
	Name          string
	Hash          []byte
	Role          yarn.Role
	ExpiresMillis int64
	Who           string
	Replace       bool
	// Force permits a change after which no token of role admin is left.
	Force bool
}

// RevokeAccessToken removes an access token. Force is as in SetAccessToken.
type RevokeAccessToken struct {
	Name  string
	Force bool
}

// SetAutopilot replaces the settings with which the leader removes dead replicas and promotes new
// ones.
type SetAutopilot struct {
	CleanupDeadServers  bool
	DeadServerMillis    int64
	MinQuorum           uint32
	LastContactMillis   int64
	MaxTrailingLogs     uint64
	StabilizationMillis int64
}

// Kind implements Input.
func (*SetAccessToken) Kind() Kind    { return KindSetAccessToken }
func (*RevokeAccessToken) Kind() Kind { return KindRevokeAccessToken }
func (*SetAutopilot) Kind() Kind      { return KindSetAutopilot }

// NewReply implements Input.
func (*SetAccessToken) NewReply() Reply    { return new(Done) }
func (*RevokeAccessToken) NewReply() Reply { return new(Done) }
func (*SetAutopilot) NewReply() Reply      { return new(Done) }

// Code implements Input.
func (i *SetAccessToken) Code(c *codec.Coder) {
	c.String(&i.Name)
	c.Raw(&i.Hash)
	codec.Enum(c, &i.Role)
	c.I64(&i.ExpiresMillis)
	c.String(&i.Who)
	c.Bool(&i.Replace)
	c.Bool(&i.Force)
}

// Code implements Input.
func (i *RevokeAccessToken) Code(c *codec.Coder) {
	c.String(&i.Name)
	c.Bool(&i.Force)
}

// Code implements Input.
func (i *SetAutopilot) Code(c *codec.Coder) {
	c.Bool(&i.CleanupDeadServers)
	c.I64(&i.DeadServerMillis)
	c.U32(&i.MinQuorum)
	c.I64(&i.LastContactMillis)
	c.U64(&i.MaxTrailingLogs)
	c.I64(&i.StabilizationMillis)
}
