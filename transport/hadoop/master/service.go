package master

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/token"
)

// protocolName is the protocol's name in request headers.
const protocolName = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// Service answers the protocol. Its methods may be called by many at once.
type Service struct {
	cfg      Config
	log      hclog.Logger
	attempts attemptCache
	nodes    nodeLog
	// signers are those of the keys in use, so that a token costs one HMAC.
	signers struct{ container signing }
	// buffers are the pages of answers.
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

// Protocol is what the scheduler port serves.
func (s *Service) Protocol() ipc.Protocol {
	return ipc.Protocol{Name: protocolName, Version: 1, Methods: map[string]ipc.Method{
		"registerApplicationMaster": ipc.Handle(s.register),
		"allocate":                  ipc.HandleBytes(s.allocate),
		"finishApplicationMaster":   ipc.Handle(s.finish),
	}}
}

// Password finds the attempt that an AM's token names, as a user, and the
// password of the token. A replica that does not know the key or the attempt
// catches up with the leader before it says so: InvalidToken makes an AM stop.
//
// An AM whose attempt is over is let in, where YARN has its token forgotten: it
// then hears from allocate that it is over, and ends in order, and one that
// repeats finishApplicationMaster hears that it has finished.
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

// callerKey is where a connection keeps whose it is.
type callerKey struct{}

// caller is the attempt that a call comes from, by its token alone: what the
// message says is not asked.
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

// do has an input planned and applied here.
func (s *Service) do(ctx context.Context, in input.Input) (input.Reply, *input.Fault, error) {
	reply, _, err := s.cfg.Submitter.Do(ctx, input.Request{Input: in})
	if err != nil {
		return nil, nil, unavailable(err)
	}
	return reply, reply.Refused(), nil
}
