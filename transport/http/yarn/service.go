package yarnweb

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/frontend"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// Client has the calls of ApplicationClientProtocol that are also available over HTTP.
// client.Service implements it, so that both ways have the same rules.
type Client interface {
	GetNewApplication(context.Context, *ipc.Call,
		*proto.GetNewApplicationRequestProto) (*proto.GetNewApplicationResponseProto, error)
	SubmitApplication(context.Context, *ipc.Call, *proto.SubmitApplicationRequestProto) error
	ForceKillApplication(context.Context, *ipc.Call,
		*proto.KillApplicationRequestProto) (*proto.KillApplicationResponseProto, error)
	MoveApplicationAcrossQueues(context.Context, *ipc.Call,
		*proto.MoveApplicationAcrossQueuesRequestProto) (*proto.MoveApplicationAcrossQueuesResponseProto, error)
	UpdateApplicationPriority(context.Context, *ipc.Call,
		*proto.UpdateApplicationPriorityRequestProto) (*proto.UpdateApplicationPriorityResponseProto, error)
	GetDelegationToken(context.Context, *ipc.Call,
		*proto.GetDelegationTokenRequestProto) (*proto.GetDelegationTokenResponseProto, error)
	RenewDelegationToken(context.Context, *ipc.Call,
		*proto.RenewDelegationTokenRequestProto) (*proto.RenewDelegationTokenResponseProto, error)
	CancelDelegationToken(context.Context, *ipc.Call,
		*proto.CancelDelegationTokenRequestProto) (*proto.CancelDelegationTokenResponseProto, error)
	UpdateApplicationTimeouts(context.Context, *ipc.Call,
		*proto.UpdateApplicationTimeoutsRequestProto) (*proto.UpdateApplicationTimeoutsResponseProto, error)
}

// ServiceConfig configures a Service.
type ServiceConfig struct {
	Logger hclog.Logger
	Reader frontend.Reader
	Client Client
	Admin  Admin
	// Own reports whether this replica itself listens at an address. The proxy does not fetch from
	// such an address. If it is nil, there are none.
	Own func(netip.AddrPort) bool
	// Allow lists the networks from which the proxy fetches pages of ApplicationMasters. If it is
	// empty, all networks are allowed.
	Allow []netip.Prefix
	// Bound limits the connections to ApplicationMasters. If it is nil, there is no limit.
	Bound func(Dial) Dial
}

type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Service serves /proxy/ and the writes of /ws/v1/cluster.
type Service struct {
	cfg       ServiceConfig
	transport *http.Transport
}

func NewService(cfg ServiceConfig) (*Service, error) {
	if cfg.Logger == nil || cfg.Reader == nil || cfg.Client == nil || cfg.Admin == nil {
		return nil, errors.New("logger, reader, client and admin are required")
	}
	t := newTransport(cfg.mayFetch)
	if cfg.Bound != nil {
		t.DialContext = cfg.Bound(t.DialContext)
	}
	return &Service{cfg: cfg, transport: t}, nil
}

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, ProxyPath) {
		s.serveProxy(w, r)
		return
	}
	s.serveWrite(w, r)
}

// Close closes idle connections to ApplicationMasters.
func (s *Service) Close() { s.transport.CloseIdleConnections() }
