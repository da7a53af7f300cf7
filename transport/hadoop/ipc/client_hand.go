package ipc

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	protobuf "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token/digest"
)

// replyHeader is Hadoop's RpcResponseHeaderProto. Its byte slices share the memory of the frame.
type replyHeader struct {
	call                   int32
	status, detail         int32
	class, message, client []byte
}

// read parses the header.
func (h *replyHeader) read(b []byte) error {
	var seen uint8
	err := fields(b, func(n protowire.Number, t protowire.Type, v uint64, data []byte) {
		switch {
		case n == 1 && t == protowire.VarintType:
			h.call = int32(v)
			seen |= 1
		case n == 2 && t == protowire.VarintType && v <= statusFatal:
			h.status = int32(v)
			seen |= 2
		case n == 4 && t == protowire.BytesType:
			h.class = data
		case n == 5 && t == protowire.BytesType:
			h.message = data
		case n == 6 && t == protowire.VarintType:
			h.detail = int32(v)
		case n == 7 && t == protowire.BytesType:
			h.client = data
		}
	})
	if err == nil && seen != 3 {
		err = fmt.Errorf("call id or status is missing: %w", ErrFrame)
	}
	return err
}

// remote returns the error in the header.
func (h *replyHeader) remote() *RemoteError {
	return &RemoteError{Class: string(h.class), Message: string(h.message), Fatal: h.status == statusFatal,
		Detail: h.detail}
}

// shakeHands sends the preamble, negotiates if the target has a token or Sasl is set, and sends the
// connection context. The context is sent together with the first call.
func (cc *ClientConn) shakeHands(to Target) error {
	out, err := cc.out.begin()
	if err != nil {
		return err
	}
	if to.Token == nil && to.Ticket == nil && !to.Sasl {
		out.b = append(append(out.b, preamble...), authNone)
		cc.out.finish(false, false)
		return cc.introduce(to)
	}
	out.b = append(append(out.b, preamble...), authSasl)
	out.b = appendControl(out.b, idSasl, "", []byte{0x10, byte(proto.RpcSaslProto_NEGOTIATE)})
	cc.out.finish(true, false)
	offer, err := cc.saslReply()
	if err != nil {
		return err
	}
	switch {
	case offer.GetState() == proto.RpcSaslProto_SUCCESS && to.Token == nil && to.Ticket == nil:
		return cc.introduce(to)
	case offer.GetState() == proto.RpcSaslProto_SUCCESS && to.Token != nil:
		return fmt.Errorf("%w: the server takes no tokens", ErrAuth)
	case offer.GetState() == proto.RpcSaslProto_SUCCESS:
		return fmt.Errorf("%w: the server takes no tickets", ErrAuth)
	case offer.GetState() != proto.RpcSaslProto_NEGOTIATE:
		return fmt.Errorf("%w: the server answers the negotiation with %s", ErrAuth, offer.GetState())
	case to.Ticket != nil:
		if err := cc.showTicket(offer, to); err != nil {
			return err
		}
		return cc.introduce(to)
	case to.Token == nil:
		return cc.goSimple(offer, to)
	}
	if err := cc.prove(offer, to.Token); err != nil {
		return err
	}
	return cc.introduce(Target{Protocol: to.Protocol})
}

// choose returns the first offered mechanism with the given method and name. The client must return
// the offer unchanged, except for the challenge, because Java servers compare it.
func choose(offer *proto.RpcSaslProto, method, mechanism string) (*proto.RpcSaslProto_SaslAuth, []byte, error) {
	for _, a := range offer.GetAuths() {
		if a.GetMethod() == method && a.GetMechanism() == mechanism {
			challenge := a.GetChallenge()
			a.Challenge = nil
			return a, challenge, nil
		}
	}
	return nil, nil, fmt.Errorf("%w: the server does not offer %s", ErrAuth, method)
}

