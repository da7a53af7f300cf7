package rest

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"rmd/transport/rest/api"
)

// checkHost refuses a Host header that is a name nobody gave this server: a
// page of another site whose name was pointed here (DNS rebinding). Plain
// addresses cannot be re-pointed.
func (s *Server) checkHost(r *http.Request) error {
	if s.hosts["*"] {
		return nil
	}
	host := strings.ToLower(hostOf(r.Host))
	if host == "" || host == "localhost" || s.hosts[host] || s.hosts[strings.ToLower(r.Host)] {
		return nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	return problem(api.CodeHostNotAllowed, "this server does not answer for the host name "+host, "add it to the names in the configuration, or use its address")
}

// hostOf cuts the port and the brackets off.
func hostOf(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return strings.Trim(hostport, "[]")
}

// AdmitLocal is the admission without authentication. Reads are for everyone.
// Writes need TLS or a loopback connection: plain HTTP on a public address
// serves reads only. The binary door, which may speak for nodes, needs a client
// certificate or a loopback peer.
func AdmitLocal(r *http.Request, class Class) error {
	certified := r.TLS != nil && len(r.TLS.VerifiedChains) > 0
	switch {
	case class == ClassRead || certified:
		return nil
	case class == ClassInputs:
		if loopback(r.RemoteAddr) {
			return nil
		}
		return problem(api.CodeNotAllowed, "this door speaks for nodes and is for programs on this machine", "connect from loopback, or with a client certificate of the cluster")
	case r.TLS != nil || loopback(localAddress(r)):
		return nil
	}
	return problem(api.CodeNotAllowed, "plain HTTP on a public address serves reads only", "use HTTPS (port 8090), or connect over loopback")
}

// localAddress is the address a request came in at; the peer's where the server
// is not ours.
func localAddress(r *http.Request) string {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return a.String()
	}
	return r.RemoteAddr
}

func loopback(hostport string) bool {
	a, err := netip.ParseAddr(hostOf(hostport))
	return err == nil && a.Unmap().IsLoopback()
}
