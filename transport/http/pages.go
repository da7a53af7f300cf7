package httpserver

import (
	"html/template"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"rmd/api"
	"rmd/transport/http/auth"
	"rmd/transport/http/metrics"
	"rmd/transport/http/ui"
	"rmd/transport/http/ui/login"
	"rmd/transport/http/view"
	yarnweb "rmd/transport/http/yarn"
	"rmd/yarn"
)

// openPages makes the login and the operator's pages.
func (s *Server) openPages() error {
	var err error
	if s.login, err = login.New(s.guard, s.problems, s.log); err != nil {
		return err
	}
	if s.pages = s.cfg.Pages; s.pages != nil || s.cfg.NoPages {
		return nil
	}
	c := ui.DefaultConfig()
	c.Logger, c.Guard, c.Views, c.Problems, c.API, c.Caller = s.log.Named("ui"), s.guard, s.views, s.problems, s.api, s.mux
	c.Status, c.About, c.Log, c.Past, c.ReadTimeout = s.status, s.about, s.cfg.Log, s.cfg.Past, s.cfg.ReadTimeout
	c.Now, c.Done, c.MaxBodyBytes, c.MaxStreams, c.Heartbeat = s.cfg.Now, s.ctx.Done(), s.cfg.MaxBodyBytes,
		s.cfg.MaxStreams, s.cfg.Heartbeat
	s.pages, err = ui.New(c)
	return err
}

// isPage reports whether the operator's pages answer a path. They also answer the addresses of
// YARN's pages, for old bookmarks.
func isPage(path string) bool {
	return path == "/ui" || strings.HasPrefix(path, "/ui/") || path == "/cluster" || strings.HasPrefix(path, "/cluster/")
}

// page returns what answers the path of a page, or nil.
func (s *Server) page(path string) http.Handler {
	if isPage(path) {
		return s.pages
	}
	for _, a := range s.cfg.Hadoop.WebApps {
		if a.Has(path) {
			return a
		}
	}
	return nil
}

// takesSession reports whether a request may have a session instead of credentials: one for a page, one
// that follows a link of a page, and one that the page of a web application makes.
func (s *Server) takesSession(r *http.Request) bool {
	return s.page(r.URL.Path) != nil || auth.FromOwnPage(r) &&
		(followsLink(r) || len(s.cfg.Hadoop.WebApps) > 0 && yarnweb.ForWebApps(r.URL.Path))
}

// followsLink reports whether a browser says that it reads a document to show it. No script has the
// answer then.
func followsLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// isLive reports whether the request is one that an open page repeats by itself.
func (s *Server) isLive(r *http.Request) bool {
	return r.Method == http.MethodGet && isPage(r.URL.Path) && ui.IsLive(r)
}

// servePages serves login and logout to everybody, and the pages to callers that may read. identity
// is the error of identifying the caller, or nil.
func (s *Server) servePages(w http.ResponseWriter, r *http.Request, identity error) {
	switch {
	case r.URL.Path == login.Path, r.URL.Path == login.OutPath:
		s.login.ServeHTTP(w, r)
		return
	case strings.HasPrefix(r.URL.Path, "/ui/static/"):
		s.pages.ServeHTTP(w, r)
		return
	}
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	if identity == nil {
		identity = s.guard.Admit(r, auth.Access{Class: auth.ClassRead, Least: yarn.RoleRead})
	}
	if p := auth.Of(r); identity == nil && !read && p.By == auth.BySession && !auth.FromOwnPage(r) {
		identity = auth.OtherSite()
	}
	if identity == nil {
		s.page(r.URL.Path).ServeHTTP(w, r)
		return
	}
	e := s.problems.Of(identity, !read)
	if e.Code == api.CodeUnauthenticated && read && !ui.IsLive(r) && r.URL.Path != "/ui/live" {
		if s.guard.Challenge() != "" { // a browser with a ticket answers, and others show the page
			s.login.Ask(w, r)
			return
		}
		http.Redirect(w, r, login.Path+"?next="+template.URLQueryEscaper(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	http.Error(w, e.Error(), e.Status)
}

// status returns the status of this replica.
func (s *Server) status() ui.Status {
	index, _ := s.cfg.Reader.Applied()
	k := s.cfg.Consensus
	d := ui.Status{ID: s.cfg.ID, Version: s.cfg.Version, Role: k.Role(), Term: k.Term(), Index: index, StalenessMillis: -1}
	d.CommitP99, d.SyncP99 = s.timings.P99(metrics.CommitSeconds), s.timings.P99(metrics.SyncSeconds)
	d.Leader, _ = k.Leader()
	if age := k.Staleness(); age >= 0 {
		d.StalenessMillis = age.Milliseconds()
	}
	return d
}

// about returns the version, the build and the settings of this replica.
func (s *Server) about() ui.About {
	d := ui.About{Version: s.cfg.Version, Built: runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH,
		Name: s.cfg.Auth.Cluster}
	for _, o := range s.cfg.Own {
		d.Own = append(d.Own, ui.Setting{Name: o.Name, Value: view.MaskProperty(o.Name, o.Value), About: o.About,
			Origin: o.Origin})
	}
	if s.cfg.Hadoop.Settings == nil {
		return d
	}
	for _, o := range s.cfg.Hadoop.Settings() {
		k := ui.Setting{Name: o.Name, Value: view.MaskProperty(o.Name, o.Value), Origin: o.File}
		if o.Final {
			k.Origin += ", final"
		}
		d.Settings = append(d.Settings, k)
	}
	slices.SortFunc(d.Settings, func(a, b ui.Setting) int { return strings.Compare(a.Name, b.Name) })
	return d
}