// goSimple selects SIMPLE in the negotiation. The server does not answer.
func (cc *ClientConn) goSimple(offer *proto.RpcSaslProto, to Target) error {
	auth, _, err := choose(offer, KindSimple, "")
	if err != nil {
		return err
	}
	if err := cc.initiate(auth, nil); err != nil {
		return err
	}
	return cc.introduce(to)
}

// prove shows the server that the caller knows the token's password, and checks that the server
// knows it too.
func (cc *ClientConn) prove(offer *proto.RpcSaslProto, token *Token) error {
	auth, challenge, err := choose(offer, KindToken, mechanism)
	if err != nil {
		return err
	}
	d := digest.NewClient(base64.StdEncoding.EncodeToString(token.Identifier),
		base64.StdEncoding.EncodeToString(token.Password), cc.cl.cfg.Protection)
	answer, err := d.Answer(challenge)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAuth, err)
	}
	if err := cc.initiate(auth, answer); err != nil {
		return err
	}
	cc.out.flush()
	final, err := cc.saslReply()
	if err != nil {
		return err
	}
	if final.GetState() != proto.RpcSaslProto_SUCCESS {
		return fmt.Errorf("%w: the server answers the proof with %s", ErrAuth, final.GetState())
	}
	if err := d.Verify(final.GetToken()); err != nil {
		return fmt.Errorf("%w: the server's proof: %w", ErrAuth, err)
	}
	if l := d.Layer(); l != nil {
		cc.protect(l)
	}
	return nil
}

// initiate sends the chosen mechanism. It is sent together with what follows it.
func (cc *ClientConn) initiate(auth *proto.RpcSaslProto_SaslAuth, token []byte) error {
	one, err := protobuf.Marshal(auth)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAuth, err)
	}
	b := []byte{0x10, byte(proto.RpcSaslProto_INITIATE)}
	if token != nil {
		b = protowire.AppendBytes(append(b, 0x1a), token)
	}
	b = protowire.AppendBytes(append(b, 0x22), one)
	return cc.appendControl(idSasl, "", b)
}

// introduce sends the connection context with the target's user.
func (cc *ClientConn) introduce(to Target) error {
	var user []byte
	if to.User != "" {
		user = protowire.AppendString([]byte{0x0a}, to.User)
	}
	if to.RealUser != "" {
		user = protowire.AppendString(append(user, 0x12), to.RealUser)
	}
	b := protowire.AppendBytes([]byte{0x12}, user)
	b = protowire.AppendString(append(b, 0x1a), to.Protocol)
	return cc.appendControl(idContext, cc.cl.id, b)
}

func (cc *ClientConn) appendControl(call int32, client string, message []byte) error {
	out, err := cc.out.begin()
	if err != nil {
		return err
	}
	out.b = appendControl(out.b, call, client, message)
	cc.out.finish(false, false)
	return nil
}

// appendControl appends the frame of a control message.
func appendControl(b []byte, call int32, client string, message []byte) []byte {
	from := len(b)
	b = append(b, 0, 0, 0, 0)
	b = appendRequestHeader(b, call, client, noRetry)
	b = protowire.AppendBytes(b, message)
	binary.BigEndian.PutUint32(b[from:], uint32(len(b)-from-4))
	return b
}

// saslReply reads one message of the negotiation.
func (cc *ClientConn) saslReply() (*proto.RpcSaslProto, error) {
	frame, err := cc.in.next(cc.cl.cfg.FrameMax)
	if err != nil {
		return nil, err
	}
	head, rest, err := cut(frame)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	var h replyHeader
	if err := h.read(head); err != nil {
		return nil, err
	}
	if h.status != statusSuccess {
		return nil, h.remote()
	}
	body, _, err := cut(rest)
	if err != nil || h.call != idSasl {
		return nil, fmt.Errorf("%w: call %d in place of a SASL message", ErrFrame, h.call)
	}
	var m proto.RpcSaslProto
	if err := readReply(body, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return &m, nil
}
