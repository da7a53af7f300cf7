package yarnweb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/state"
	"rmd/transport/http/auth"
	"rmd/yarn"
)

// ProxyPath is the path of the proxy for the pages of ApplicationMasters.
const ProxyPath = "/proxy/"

// userCookie is the cookie that tells the filter in an AM who views its pages.
const userCookie = "proxy-user"

// ProxiedHeader marks requests that this proxy sends. Without the mark, a request that comes back
// to this replica would have the rights of this machine.
const ProxiedHeader = "Rmd-Proxied"

// serveProxy answers /proxy/APPLICATION/REST and /proxy/redirect/APPLICATION/REST. While the
// application runs, it relays the AM's own page. After the end, it redirects to the history page
// that the AM reported. Without such an address, it redirects to the application's page.
func (s *Service) serveProxy(w http.ResponseWriter, r *http.Request) {
	name, tail, _ := strings.Cut(strings.TrimPrefix(ownPath(r.URL.EscapedPath()), ProxyPath), "/")
	id, err := yarn.ParseApplicationID(name)
	if err != nil {
		noPage(w, fmt.Sprintf("%q is not an application", clip(name)))
		return
	}
	w.Header().Set("Content-Security-Policy", sandbox)
	if shareWithScripts(w, r) {
		return
	}
	if r.Header.Get(ProxiedHeader) != "" {
		http.Error(w, "the pages of "+name+" are said to be at a ResourceManager's proxy", http.StatusLoopDetected)
		return
	}
	st, slot, err := s.application(r.Context(), id)
	switch {
	case err != nil:
		http.Error(w, "no leader is known at the moment; try again", http.StatusServiceUnavailable)
		return
	case slot == 0:
		noPage(w, "Application "+name+" could not be found in RM.")
		return
	}
	a := st.Apps.Get(slot)
	base := trackingURL(a.Details().TrackingURL)
	switch {
	case base == nil, a.Shown().Ended() && strings.HasPrefix(ownPath(base.Path), ProxyPath+name):
		http.Redirect(w, r, "/cluster/app/"+name, http.StatusFound)
	case a.Shown().Ended():
		http.Redirect(w, r, subURL(base, tail, r.URL.RawQuery).String(), http.StatusFound)
	default:
		s.relay(w, r, ProxyPath+name, base, subURL(base, tail, r.URL.RawQuery))
	}
}

// ownPath returns a path of this proxy without /redirect, which AMs use when they send viewers
// here.
func ownPath(path string) string {
	if rest, ok := strings.CutPrefix(path, ProxyPath+"redirect/"); ok {
		return ProxyPath + rest
	}
	return path
}

// application returns an application from this replica's state, if necessary after catching up with
// the leader. The slot is 0 if there is none.
func (s *Service) application(ctx context.Context, id yarn.ApplicationID) (*state.State, state.AppSlot, error) {
	st := s.cfg.Reader.Fork()
	if slot := st.Apps.ByID(id); slot != 0 {
		return st, slot, nil
	}
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return nil, 0, err
	}
	st = s.cfg.Reader.Fork()
	return st, st.Apps.ByID(id), nil
}

// trackingMax is the most bytes that an AM's address may have.
const trackingMax = 4 << 10

// trackingURL parses the address that an AM reported. It returns nil if the address is not a web
// address.
func trackingURL(text string) *url.URL {
	if text == "" || len(text) > trackingMax || strings.EqualFold(text, "N/A") {
		return nil
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil
	}
	u.User = nil
	return u
}

// subURL returns the address of a page below an AM's address.
func subURL(base *url.URL, tail, query string) *url.URL {
	u := *base
	if tail != "" {
		if u.Path == "" {
			u.Path = "/" // JoinPath needs an absolute path
		}
		u = *u.JoinPath(tail)
	}
	if query != "" {
		u.RawQuery = query
	}
	return &u
}

var (
	errOwn  = errors.New("it is an address of this replica itself")
	errLoop = errors.New(
		"it sends its viewers back to where they come from: does it know all addresses of the ResourceManagers?")
)

