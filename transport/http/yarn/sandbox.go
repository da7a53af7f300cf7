package yarnweb

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"

	"rmd/fsm/state"
	"rmd/internal/localaddr"
)

// sandbox is the Content-Security-Policy of every page of an ApplicationMaster. The page has the
// host name of the ResourceManager, but is not trusted. Without allow-same-origin, its scripts have
// an origin of their own: they cannot read cookies or storage of rmd, nor register a service
// worker.
const sandbox = "sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals; frame-ancestors 'none'"

// returned lists the response headers of an ApplicationMaster that its viewer gets: those that
// pages, data and files need. Other headers could affect the ResourceManager's own pages
// (Set-Cookie, Service-Worker-Allowed, Clear-Site-Data, Strict-Transport-Security) or weaken the
// policy.
var returned = []string{"Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Disposition",
	"Content-Range",
	"Accept-Ranges", "Cache-Control", "Expires", "Date", "Etag", "Last-Modified", "Vary", "Location", "Allow",
	"Retry-After"}

var errUpgrade = errors.New("it changes the protocol, which is not passed on")

// sandboxed fetches an ApplicationMaster's page. It drops from the answer everything that a viewer
// must not get: interim responses, protocol changes, trailers and most headers.
type sandboxed struct{ next http.RoundTripper }

func (p sandboxed) RoundTrip(r *http.Request) (*http.Response, error) {
	got, err := p.next.RoundTrip(r.WithContext(untraced{r.Context()}))
	if err != nil {
		return nil, err
	}
	if got.StatusCode == http.StatusSwitchingProtocols {
		_ = got.Body.Close()
		return nil, errUpgrade
	}
	out := &http.Response{Status: got.Status, StatusCode: got.StatusCode, Proto: got.Proto, ProtoMajor: got.ProtoMajor,
		ProtoMinor: got.ProtoMinor,
		Header:     http.Header{}, Body: got.Body, ContentLength: got.ContentLength,
		TransferEncoding: got.TransferEncoding, Request: r}
	for _, name := range returned {
		if v := got.Header[name]; v != nil {
			out.Header[name] = v
		}
	}
	return out, nil
}

// untraced is a context without values. With them, the reverse proxy would learn of interim
// responses and pass their headers on.
type untraced struct{ context.Context }

func (untraced) Value(any) any { return nil }

// shareWithScripts lets the scripts of a sandboxed page read data from this proxy. The origin of
// such a page is "null", and no page has cookies for that origin. The function also answers
// preflight requests.
func shareWithScripts(w http.ResponseWriter, r *http.Request) (answered bool) {
	if r.Header.Get("Origin") != "null" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "null")
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", "Accept, Content-Type, X-Requested-With")
	w.WriteHeader(http.StatusNoContent)
	return true
}

var (
	errLocal   = errors.New("it is at a link-local, multicast or unspecified address, where no ApplicationMaster is")
	errOutside = errors.New("its address is not among those of http.proxy_allow")
	errHere    = errors.New("it is an address of this machine alone, where no NodeManager runs; if its pages are here, list it in http.proxy_allow")
	errCloud   = errors.New("it is an address at which clouds tell a machine's secrets")
)

// clouds lists addresses of cloud metadata services that are not link-local.
var clouds = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("192.0.0.192")}

// mayFetch returns why the proxy must not connect to an address, or nil. The transport calls it
// after it has resolved the name, just before it connects. Any user can write an ApplicationMaster,
// and so choose the address.
func (c ServiceConfig) mayFetch(at netip.AddrPort) error {
	addr := at.Addr().Unmap().WithZone("")
	if inner, ok := embedded(addr); ok {
		addr = inner
	}
	switch {
	case addr.IsLinkLocalUnicast(), addr.IsMulticast(), addr.IsUnspecified():
		return errLocal
	case c.Own != nil && c.Own(netip.AddrPortFrom(addr, at.Port())):
		return errOwn
	case slices.Contains(clouds, addr):
		return errCloud
	case len(c.Allow) == 0 && addr.IsLoopback() && !c.nodeHere():
		return errHere
	case len(c.Allow) == 0:
		return nil
	}
	for _, p := range c.Allow {
		if p.Contains(addr) {
			return nil
		}
	}
	return errOutside
}

// nodeHere reports whether a NodeManager, and so ApplicationMasters, may run on this machine.
// Otherwise only other programs listen on loopback, and they may trust local callers.
func (c ServiceConfig) nodeHere() (found bool) {
	if c.Reader == nil {
		return false
	}
	here, _ := localaddr.Interfaces() // on an error only loopback addresses count
	c.Reader.Fork().Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		at, err := netip.ParseAddr(n.Address)
		found = err == nil && here.Has(at)
		return !found
	})
	return found
}

// translated lists the IPv6 networks whose addresses contain an IPv4 address, with its offset in
// bytes.
var translated = []struct {
	net netip.Prefix
	at  int
}{{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2}}

// embedded returns the IPv4 address that an IPv6 address contains.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	for _, t := range translated {
		if addr.Is6() && t.net.Contains(addr) && addr != netip.IPv6Unspecified() && !addr.IsLoopback() {
			return netip.AddrFrom4([4]byte(b[t.at : t.at+4])), true
		}
	}
	return netip.Addr{}, false
}
