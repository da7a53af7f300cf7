package ipc

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"rmd/internal/gss"
	"rmd/transport/hadoop/proto"
)

const gssMechanism = "GSSAPI"

// Kerberos is what a port needs to offer KERBEROS.
type Kerberos struct {
	// Acceptor has the keys of the server's principal, Service/Host@REALM.
	Acceptor      *gss.Acceptor
	Service, Host string
	// Short returns the user of a principal (hadoop.security.auth_to_local).
	Short func(principal string) (string, error)
}

// gssapi is the state of a negotiation of KERBEROS.
type gssapi struct {
	ctx     *gss.Context
	offered Protection // 0: not yet
}

// appendOffer appends the offer of KERBEROS.
func (k *Kerberos) appendOffer(b []byte) []byte {
	one := protowire.AppendString([]byte{0x0a}, KindKerberos)
	one = protowire.AppendString(append(one, 0x12), gssMechanism)
	one = protowire.AppendString(append(one, 0x1a), k.Service)
	one = protowire.AppendString(append(one, 0x22), k.Host)
	return protowire.AppendBytes(append(b, 0x22), one)
}

// acceptGSS checks the client's first token. It returns the proof that the server is who it says.
func (c *Conn) acceptGSS(m *proto.RpcSaslProto) ([]byte, *Error) {
	if m.Token == nil {
		return nil, saslError("Client did not send a token")
	}
	ctx, reply, err := c.s.cfg.Kerberos.Acceptor.Accept(m.GetToken(), gss.Peer{Address: c.peer.Addr()})
	if err != nil {
		return nil, c.gssError("GSS initiate failed", err)
	}
	if reply == nil {
		// Without a reply the key is the client's choice, and a recorded negotiation could be
		// repeated after a restart. Hadoop's clients always ask for the reply.
		return nil, c.gssError("GSS initiate failed", fmt.Errorf("%s does not ask for mutual authentication", ctx.Client))
	}
	c.gss, c.proof = &gssapi{ctx: ctx}, nil
	return saslMessage(proto.RpcSaslProto_CHALLENGE, reply), nil
}

// gssError is a refusal whose cause is logged and not sent.
func (c *Conn) gssError(text string, cause error) *Error {
	var e *gss.Error
	outcome := "handshake"
	if errors.As(cause, &e) {
		outcome = string(e.Reason)
	}
	c.outcome = outcome
	c.s.log.Warn("a client's ticket is refused", "address", c.peer, "reason", outcome, "error", cause)
	return saslError(text)
}

// offerLayers returns the qualities of protection and the greatest message that is read, which
// Java's clients keep to (RFC 4752).
func (c *Conn) offerLayers() []byte {
	c.gss.offered = c.protection()
	offer := []byte{byte(c.gss.offered), 1, 0, 0}
	if c.gss.offered == Authentication {
		offer[1] = 0
	}
	return saslMessage(proto.RpcSaslProto_CHALLENGE, c.gss.ctx.Wrap(nil, offer, false))
}

// continueGSS handles the client's next messages: an empty one, and then its choice.
func (c *Conn) continueGSS(m *proto.RpcSaslProto) ([]byte, *Error) {
	if m.Token == nil {
		return nil, saslError("Client did not send a token")
	}
	if c.gss.offered == 0 {
		if len(m.GetToken()) > 0 {
			return nil, saslError("Handshake expecting no response data from server")
		}
		return c.offerLayers(), nil
	}
	ctx, offered := c.gss.ctx, c.gss.offered
	c.gss = nil
	choice, _, err := ctx.Unwrap(m.GetToken())
	if err == nil && len(choice) < 4 {
		err = errors.New("the choice has less than four bytes")
	}
	if err != nil {
		return nil, c.gssError("Final handshake failed", fmt.Errorf("%s: %w", ctx.Client, err))
	}
	var l layer
	switch chosen := Protection(choice[0]); {
	case chosen&offered == 0 || chosen&(chosen-1) != 0:
		c.outcome = "protection"
		return nil, saslError(fmt.Sprintf("Client selected unsupported protection: %d", choice[0]))
	case chosen != Authentication:
		l = gssLayer{ctx, chosen == Privacy}
	}
	if as := string(choice[4:]); as != "" && as != ctx.Client {
		c.outcome = "authorization"
		return nil, saslError(ctx.Client + " is not authorized to connect as " + clip(choice[4:]))
	}
	user, e := c.shortName(ctx.Client)
	if e != nil {
		return nil, e
	}
	c.proven, c.agreed = &Caller{User: user, Principal: ctx.Client, Kind: KindKerberos, Address: c.peer}, l
	return saslMessage(proto.RpcSaslProto_SUCCESS, nil), nil
}

// shortName returns the user of a principal.
func (c *Conn) shortName(principal string) (string, *Error) {
	if len(principal) > nameMax {
		c.outcome = "name"
		return "", fatal(DetailFatalAuthorized, ClassAccessControl, "a principal has %d bytes, at most %d are taken",
			len(principal), nameMax)
	}
	user, err := c.s.cfg.Kerberos.Short(principal)
	if err == nil && user == "" {
		err = errors.New("its rule makes an empty name")
	}
	if check := c.s.cfg.CheckUser; err == nil && check != nil {
		err = check(user)
	}
	if err != nil {
		c.outcome = "name"
		return "", fatal(DetailFatalAuthorized, ClassAccessControl, "Illegal principal name %s: %v",
			clip([]byte(principal)), err)
	}
	return user, nil
}

// actFor returns the caller for the effective user of a connection context. Java takes each name
// that is not the caller's own principal for that of another user.
func (c *Conn) actFor(name string) (*Caller, *Error) {
	who := c.proven
	if name == "" || name == who.Principal {
		return who, nil
	}
	user, e := c.shortName(name)
	if e != nil {
		return nil, e
	}
	if err := c.mayImpersonate(who.User, user); err != nil {
		return nil, fatal(DetailFatalAuthorized, classOr(err, ClassAuthorization), "%s", textOf(err))
	}
	return &Caller{User: user, RealUser: who.User, Principal: who.Principal, Kind: KindKerberos, Address: c.peer}, nil
}

// saslMessage returns an encoded RpcSaslProto. A token that is nil is left out.
func saslMessage(state proto.RpcSaslProto_SaslState, token []byte) []byte {
	b := []byte{0x10, byte(state)}
	if token == nil {
		return b
	}
	return protowire.AppendBytes(append(b, 0x1a), token)
}