// relay fetches a page of a running AM. The AM accepts the request because it comes from this
// replica; a cookie has the viewer's name. own is the path of the application in the proxy.
func (s *Service) relay(w http.ResponseWriter, r *http.Request, own string, base, target *url.URL) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPut {
		w.Header().Set("Allow", "GET, HEAD, PUT")
		http.Error(w, r.Method+" is not passed on to ApplicationMasters", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Del("Cache-Control") // the page is the AM's
	proxy := &httputil.ReverseProxy{
		Transport: sandboxed{s.transport},
		ErrorLog:  s.cfg.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = target, target.Host
			passOn(p.Out.Header)
			p.Out.Header.Set(ProxiedHeader, "1")
			p.Out.AddCookie(&http.Cookie{Name: userCookie, Value: url.QueryEscape(viewer(r))})
		},
		ModifyResponse: func(resp *http.Response) error { return sendHere(resp, own, base, r.URL) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			status := http.StatusBadGateway
			switch {
			case errors.Is(err, errLoop), errors.Is(err, errOwn):
				status = http.StatusLoopDetected
			case errors.Is(err, errLocal), errors.Is(err, errOutside), errors.Is(err, errHere), errors.Is(err, errCloud):
				status = http.StatusForbidden
			case errors.As(err, new(*http.MaxBytesError)):
				status = http.StatusRequestEntityTooLarge
			}
			s.cfg.Logger.Debug("application master's page is not reachable", "url", target.Redacted(), "error", err)
			http.Error(w, "the page of the ApplicationMaster at "+target.Host+" cannot be shown: "+err.Error(), status)
		},
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
	proxy.ServeHTTP(w, r)
}

// sendHere changes a redirect to another page of the same AM to a redirect to this proxy, because
// the viewer may not be able to reach the AM.
func sendHere(resp *http.Response, own string, base, asked *url.URL) error {
	text := resp.Header.Get("Location")
	if text == "" {
		return nil
	}
	to, err := resp.Request.URL.Parse(text)
	if err != nil || (to.Scheme != "http" && to.Scheme != "https") {
		resp.Header.Del("Location")
		return nil
	}
	page, atAM := ownPath(to.EscapedPath()), to.Host == base.Host
	if page != own && !strings.HasPrefix(page, own+"/") {
		if !atAM {
			return nil
		}
		page = own + "/" + strings.TrimLeft(strings.TrimPrefix(page, strings.TrimSuffix(base.EscapedPath(), "/")), "/")
	}
	if page == ownPath(asked.EscapedPath()) && to.RawQuery == asked.RawQuery {
		return errLoop
	}
	if atAM {
		here := url.URL{RawQuery: to.RawQuery, Fragment: to.Fragment}
		resp.Header.Set("Location", page+strings.TrimPrefix(here.String(), "/"))
	}
	return nil
}

// clip limits the part of a caller's text that an error repeats.
func clip(s string) string { return s[:min(len(s), 100)] }

// passed has the request headers that an AM gets, the same as with YARN's proxy.
var passed = map[string]bool{"User-Agent": true, "Accept": true, "Accept-Encoding": true, "Accept-Language": true,
	"Accept-Charset": true, "Content-Type": true, "Content-Length": true, "Origin": true,
	"Access-Control-Request-Method": true, "Access-Control-Request-Headers": true}

func passOn(h http.Header) {
	for name := range h {
		if !passed[name] {
			h.Del(name)
		}
	}
}

// viewer returns the user who views a page. Hadoop's simple authentication trusts the caller.
func viewer(r *http.Request) string {
	if u := auth.YARNUser(r); u != "" {
		return u
	}
	return defaultUser
}

func noPage(w http.ResponseWriter, text string) {
	http.Error(w, text, http.StatusNotFound)
}

// newTransport returns the transport that fetches AMs' pages. It calls may with each address before
// it connects, because an AM could report an address at which a viewer's request gets the rights of
// this machine.
func newTransport(may func(netip.AddrPort) error) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return may(at)
	}}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		ResponseHeaderTimeout: time.Minute, IdleConnTimeout: 30 * time.Second, MaxIdleConns: 64, MaxIdleConnsPerHost: 4,
		DisableCompression: true,
	}
}
