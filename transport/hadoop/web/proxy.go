package web

import (
	"context"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"rmd/fsm/state"
	"rmd/yarn"
)

// ProxyPath is where the pages of ApplicationMasters lie.
const ProxyPath = "/proxy/"

// userCookie tells an AM's own filter who looks at its pages.
const userCookie = "proxy-user"

// defaultUser is whom YARN takes a caller for that says nothing.
const defaultUser = "dr.who"

// serveProxy answers /proxy/APPLICATION/REST and /proxy/redirect/APPLICATION/REST: the
// AM's own page while the application runs, a redirect to where it says its
// history is afterwards, and to the application's page before.
func (s *Service) serveProxy(w http.ResponseWriter, r *http.Request) {
	rest := strings.TrimPrefix(r.URL.EscapedPath(), ProxyPath)
	rest = strings.TrimPrefix(rest, "redirect/")
	name, tail, _ := strings.Cut(rest, "/")
	id, err := yarn.ParseApplicationID(name)
	if err != nil {
		notFound(w, fmt.Sprintf("%q is not an application", name))
		return
	}
	st, slot, err := s.application(r.Context(), id)
	switch {
	case err != nil:
		http.Error(w, "no leader is known at the moment; try again", http.StatusServiceUnavailable)
		return
	case slot == 0:
		notFound(w, "Application "+name+" could not be found in RM.")
		return
	}
	a := st.Apps.Get(slot)
	target := trackingURL(a.TrackingURL, tail, r.URL.RawQuery)
	switch {
	case target == nil:
		http.Redirect(w, r, "/cluster/app/"+name, http.StatusFound)
	case a.Shown().Ended():
		http.Redirect(w, r, target.String(), http.StatusFound)
	default:
		s.relay(w, r, target)
	}
}

// application finds an application, here or after catching up with the leader.
func (s *Service) application(ctx context.Context, id yarn.ApplicationID) (*state.State, uint32, error) {
	st := s.cfg.Reader.Fork()
	if slot := st.AppByID(id); slot != 0 {
		return st, slot, nil
	}
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return nil, 0, err
	}
	st = s.cfg.Reader.Fork()
	return st, st.AppByID(id), nil
}

// trackingURL is where an AM says its pages are, with the rest of a path; nil
// when it said nothing that is a web address.
func trackingURL(text, tail, query string) *url.URL {
	if text == "" || strings.EqualFold(text, "N/A") {
		return nil
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil
	}
	if tail != "" {
		u = u.JoinPath(tail)
	}
	if query != "" {
		u.RawQuery = query
	}
	u.User = nil
	return u
}

// relay fetches a page of a running AM. The request comes from this replica,
// which AMs let pass, and carries the viewer's name.
func (s *Service) relay(w http.ResponseWriter, r *http.Request, target *url.URL) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPut {
		w.Header().Set("Allow", "GET, HEAD, PUT")
		http.Error(w, r.Method+" is not passed on to ApplicationMasters", http.StatusMethodNotAllowed)
		return
	}
	for _, h := range []string{"Content-Security-Policy", "Cache-Control"} {
		w.Header().Del(h) // the page is the AM's
	}
	proxy := &httputil.ReverseProxy{
		Transport: s.transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = target, target.Host
			passOn(p.Out.Header)
			p.Out.AddCookie(&http.Cookie{Name: userCookie, Value: url.QueryEscape(viewer(r))})
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			s.cfg.Logger.Debug("application master's page is not reachable", "url", target.Redacted(), "error", err)
			http.Error(w, "the ApplicationMaster at "+target.Host+" does not answer: "+html.EscapeString(err.Error()), http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}

// passed are the headers that an AM gets to see, as YARN's proxy has it.
var passed = map[string]bool{"User-Agent": true, "Accept": true, "Accept-Encoding": true, "Accept-Language": true,
	"Accept-Charset": true, "Content-Type": true, "Content-Length": true, "Origin": true, "Access-Control-Request-Method": true, "Access-Control-Request-Headers": true}

func passOn(h http.Header) {
	for name := range h {
		if !passed[name] {
			h.Del(name)
		}
	}
}

// viewer is who looks: Hadoop's simple authentication takes the caller's word.
func viewer(r *http.Request) string {
	if u := r.URL.Query().Get("user.name"); u != "" {
		return u
	}
	return defaultUser
}

func notFound(w http.ResponseWriter, text string) {
	http.Error(w, text, http.StatusNotFound)
}

// newTransport makes the client that fetches AMs' pages.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		ResponseHeaderTimeout: time.Minute, IdleConnTimeout: 30 * time.Second, MaxIdleConns: 64, MaxIdleConnsPerHost: 4,
		DisableCompression: true,
	}
}
