package ipc

import (
	"encoding/base64"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token/digest"
)

const mechanism = "DIGEST-MD5"

// negotiate handles one SASL message. An error ends the connection.
func (c *Conn) negotiate(h *requestHeader, body []byte) error {
	if !c.sasl {
		return c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassServer, "the client did not ask for SASL"))
	}
	if c.proven != nil {
		return c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassSasl, "the negotiation is over"))
	}
	var m proto.RpcSaslProto
	if err := readControl(body, &m); err != nil {
		return c.refuse(h.call, h.retry, fatal(DetailFatalRequest, ClassServer, "RpcSaslProto: %v", err))
	}
	reply, e := c.step(&m)
	c.observeHandshake(&m, e)
	if e != nil {
		e.Fatal = true
		if e.Detail == 0 {
			e.Detail = DetailFatalAuthorized
		}
		c.logRefusal("caller is not authenticated", e)
		return c.refuse(h.call, h.retry, e)
	}
	if reply == nil {
		return nil
	}
	out, err := c.out.begin()
	if err != nil {
		return err
	}
	head := responseHeader{call: idSasl, retry: noRetry}
	out.b = head.appendBytes(out.b, reply)
	c.out.finish(true, false)
	if c.agreed != nil { // the end of the negotiation is not wrapped
		c.protect(c.agreed)
		c.agreed = nil
	}
	return nil
}

// observeHandshake calls Observe.Handshake if the negotiation has ended.
func (c *Conn) observeHandshake(m *proto.RpcSaslProto, e *Error) {
	f := c.s.cfg.Observe.Handshake
	if f == nil || (e == nil && c.proven == nil) {
		return
	}
	method, outcome := KindToken, "OK"
	switch {
	case c.proven != nil:
		method = c.proven.Kind
	case len(m.GetAuths()) == 1 && m.GetAuths()[0].GetMethod() == KindKerberos || c.gss != nil || c.outcome != "":
		method = KindKerberos
	}
	switch {
	case e != nil && c.outcome != "":
		outcome = c.outcome
	case e != nil:
		outcome = lastName(e.Class)
	}
	f(method, outcome)
}

// protection returns the qualities of protection that the peer may choose.
func (c *Conn) protection() Protection {
	if f := c.s.cfg.Protection; f != nil {
		return f(c.peer.Addr())
	}
	return Authentication
}

// step processes one message of the negotiation and returns the answer. If it returns neither an
// answer nor an error, the client continues without an answer.
func (c *Conn) step(m *proto.RpcSaslProto) ([]byte, *Error) {
	if f := c.s.cfg.Standby; f != nil {
		if err := f(); err != nil {
			e := *standbyError(err)
			return nil, &e
		}
	}
	switch state := m.GetState(); state {
	case proto.RpcSaslProto_NEGOTIATE:
		if c.offered {
			return nil, Denied("the client has negotiated before")
		}
		return c.offer(), nil
	case proto.RpcSaslProto_INITIATE:
		return c.initiate(m)
	case proto.RpcSaslProto_RESPONSE:
		if c.gss != nil {
			return c.continueGSS(m)
		}
		return c.authenticate(m)
	case proto.RpcSaslProto_WRAP:
		return nil, &Error{Class: ClassSasl, Message: "this server does not wrap data", Detail: DetailFatalHeader}
	default:
		return nil, saslError("the client sent the unexpected state " + state.String())
	}
}

func saslError(message string) *Error { return &Error{Class: ClassSasl, Message: message} }

// offer returns the authentication that this port offers.
func (c *Conn) offer() []byte {
	c.offered = true
	auth := c.s.cfg.Auth
	if auth == AuthSimple {
		c.sasl = false
		return []byte{0x10, byte(proto.RpcSaslProto_SUCCESS)}
	}
	b := []byte{0x10, byte(proto.RpcSaslProto_NEGOTIATE)}
	if auth.token() {
		b = c.appendTokenOffer(b)
	}
	if auth.simple() {
		one := protowire.AppendString([]byte{0x0a}, KindSimple)
		one = append(one, 0x12, 0)
		b = protowire.AppendBytes(append(b, 0x22), one)
	}
	if auth.kerberos() {
		b = c.s.cfg.Kerberos.appendOffer(b)
	}
	return b
}

// appendTokenOffer appends the offer of TOKEN with its challenge.
func (c *Conn) appendTokenOffer(b []byte) []byte {
	c.proof = digest.NewServer(c.protection())
	one := protowire.AppendString([]byte{0x0a}, KindToken)
	one = protowire.AppendString(append(one, 0x12), mechanism)
	one = append(one, 0x1a, 0)
	one = protowire.AppendString(append(one, 0x22), "default")
	one = protowire.AppendBytes(append(one, 0x2a), c.proof.Challenge())
	return protowire.AppendBytes(append(b, 0x22), one)
}

// initiate handles the client's choice.
func (c *Conn) initiate(m *proto.RpcSaslProto) ([]byte, *Error) {
	if len(m.GetAuths()) != 1 {
		return nil, saslError("the client must name one mechanism")
	}
	auth := c.s.cfg.Auth
	method := m.GetAuths()[0].GetMethod()
	switch {
	case method == KindSimple && auth.simple():
		c.sasl = false
		return nil, nil
	case !c.offered:
		return c.offer(), nil
	case method == KindToken && auth.token():
		return c.authenticate(m)
	case method == KindKerberos && auth.kerberos():
		return c.acceptGSS(m)
	}
	return nil, Denied(notEnabled(clip([]byte(method)), auth))
}

