package master

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
)

// protocolName is the protocol's name in request headers.
const protocolName = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// Service implements the protocol. Its methods may be called concurrently.
type Service struct {
	cfg      Config
	log      hclog.Logger
	attempts attemptCache
	nodes    nodeLog
	// signers sign with the present keys, so that a token costs one HMAC.
	signers struct{ container signing }
	// buffers is a pool of pages.
	buffers sync.Pool
}

// New returns a service.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Services == nil {
		cfg.Services = token.NewServices(true, nil)
	}
	s := &Service{cfg: cfg, log: cfg.Logger}
	s.attempts.init(cfg.MaxAttempts, cfg.ForgetAfter)
	s.nodes.limit = cfg.MaxNodeChanges
	s.buffers.New = func() any { return new(pages) }
	return s, nil
}

// Protocol returns the protocol with its methods.
func (s *Service) Protocol() ipc.Protocol {
	return ipc.Protocol{Name: protocolName, Version: 1, Methods: map[string]ipc.Method{
		"registerApplicationMaster": ipc.Handle(s.register),
		"allocate":                  ipc.HandleBytes(new(proto.AllocateRequestProto), s.allocate),
		"finishApplicationMaster":   ipc.Handle(s.finish),
	}}
}

// Password returns the attempt of an AM token, as a user, and the token's password. A replica that
// does not know the key or the attempt first catches up with the leader, because InvalidToken makes
// an AM stop.
//
// An AM whose attempt has ended is authenticated, although YARN forgets its token. allocate then
// tells it that it has ended, so that it stops in order. An AM that repeats finishApplicationMaster
// learns that it has finished.
func (s *Service) Password(ctx context.Context, identifier []byte) (user string, password []byte, err error) {
	at, password, err := token.AMRMPassword(s.cfg.Reader.Fork(), identifier)
	if token.Behind(err) {
		if err := s.cfg.Reader.Current(ctx); err != nil {
			return "", nil, unavailable(err)
		}
		at, password, err = token.AMRMPassword(s.cfg.Reader.Fork(), identifier)
	}
	if err != nil && !errors.Is(err, token.ErrOver) {
		return "", nil, invalidToken(at, err)
	}
	return at.String(), password, nil
}

// callerKey is the key for the caller in a connection's values.
type callerKey struct{}

// caller returns the attempt of a call, from its token. The message's contents do not matter.
func caller(c *ipc.Call) (token.AMRM, error) {
	if c.Conn != nil {
		if who, ok := c.Conn.Value(callerKey{}).(*token.AMRM); ok {
			return *who, nil
		}
	}
	if c.Caller == nil || c.Caller.Kind != ipc.KindToken {
		user := ""
		if c.Caller != nil {
			user = c.Caller.User
		}
		return token.AMRM{}, refusal(ipc.ClassYarn, "No AMRMToken found for user %s", user)
	}
	who, err := token.ParseAMRM(c.Caller.Identifier)
	if err != nil {
		return token.AMRM{}, refusal(ipc.ClassYarn, "The caller's AMRMToken: %v", err)
	}
	if c.Conn != nil {
		c.Conn.SetValue(callerKey{}, &who)
	}
	return who, nil
}

// do plans an input. When it returns, this replica has applied the result.
func (s *Service) do(ctx context.Context, in input.Input) (input.Reply, *input.Refusal, error) {
	reply, _, err := s.cfg.Submitter.Do(ctx, input.Request{Input: in})
	if err != nil {
		return nil, nil, unavailable(err)
	}
	return reply, reply.Refused(), nil
}
