package auth

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"rmd/api"
	"rmd/internal/share"
	"rmd/transport/http/problem"
)

// Class says whether a request reads or writes.
type Class uint8

// Classes of requests.
const (
	ClassRead  Class = 1 + iota
	ClassWrite       // changes the state or the membership
)

// CheckHost refuses a Host header with a name that is not configured for this server. Such a
// request can come from a page of another site whose name points to this address (DNS rebinding).
// Plain addresses are safe, because nobody can make them point elsewhere.
func (g *Guard) CheckHost(r *http.Request) error {
	if g.hosts["*"] {
		return nil
	}
	host := strings.ToLower(HostOf(r.Host))
	if host == "" || host == "localhost" || g.hosts[host] || g.hosts[strings.ToLower(r.Host)] {
		return nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	return problem.New(api.CodeHostNotAllowed, "this server does not answer for the host name "+host,
		"add it to the names in the configuration, or use its address")
}

// HostOf returns an address without its port and brackets.
func HostOf(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return strings.Trim(hostport, "[]")
}

// Share returns the unit that counts as one caller: the IPv4 address, or the first 64 bits of an
// IPv6 address, because a single host may have all addresses below them.
func Share(host string) string {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	return share.Of(a).String()
}

// AdmitPrivate is the default rule for connections. Requests that change something or show a secret
// must not cross a network unencrypted. It admits them over TLS and over loopback.
func AdmitPrivate(r *http.Request, class Class) error {
	if class == ClassRead || r.TLS != nil || Loopback(LocalAddress(r)) {
		return nil
	}
	return problem.New(api.CodeNotAllowed, "plain HTTP on a public address serves reads only",
		"use HTTPS (port 8090), or connect over loopback")
}

// admitUnknown is the rule for changes by a caller without a role if no role is required. The
// caller must be a program on this machine. Neither TLS nor a certificate without a role identifies
// a caller.
func admitUnknown(r *http.Request) error {
	if OnThisMachine(r) {
		return nil
	}
	return problem.New(api.CodeNotAllowed, "changes without a role are for programs on the replica's own machine",
		"use a client certificate with a role, or run it on that machine; the first access token is made there (rmd access token create)")
}

// forwarding lists the headers in which a proxy says for whom it asks.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"}

// OnThisMachine reports whether a request comes from a program on this machine. It does not if a
// reverse proxy on this machine forwards it for another caller. No header can make a request local.
func OnThisMachine(r *http.Request) bool {
	for _, name := range forwarding {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return Loopback(LocalAddress(r)) && Loopback(r.RemoteAddr)
}

// LocalAddress returns the address at which a request arrived. If the server does not provide it,
// it returns the peer's address.
func LocalAddress(r *http.Request) string {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return a.String()
	}
	return r.RemoteAddr
}

// Loopback reports whether an address is a loopback address.
func Loopback(hostport string) bool {
	a, err := netip.ParseAddr(HostOf(hostport))
	return err == nil && a.Unmap().IsLoopback()
}
