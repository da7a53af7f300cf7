package hadoop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/gss"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// Port is the configuration of one port. Password is required for ports that accept tokens.
type Port struct {
	Protocols []ipc.Protocol
	Password  func(ctx context.Context, identifier []byte) (user string, password []byte, err error)
}

// Config is the configuration of the four ports.
type Config struct {
	Logger    hclog.Logger
	Addresses Addresses
	// Client, Scheduler, Tracker and Admin are YARN's four ports.
	Client, Scheduler, Tracker, Admin Port
	// MayImpersonate returns an error if the user real may not act for the user effective.
	MayImpersonate func(real, effective string, ip netip.Addr) error
	// Authorize returns an error if a caller may not use a protocol. It may be nil.
	Authorize func(c *ipc.Caller, protocol string) error
	// Standby may return an error. Every port except the admin port then refuses calls as a YARN
	// standby does.
	Standby func() error
	// Security says how callers are authenticated.
	Security Security
	// Observe is called for calls and connections.
	Observe ipc.Observe
	// FrameMax limits a request, in bytes (ipc.maximum.data.length). 0 means the default.
	FrameMax int
	// ConnsMax limits the connections of each port, and ConnsPerAddressMax those of one client
	// address. 0 means the default.
	ConnsMax, ConnsPerAddressMax int
	// Bound wraps a listener to limit the connections of all ports together. It may be nil.
	Bound func(port string, l net.Listener) net.Listener
}

// closeGrace is how long calls in flight may take when the ports are closed. A caller whose
// connection is closed uses another replica.
const closeGrace = 300 * time.Millisecond

// ticketFrameMax limits a frame before the caller is authenticated, in bytes, where tickets are
// taken. Those of Active Directory may contain a long list of groups.
const ticketFrameMax = gss.TokenMax + 4<<10

// Ports is the four open ports.
type Ports struct {
	servers []*ipc.Server
	names   []string // of the servers
}

// Open opens the four ports. If one cannot be opened, it closes the others.
func Open(cfg Config) (*Ports, error) {
	f := &Ports{}
	for i, p := range []struct { // in the order of ports
		name string
		at   Address
		auth ipc.Auth
		port Port
	}{
		{"client", cfg.Addresses.Client, ipc.AuthTokenSimple, cfg.Client},
		{"scheduler", cfg.Addresses.Scheduler, ipc.AuthToken, cfg.Scheduler},
		{"tracker", cfg.Addresses.Tracker, ipc.AuthSimple, cfg.Tracker},
		{"admin", cfg.Addresses.Admin, ipc.AuthSimple, cfg.Admin},
	} {
		c := ipc.DefaultConfig()
		c.Logger, c.Name, c.Listen = cfg.Logger.Named(p.name), p.name, p.at.Listen
		c.Auth, c.Protocols, c.Password = cfg.Security.auth(p.auth), p.port.Protocols, p.port.Password
		c.Kerberos, c.Protection = cfg.Security.Kerberos, cfg.Security.at(p.at.Listen)
		if c.Kerberos != nil {
			c.HandshakeFrameMax = ticketFrameMax
		}
		c.MayImpersonate, c.Observe, c.Translate = cfg.MayImpersonate, cfg.Observe, translate
		c.CheckUser, c.Authorize = yarn.CheckUser, cfg.Authorize
		c.CloseGrace = closeGrace
		if cfg.ConnsMax > 0 {
			c.ConnsMax = cfg.ConnsMax
		}
		c.ConnsPerAddressMax = cfg.ConnsPerAddressMax
		if cfg.FrameMax > 0 {
			c.FrameMax = cfg.FrameMax
			c.LargeFramesMax = max(c.LargeFramesMax, 2*cfg.FrameMax)
			c.LargeRequestsMax = max(c.LargeRequestsMax, cfg.FrameMax)
		}
		if p.name != "admin" {
			c.Standby = cfg.Standby
		}
		s, err := openPort(c, cfg.Bound)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", ports[i].key, err), f.Close())
		}
		f.servers, f.names = append(f.servers, s), append(f.names, p.name)
	}
	return f, nil
}

// openPort opens one port. On an error, it closes what it has opened.
func openPort(c ipc.Config, bound func(string, net.Listener) net.Listener) (*ipc.Server, error) {
	if bound == nil {
		return ipc.Open(c)
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	c.Listener = bound(c.Name, l)
	s, err := ipc.Open(c)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

// Addrs returns the addresses of the client, scheduler, tracker and admin port, in this order.
func (f *Ports) Addrs() []net.Addr {
	out := make([]net.Addr, len(f.servers))
	for i, s := range f.servers {
		out[i] = s.Addr()
	}
	return out
}

// Names returns the names of the open ports, in the order of Addrs.
func (f *Ports) Names() []string { return slices.Clone(f.names) }

// Close closes all ports. Calls in flight may take closeGrace to finish.
func (f *Ports) Close() error {
	errs := make([]error, len(f.servers))
	var wg sync.WaitGroup
	for i, s := range f.servers {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// standbyCodes are the codes of the forwarder's errors after which another replica, or this one
// later, may answer.
var standbyCodes = map[string]bool{"STANDBY": true, "NO_LEADER": true, "NOT_LEADER": true, "BUSY": true,
	"UNKNOWN_OUTCOME": true}

// translate converts an error of the forwarder to an exception on which Hadoop's clients fail over.
// It returns nil for other errors.
func translate(err error) *ipc.Error {
	var coded interface{ ErrorCode() string }
	switch {
	case errors.As(err, &coded) && standbyCodes[coded.ErrorCode()],
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ipc.Standby(err.Error())
	}
	return nil
}
