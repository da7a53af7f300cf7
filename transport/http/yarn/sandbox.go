package yarnweb

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"rmd/fsm/state"
)

// sandbox is the policy of every page of an ApplicationMaster: it is shown under the
// ResourceManager's name, and is not the ResourceManager's. Without allow-same-origin
// its scripts have an origin of their own, read no cookie and no storage of ours, and
// register no service worker.
const sandbox = "sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals; frame-ancestors 'none'"

// returned are the headers of an ApplicationMaster's answer that its viewer gets to
// see: what a page, its data and its files need. Others could act on the
// ResourceManager's own pages (Set-Cookie, Service-Worker-Allowed, Clear-Site-Data,
// Strict-Transport-Security) or loosen the policy.
var returned = []string{"Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Disposition", "Content-Range",
	"Accept-Ranges", "Cache-Control", "Expires", "Date", "Etag", "Last-Modified", "Vary", "Location", "Allow", "Retry-After"}

var errUpgrade = errors.New("it changes the protocol, which is not passed on")

// sandboxed fetches an ApplicationMaster's page and keeps of the answer what may be
// returned: no interim answers, no other protocol, no trailers, few headers.
type sandboxed struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p sandboxed) RoundTrip(r *http.Request) (*http.Response, error) {
	got, err := p.next.RoundTrip(r.WithContext(untraced{r.Context()}))
	if err != nil {
		return nil, err
	}
	if got.StatusCode == http.StatusSwitchingProtocols {
		_ = got.Body.Close()
		return nil, errUpgrade
	}
	out := &http.Response{Status: got.Status, StatusCode: got.StatusCode, Proto: got.Proto, ProtoMajor: got.ProtoMajor, ProtoMinor: got.ProtoMinor,
		Header: http.Header{}, Body: got.Body, ContentLength: got.ContentLength, TransferEncoding: got.TransferEncoding, Request: r}
	for _, name := range returned {
		if v := got.Header[name]; v != nil {
			out.Header[name] = v
		}
	}
	return out, nil
}

// untraced is a context without values: by them the reverse proxy would be told of
// interim answers, and pass their headers on.
type untraced struct{ context.Context }

// Value implements context.Context.
func (untraced) Value(any) any { return nil }

// shareWithScripts lets the scripts of a sandboxed page read what lies beside it: their origin is
// "null", and no page has that origin's cookies. It answers what browsers ask before.
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

// clouds are addresses of metadata that are not link-local.
var clouds = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192")}

// mayFetch judges an address after its name was resolved, just before it is dialed:
// an ApplicationMaster, which anybody may write, chooses where this machine calls.
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

// nodeHere says whether a NodeManager runs on this machine, and ApplicationMasters with it. Other
// programs here may trust callers that come over loopback.
func (c ServiceConfig) nodeHere() (found bool) {
	if c.Reader == nil {
		return false
	}
	own, _ := net.InterfaceAddrs() // none: only what came over loopback counts
	c.Reader.Fork().Nodes.Each(func(_ uint32, n *state.Node) bool {
		at, err := netip.ParseAddr(n.Address)
		found = err == nil && (at.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
			p, err := netip.ParsePrefix(a.String())
			return err == nil && p.Addr().Unmap() == at.Unmap()
		}))
		return !found
	})
	return found
}

// translated are the networks whose addresses hold an IPv4 address, and where.
var translated = []struct {
	net netip.Prefix
	at  int
}{{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("::/96"), 12}, {netip.MustParsePrefix("2002::/16"), 2}}

// embedded is the IPv4 address that an IPv6 address leads to.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	for _, t := range translated {
		if addr.Is6() && t.net.Contains(addr) && addr != netip.IPv6Unspecified() && !addr.IsLoopback() {
			return netip.AddrFrom4([4]byte(b[t.at : t.at+4])), true
		}
	}
	return netip.Addr{}, false
}