// authenticate checks that the client knows the token's password, and returns the server's own
// proof.
func (c *Conn) authenticate(m *proto.RpcSaslProto) ([]byte, *Error) {
	if m.Token == nil {
		return nil, saslError("the client sent no token")
	}
	if c.proof == nil {
		return nil, saslError("the client answers a challenge that it was not given")
	}
	var who *Caller
	final, err := c.proof.Evaluate(m.GetToken(), func(user string) (string, error) {
		id, err := base64.StdEncoding.DecodeString(user)
		if err != nil {
			return "", InvalidToken("the token identifier is not base64")
		}
		name, password, err := c.password(id)
		if err != nil {
			return "", err
		}
		who = &Caller{User: name, Kind: KindToken, Identifier: id, Address: c.peer}
		return base64.StdEncoding.EncodeToString(password), nil
	})
	var e *Error
	switch {
	case err == nil:
		if l := c.proof.Layer(); l != nil {
			c.agreed = l
		}
		c.proven, c.proof = who, nil
		return protowire.AppendBytes([]byte{0x10, byte(proto.RpcSaslProto_SUCCESS), 0x1a}, final), nil
	case errors.As(err, &e):
		sent := *e
		return nil, &sent
	default:
		return nil, saslError(mechanism + ": " + err.Error())
	}
}

// pauseHandshake stops the time of the handshake until the function that it returns is called.
func (c *Conn) pauseHandshake() (goOn func()) {
	c.deadline.Store(0)
	return func() { c.deadline.Store(c.s.now() + int64(c.s.cfg.HandshakeTimeout)) }
}

// authorize asks Config.Authorize whether a caller may use a protocol. The answer holds until a call
// names another protocol.
func (c *Conn) authorize(caller *Caller, protocol string) *Error {
	f := c.s.cfg.Authorize
	if f == nil {
		return nil
	}
	if c.caller == nil {
		defer c.pauseHandshake()()
	}
	if err := f(caller, protocol); err != nil {
		return &Error{Class: classOr(err, ClassAuthorization), Message: textOf(err)}
	}
	c.allowed = protocol
	return nil
}

// password calls Config.Password. The time that it takes does not count against HandshakeTimeout.
func (c *Conn) password(id []byte) (string, []byte, error) {
	defer c.pauseHandshake()()
	name, password, err := c.s.cfg.Password(c.ctx, id)
	if err == nil {
		return name, password, nil
	}
	var e *Error
	if errors.As(err, &e) {
		return "", nil, e
	}
	if f := c.s.cfg.Translate; f != nil {
		if e = f(err); e != nil {
			return "", nil, e
		}
	}
	return "", nil, Standby(err.Error())
}

// introduce handles the connection context.
func (c *Conn) introduce(h *requestHeader, body []byte) error {
	if c.caller != nil {
		return c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassServer, "the connection context was sent before"))
	}
	if c.sasl && c.proven == nil {
		return c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassServer,
			"the connection context came before the end of the SASL negotiation"))
	}
	var m proto.IpcConnectionContextProto
	if err := readControl(body, &m); err != nil {
		return c.refuse(h.call, h.retry, fatal(DetailFatalRequest, ClassServer, "IpcConnectionContextProto: %v", err))
	}
	if err := c.checkNames(&m); err != nil {
		return c.refuse(h.call, h.retry, fatal(DetailFatalRequest, ClassServer, "the connection context is refused: %v", err))
	}
	caller, e := c.identify(m.GetUserInfo())
	if e == nil {
		if e = c.authorize(caller, m.GetProtocol()); e != nil {
			e.Fatal, e.Detail = true, DetailFatalAuthorized
		}
	}
	if e != nil {
		c.logRefusal("caller is not authorized", e)
		return c.refuse(h.call, h.retry, e)
	}
	c.caller = caller
	c.deadline.Store(c.s.now() + int64(c.s.cfg.FirstCallTimeout))
	return nil
}

// checkNames checks the names in a connection context.
func (c *Conn) checkNames(m *proto.IpcConnectionContextProto) error {
	u := m.GetUserInfo()
	for _, n := range []struct {
		what, name string
		user       bool
	}{{"effective user", u.GetEffectiveUser(), true}, {"real user", u.GetRealUser(), true},
		{"protocol", m.GetProtocol(), false}} {
		if len(n.name) > nameMax {
			return fmt.Errorf("the %s has %d bytes, at most %d are taken", n.what, len(n.name), nameMax)
		}
		if check := c.s.cfg.CheckUser; check != nil && n.user {
			if err := check(n.name); err != nil {
				return fmt.Errorf("the %s %w", n.what, err)
			}
		}
	}
	return nil
}

// identify returns the caller.
func (c *Conn) identify(u *proto.UserInformationProto) (*Caller, *Error) {
	user, realUser := u.GetEffectiveUser(), u.GetRealUser()
	switch {
	case c.proven == nil:
	case c.proven.Kind == KindKerberos:
		return c.actFor(user)
	case user != "" && user != c.proven.User:
		return nil, fatal(DetailFatalAuthorized, ClassAccessControl,
			"the token is that of %s, the client claims to be %s", c.proven.User, user)
	default:
		return c.proven, nil
	}
	if user == "" {
		return nil, fatal(DetailFatalAuthorized, ClassAccessControl, "the client does not say who it is")
	}
	if realUser == user {
		realUser = ""
	}
	if realUser != "" {
		if err := c.mayImpersonate(realUser, user); err != nil {
			return nil, fatal(DetailFatalAuthorized, classOr(err, ClassAuthorization), "%s", textOf(err))
		}
	}
	return &Caller{User: user, RealUser: realUser, Kind: KindSimple, Address: c.peer}, nil
}

func (c *Conn) mayImpersonate(realUser, user string) error {
	if f := c.s.cfg.MayImpersonate; f != nil {
		return f(realUser, user, c.peer.Addr())
	}
	return errors.New("User: " + realUser + " is not allowed to impersonate " + user)
}
