package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// AppToken is a token that an application carries for another service. MaxMillis is the time after
// which the service does not renew it; 0 if that is not known. The password is secret.
type AppToken struct {
	Kind, Service        string
	Identifier, Password []byte
	MaxMillis            int64
}

// AppTokens are the tokens of a submission that the cluster renews; see event.TokensAdded. If it is
// empty, the application may start at once.
type AppTokens struct {
	List        []AppToken
	Conf        []byte
	Keep        bool
	Fetch       bool
	DelayMillis int64
}

// Empty reports whether there is nothing to do for the application.
func (t *AppTokens) Empty() bool { return len(t.List) == 0 && !t.Fetch }

func appTokens(c *codec.Coder, v *[]AppToken) {
	codec.List(c, v, func(c *codec.Coder, t *AppToken) {
		c.String(&t.Kind)
		c.String(&t.Service)
		c.Raw(&t.Identifier)
		c.Raw(&t.Password)
		c.I64(&t.MaxMillis)
	})
}

func (t *AppTokens) code(c *codec.Coder) {
	appTokens(c, &t.List)
	c.Raw(&t.Conf)
	c.Bool(&t.Keep)
	c.Bool(&t.Fetch)
	c.I64(&t.DelayMillis)
}

// TokenRenewed reports that the service of a token has renewed it. It ends at ExpiresMillis, in Unix
// milliseconds. Also has others that were renewed about the same time.
type TokenRenewed struct {
	Token         uint32
	ExpiresMillis int64
	Also          []TokenRenewal
}

// TokenRenewal is a further token of TokenRenewed, and its end.
type TokenRenewal struct {
	Token         uint32
	ExpiresMillis int64
}

// TokenCallFailed reports that a token could not be renewed, replaced or cancelled. Final says that
// no further call can succeed. Otherwise the next one is in AgainMillis.
type TokenCallFailed struct {
	Token       uint32
	Final       bool
	AgainMillis int64
	Why         string
}

// TokenCancelled reports that a token was cancelled, or that its service does not know it.
type TokenCancelled struct{ Token uint32 }

// TokensFetched gives new tokens of the file system to the applications of the token Token, or to
// App, which has none, if Token is 0. Credentials has them in Hadoop's format.
type TokensFetched struct {
	Token       uint32
	App         yarn.ApplicationID
	List        []AppToken
	Credentials []byte
}

// TokenFetchFailed reports that App could not get its first token of the file system. The next call
// is in AgainMillis.
type TokenFetchFailed struct {
	App         yarn.ApplicationID
	AgainMillis int64
	Why         string
}

// Kind implements Input.
func (*TokenRenewed) Kind() Kind     { return KindTokenRenewed }
func (*TokenCallFailed) Kind() Kind  { return KindTokenCallFailed }
func (*TokenCancelled) Kind() Kind   { return KindTokenCancelled }
func (*TokensFetched) Kind() Kind    { return KindTokensFetched }
func (*TokenFetchFailed) Kind() Kind { return KindTokenFetchFailed }

// NewReply implements Input.
func (*TokenRenewed) NewReply() Reply     { return new(Done) }
func (*TokenCallFailed) NewReply() Reply  { return new(Done) }
func (*TokenCancelled) NewReply() Reply   { return new(Done) }
func (*TokensFetched) NewReply() Reply    { return new(Done) }
func (*TokenFetchFailed) NewReply() Reply { return new(Done) }

// Code implements Input.
func (i *TokenRenewed) Code(c *codec.Coder) {
	c.U32(&i.Token)
	c.I64(&i.ExpiresMillis)
	if further(c, len(i.Also) > 0) {
		codec.List(c, &i.Also, func(c *codec.Coder, r *TokenRenewal) {
			c.U32(&r.Token)
			c.I64(&r.ExpiresMillis)
		})
	}
}

// Code implements Input.
func (i *TokenCallFailed) Code(c *codec.Coder) {
	c.U32(&i.Token)
	c.Bool(&i.Final)
	c.I64(&i.AgainMillis)
	c.String(&i.Why)
}

// Code implements Input.
func (i *TokenCancelled) Code(c *codec.Coder) { c.U32(&i.Token) }

// Code implements Input.
func (i *TokensFetched) Code(c *codec.Coder) {
	c.U32(&i.Token)
	c.ApplicationID(&i.App)
	appTokens(c, &i.List)
	c.Raw(&i.Credentials)
}

// Code implements Input.
func (i *TokenFetchFailed) Code(c *codec.Coder) {
	c.ApplicationID(&i.App)
	c.I64(&i.AgainMillis)
	c.String(&i.Why)
}
