package client

import (
	"context"
	"errors"
	"fmt"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
)

// GetDelegationToken issues a delegation token to the caller. Its service is empty; the client sets it to
// the addresses that it knows.
func (s *Service) GetDelegationToken(ctx context.Context, c *ipc.Call,
	req *proto.GetDelegationTokenRequestProto) (*proto.GetDelegationTokenResponseProto, error) {
	if err := s.needTicket(c, "issued"); err != nil {
		return nil, err
	}
	renewer, err := s.renewer(req.GetRenewer())
	if err != nil {
		return nil, wrapException("java.io.IOException", "the renewer: %v", err)
	}
	in := &input.IssueDelegationToken{Owner: c.Caller.User, Renewer: renewer, RealUser: c.Caller.RealUser}
	if in.Owner == "" {
		return nil, wrapException("java.io.IOException", "a delegation token needs an owner: the call has no user")
	}
	reply, err := s.do(ctx, c, in)
	if err != nil {
		return nil, err
	}
	if f := reply.Refused(); f != nil {
		return nil, refusal(f)
	}
	r, ok := reply.(*input.IssueDelegationTokenReply)
	if !ok {
		return nil, yarnException("the leader answered with %T", reply)
	}
	t, err := token.NewRing(s.cfg.Reader.Fork()).DelegationToken(token.Delegation{
		Owner: in.Owner, Renewer: in.Renewer, RealUser: in.RealUser,
		IssuedMillis: r.IssueMillis, MaxMillis: r.MaxMillis, Sequence: r.Sequence, KeyID: r.KeyID,
	}, "")
	if err != nil {
		return nil, wrapException("java.io.IOException", "%v", err)
	}
	return &proto.GetDelegationTokenResponseProto{Token: t}, nil
}

// needTicket refuses callers without a ticket where there are tickets: a token must not make
// another token.
func (s *Service) needTicket(c *ipc.Call, done string) error {
	if s.cfg.ShortName == nil || c.Caller.Kind == ipc.KindKerberos {
		return nil
	}
	return wrapException("java.io.IOException", "Delegation Token can be %s only with kerberos authentication", done)
}

// renewer returns the user of a token's renewer, which may be a principal.
func (s *Service) renewer(name string) (string, error) {
	if s.cfg.ShortName == nil || name == "" {
		return shortName(name), nil
	}
	return s.cfg.ShortName(name)
}

// RenewDelegationToken extends a token, for its renewer, and returns its new end.
func (s *Service) RenewDelegationToken(ctx context.Context, c *ipc.Call,
	req *proto.RenewDelegationTokenRequestProto) (*proto.RenewDelegationTokenResponseProto, error) {
	if err := s.needTicket(c, "renewed"); err != nil {
		return nil, err
	}
	d, err := s.genuine(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	by := s.userOf(c.Caller)
	switch {
	case d.Renewer == "":
		return nil, denied("%s tried to renew a token %s without a renewer", by, tokenText(d))
	case d.Renewer != by:
		return nil, denied("%s tries to renew a token %s with non-matching renewer %s", by, tokenText(d), d.Renewer)
	}
	reply, err := s.do(ctx, c, &input.RenewDelegationToken{Sequence: d.Sequence, By: by})
	if err != nil {
		return nil, err
	}
	if f := reply.Refused(); f != nil {
		return nil, refusal(f)
	}
	r, ok := reply.(*input.RenewDelegationTokenReply)
	if !ok {
		return nil, yarnException("the leader answered with %T", reply)
	}
	return &proto.RenewDelegationTokenResponseProto{NewExpiryTime: new(uint64(r.ExpiresMillis))}, nil
}

// CancelDelegationToken ends a token, for its owner or its renewer.
func (s *Service) CancelDelegationToken(ctx context.Context, c *ipc.Call,
	req *proto.CancelDelegationTokenRequestProto) (*proto.CancelDelegationTokenResponseProto, error) {
	if err := s.needTicket(c, "cancelled"); err != nil {
		return nil, err
	}
	d, err := s.genuine(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	by := c.Caller.User
	if by != d.Owner {
		if by = s.userOf(c.Caller); by != d.Renewer || d.Renewer == "" {
			return nil, denied("%s is not authorized to cancel the token %s", c.Caller.User, tokenText(d))
		}
	}
	f, err := s.change(ctx, c, &input.CancelDelegationToken{Sequence: d.Sequence, By: by})
	if err != nil {
		return nil, err
	}
	if f != nil {
		return nil, refusal(f)
	}
	return &proto.CancelDelegationTokenResponseProto{}, nil
}

// genuine checks a token in a message. As in YARN, the error for an invalid token is a
// YarnException with InvalidToken in its text.
func (s *Service) genuine(ctx context.Context, p *proto.TokenProto) (token.Delegation, error) {
	d, err := caughtUp(ctx, s, func(st *state.State) (token.Delegation, error) {
		return token.VerifyDelegation(st, p, s.cfg.Now().UnixMilli())
	})
	var e *ipc.Error
	if err != nil && !errors.As(err, &e) {
		err = wrapException(ipc.ClassInvalidToken, "%v", err)
	}
	return d, err
}

// Password returns the user and the password of the delegation token with an identifier. It is
// ipc.Config.Password of the client port.
func (s *Service) Password(ctx context.Context, identifier []byte) (user string, password []byte, err error) {
	type found struct {
		owner    string
		password []byte
	}
	f, err := caughtUp(ctx, s, func(st *state.State) (found, error) {
		d, password, err := token.DelegationPassword(st, identifier, s.cfg.Now().UnixMilli())
		return found{d.Owner, password}, err
	})
	var e *ipc.Error
	switch {
	case errors.As(err, &e):
		return "", nil, e
	case err != nil:
		return "", nil, ipc.InvalidToken(err.Error())
	case f.owner == "":
		return "", nil, ipc.InvalidToken("token has no owner")
	}
	return f.owner, f.password, nil
}

// caughtUp calls look with this replica's state. If look fails because the replica may lag,
// caughtUp calls it again with a newer state, because an InvalidToken ends a client's retries.
func caughtUp[T any](ctx context.Context, s *Service, look func(*state.State) (T, error)) (T, error) {
	out, err := look(s.cfg.Reader.Fork())
	if !token.Behind(err) {
		return out, err
	}
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return out, elsewhere(err)
	}
	return look(s.cfg.Reader.Fork())
}

// tokenText describes a token without its secret, as YARN does.
func tokenText(d token.Delegation) string {
	return fmt.Sprintf(
		"(%s owner=%s, renewer=%s, realUser=%s, issueDate=%d, maxDate=%d, sequenceNumber=%d, masterKeyId=%d)",
		token.KindDelegation, d.Owner, d.Renewer, d.RealUser, d.IssuedMillis, d.MaxMillis, d.Sequence, d.KeyID)
}
