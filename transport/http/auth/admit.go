package auth

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"rmd/internal/share"
	"rmd/transport/http/problem"
	"rmd/transport/http/v1/api"
)

// Class is what a request may do, for admission.
type Class uint8

// Classes of requests.
const (
	ClassRead  Class = 1 + iota
	ClassWrite       // changes the state or the membership
)

// CheckHost refuses a Host header that is a name nobody gave this server: a
// page of another site whose name was pointed here (DNS rebinding). Plain
// addresses cannot be re-pointed.
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
	return problem.New(api.CodeHostNotAllowed, "this server does not answer for the host name "+host, "add it to the names in the configuration, or use its address")
}

// HostOf cuts the port and the brackets off.
func HostOf(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return strings.Trim(hostport, "[]")
}

// Share is what counts as one caller of an address: the address, or the 64 bits of an IPv6 address that
// a single host has for itself.
func Share(host string) string {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	return share.Of(a).String()
}

// AdmitPrivate is the rule of connections: what changes something, or shows a
// secret, does not cross a network in the open. It takes such calls over TLS and
// over loopback.
func AdmitPrivate(r *http.Request, class Class) error {
	if class == ClassRead || r.TLS != nil || Loopback(LocalAddress(r)) {
		return nil
	}
	return problem.New(api.CodeNotAllowed, "plain HTTP on a public address serves reads only", "use HTTPS (port 8090), or connect over loopback")
}

// admitUnknown is the rule of changes by a caller without a role, where none is
// required: it must be a program on this machine. Neither TLS nor a certificate
// without a role says anything about a caller.
func admitUnknown(r *http.Request) error {
	if OnThisMachine(r) {
		return nil
	}
	return problem.New(api.CodeNotAllowed, "changes without a role are for programs on the replica's own machine",
		"use a client certificate with a role, or run it on that machine; the first access token is made there (rmd access token create)")
}

// forwarding are the headers by which a proxy says for whom it asks.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"}

// OnThisMachine says whether a request comes from a program on this machine, and
// from it alone: one that a reverse proxy there passes on is somebody else's.
// No header can make a request local.
func OnThisMachine(r *http.Request) bool {
	for _, name := range forwarding {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return Loopback(LocalAddress(r)) && Loopback(r.RemoteAddr)
}

// LocalAddress is the address a request came in at; the peer's where the server
// is not ours.
func LocalAddress(r *http.Request) string {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return a.String()
	}
	return r.RemoteAddr
}

// Loopback says whether an address is one of this machine alone.
func Loopback(hostport string) bool {
	a, err := netip.ParseAddr(HostOf(hostport))
	return err == nil && a.Unmap().IsLoopback()
}
