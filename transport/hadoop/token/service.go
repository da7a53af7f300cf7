package token

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"rmd/yarn"
)

// servicesMax limits the cached hosts.
const servicesMax = 65536

// Services returns the service field of tokens for nodes: ip:port, or host:port in lower case with
// hadoop.security.token.service.use_ip=false. Of never resolves a name, so that no call waits for a
// name server. Learn resolves a name when a node registers. For a host that is not known, the
// service has the host name; clients set the service again from the address that they dial.
type Services struct {
	useIP  bool
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	known map[string]string
}

// NewServices returns Services. If lookup is nil, the system's resolver is used.
func NewServices(useIP bool, lookup func(ctx context.Context, host string) ([]netip.Addr, error)) *Services {
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return &Services{useIP: useIP, lookup: lookup, known: make(map[string]string)}
}

// Of returns the service of a node.
func (s *Services) Of(node yarn.NodeID) string {
	return s.host(node.Host) + ":" + strconv.Itoa(int(node.Port))
}

func (s *Services) host(host string) string {
	if !s.useIP {
		return strings.ToLower(host)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ip, ok := s.known[host]; ok {
		return ip
	}
	return strings.ToLower(host)
}

// Learn resolves a host's address, preferring IPv4, and caches it.
func (s *Services) Learn(ctx context.Context, host string) error {
	if _, err := netip.ParseAddr(host); err == nil || !s.useIP {
		return nil
	}
	addrs, err := s.lookup(ctx, host)
	if err != nil || len(addrs) == 0 {
		return err
	}
	best := addrs[0].Unmap()
	for _, a := range addrs {
		if a = a.Unmap(); a.Is4() {
			best = a
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= servicesMax {
		clear(s.known)
	}
	s.known[host] = best.WithZone("").String()
	return nil
}
