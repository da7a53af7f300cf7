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

// Client is the part of ApplicationClientProtocol that has a twin over HTTP
// (client.Service), so that both refuse and accept alike.
type Client interface {
	GetNewApplication(context.Context, *ipc.Call, *proto.GetNewApplicationRequestProto) (*proto.GetNewApplicationResponseProto, error)
	SubmitApplication(context.Context, *ipc.Call, *proto.SubmitApplicationRequestProto) error
	ForceKillApplication(context.Context, *ipc.Call, *proto.KillApplicationRequestProto) (*proto.KillApplicationResponseProto, error)
	MoveApplicationAcrossQueues(context.Context, *ipc.Call, *proto.MoveApplicationAcrossQueuesRequestProto) (*proto.MoveApplicationAcrossQueuesResponseProto, error)
	UpdateApplicationPriority(context.Context, *ipc.Call, *proto.UpdateApplicationPriorityRequestProto) (*proto.UpdateApplicationPriorityResponseProto, error)
	UpdateApplicationTimeouts(context.Context, *ipc.Call, *proto.UpdateApplicationTimeoutsRequestProto) (*proto.UpdateApplicationTimeoutsResponseProto, error)
}

// ServiceConfig is what a Service needs.
type ServiceConfig struct {
	Logger hclog.Logger
	Reader frontend.Reader
	Client Client
	Admin  Admin
	// Own says whether an address is one at which this replica itself listens;
	// the proxy does not fetch from there. Nil knows none.
	Own func(netip.AddrPort) bool
	// Allow are the networks that ApplicationMasters' pages are fetched from; none
	// allows all.
	Allow []netip.Prefix
	// Bound limits the connections with ApplicationMasters; nil does not.
	Bound func(Dial) Dial
}

// Dial opens a connection.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Service answers /proxy/ and the writes of /ws/v1/cluster.
type Service struct {
	cfg       ServiceConfig
	transport *http.Transport
}

// NewService returns a service.
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

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, ProxyPath) {
		s.serveProxy(w, r)
		return
	}
	s.serveWrite(w, r)
}

// Close ends idle connections to ApplicationMasters.
func (s *Service) Close() { s.transport.CloseIdleConnections() }
