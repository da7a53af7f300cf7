package event

import (
	"fmt"

	"rmd/internal/codec"
)

// AppToken is a token that an application carries for another service. MaxMillis is the time after
// which the service does not renew it; 0 if that is not known. The password is secret.
type AppToken struct {
	Kind, Service        string
	Identifier, Password []byte
	MaxMillis            int64
}

// String describes the token without its secrets.
func (t AppToken) String() string { return fmt.Sprintf("{%s for %s}", t.Kind, t.Service) }

func codeAppTokens(c *codec.Coder, v *[]AppToken) {
	codec.List(c, v, func(c *codec.Coder, t *AppToken) {
		c.String(&t.Kind)
		c.String(&t.Service)
		c.Raw(&t.Identifier)
		c.Raw(&t.Password)
		c.I64(&t.MaxMillis)
	})
}

// TokensAdded adds the tokens of an application that must be renewed before it starts. An equal
// token of another application is the same one. Conf is the configuration with which the
// application's client resolves name services. With Keep the tokens are not cancelled at the end.
// With Fetch the application has no token of the file system and gets one. Tokens are released
// DelayMillis after the end of the application.
type TokensAdded struct {
	App         uint32
	Tokens      []AppToken
	Conf        []byte
	Keep        bool
	Fetch       bool
	DelayMillis int64
}

var KindTokensAdded = define[TokensAdded](114)

func (*TokensAdded) Kind() Kind { return KindTokensAdded }

func (e *TokensAdded) Code(c *codec.Coder) {
	c.U32(&e.App)
	codeAppTokens(c, &e.Tokens)
	c.Raw(&e.Conf)
	c.Bool(&e.Keep)
	c.Bool(&e.Fetch)
	c.I64(&e.DelayMillis)
}

func (e *TokensAdded) Text() string {
	if len(e.Tokens) == 0 {
		return "waits for a token of the file system"
	}
	return fmt.Sprintf("waits for the renewal of its %d tokens", len(e.Tokens))
}

// TokenRenewed sets when a token of applications ends, and when to renew it next.
type TokenRenewed struct {
	Token                 uint32
	EndMillis, NextMillis int64
}

var KindTokenRenewed = define[TokenRenewed](115)

func (*TokenRenewed) Kind() Kind { return KindTokenRenewed }

func (e *TokenRenewed) Code(c *codec.Coder) {
	c.U32(&e.Token)
	c.I64(&e.EndMillis)
	c.I64(&e.NextMillis)
}

// TokenCallFailed records that a token could not be renewed, replaced or cancelled. If Final is set,
// it is lost. Otherwise the next try is at NextMillis.
type TokenCallFailed struct {
	Token      uint32
	Final      bool
	NextMillis int64
	Why        string
}

var KindTokenCallFailed = define[TokenCallFailed](116)

func (*TokenCallFailed) Kind() Kind { return KindTokenCallFailed }

func (e *TokenCallFailed) Code(c *codec.Coder) {
	c.U32(&e.Token)
	c.Bool(&e.Final)
	c.I64(&e.NextMillis)
	c.String(&e.Why)
}

func (e *TokenCallFailed) Text() string {
	if e.Final {
		return because(fmt.Sprintf("token %d is lost", e.Token), e.Why)
	}
	return because(fmt.Sprintf("token %d was not renewed or cancelled", e.Token), e.Why)
}

// TokensReleased takes an ended application from its tokens. A token of no application is cancelled
// next, or removed if it is not to be cancelled. Rejected says that the application could not start
// for want of a token: then none is cancelled, as in YARN.
type TokensReleased struct {
	App      uint32
	Rejected bool
}

var KindTokensReleased = define[TokensReleased](117)

func (*TokensReleased) Kind() Kind { return KindTokensReleased }

func (e *TokensReleased) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.Bool(&e.Rejected)
}

// TokenDropped removes a token of no application that was cancelled, or cannot be.
type TokenDropped struct{ Token uint32 }

var KindTokenDropped = define[TokenDropped](118)

func (*TokenDropped) Kind() Kind            { return KindTokenDropped }
func (e *TokenDropped) Code(c *codec.Coder) { c.U32(&e.Token) }

// TokensReplaced gives applications of one user new tokens of the file system in place of the old
// ones. Credentials has them in Hadoop's format, for nodes.
type TokensReplaced struct {
	Apps        []uint32
	Tokens      []AppToken
	Credentials []byte
}

var KindTokensReplaced = define[TokensReplaced](119)

func (*TokensReplaced) Kind() Kind { return KindTokensReplaced }

// String describes the event without the secret credentials.
func (e *TokensReplaced) String() string { return fmt.Sprintf("{Apps:%v Tokens:%v}", e.Apps, e.Tokens) }

func (e *TokensReplaced) Code(c *codec.Coder) {
	codec.List(c, &e.Apps, func(c *codec.Coder, v *uint32) { c.U32(v) })
	codeAppTokens(c, &e.Tokens)
	c.Raw(&e.Credentials)
}

// TokenFetchFailed records that an application could not get its first token of the file system. The
// next try is at NextMillis.
type TokenFetchFailed struct {
	App        uint32
	NextMillis int64
	Why        string
}

var KindTokenFetchFailed = define[TokenFetchFailed](120)

func (*TokenFetchFailed) Kind() Kind { return KindTokenFetchFailed }

func (e *TokenFetchFailed) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.I64(&e.NextMillis)
	c.String(&e.Why)
}

func (e *TokenFetchFailed) Text() string {
	return because("got no token of the file system", e.Why)
}

// TokensKept puts off the release of an ended application's tokens, because a node still collects
// its logs.
type TokensKept struct {
	App         uint32
	LeaveMillis int64
}

var KindTokensKept = define[TokensKept](121)

func (*TokensKept) Kind() Kind { return KindTokensKept }

func (e *TokensKept) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.I64(&e.LeaveMillis)
}
