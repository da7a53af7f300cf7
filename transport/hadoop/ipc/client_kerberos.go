package ipc

import (
	"fmt"
	"time"

	"rmd/internal/gss"
	"rmd/transport/hadoop/proto"
)

// showTicket authenticates the caller by a ticket, and the server by its reply. Then both agree on
// a quality of protection (RFC 4752).
func (cc *ClientConn) showTicket(offer *proto.RpcSaslProto, to Target) error {
	auth, _, err := choose(offer, KindKerberos, gssMechanism)
	if err != nil {
		return err
	}
	ticket, err := to.Ticket(auth.GetProtocol(), auth.GetServerId())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAuth, err)
	}
	i, token, err := gss.Initiate(ticket, time.Now())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAuth, err)
	}
	if err := cc.initiate(auth, token); err != nil {
		return err
	}
	reply, err := cc.challenge()
	if err != nil {
		return err
	}
	ctx, err := i.Finish(reply)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAuth, err)
	}
	if err := cc.respond([]byte{}); err != nil {
		return err
	}
	layers, err := cc.challenge()
	if err != nil {
		return err
	}
	return cc.chooseLayer(ctx, layers)
}

// chooseLayer takes the strongest quality of protection that both sides have.
func (cc *ClientConn) chooseLayer(ctx *gss.Context, offer []byte) error {
	layers, _, err := ctx.Unwrap(offer)
	if err != nil || len(layers) < 4 {
		return fmt.Errorf("%w: the server's offer of protection: %v", ErrAuth, err)
	}
	var chosen Protection
	for _, p := range []Protection{Authentication, Integrity, Privacy} {
		if p&cc.cl.cfg.Protection&Protection(layers[0]) != 0 {
			chosen = p
		}
	}
	if chosen == 0 {
		return fmt.Errorf("%w: the server offers protection %q, and %q is wanted", ErrAuth, Protection(layers[0]),
			cc.cl.cfg.Protection)
	}
	if err := cc.respond(ctx.Wrap(nil, []byte{byte(chosen), 0xff, 0xff, 0xff}, false)); err != nil {
		return err
	}
	cc.out.flush()
	final, err := cc.saslReply()
	if err != nil {
		return err
	}
	if final.GetState() != proto.RpcSaslProto_SUCCESS {
		return fmt.Errorf("%w: the server answers the choice with %s", ErrAuth, final.GetState())
	}
	if chosen != Authentication {
		cc.protect(gssLayer{ctx, chosen == Privacy})
	}
	return nil
}

// challenge sends what was appended and returns the token of the server's challenge.
func (cc *ClientConn) challenge() ([]byte, error) {
	cc.out.flush()
	m, err := cc.saslReply()
	if err != nil {
		return nil, err
	}
	if m.GetState() != proto.RpcSaslProto_CHALLENGE {
		return nil, fmt.Errorf("%w: the server answers with %s", ErrAuth, m.GetState())
	}
	return m.GetToken(), nil
}

// respond appends a response.
func (cc *ClientConn) respond(token []byte) error {
	return cc.appendControl(idSasl, "", saslMessage(proto.RpcSaslProto_RESPONSE, token))
}
