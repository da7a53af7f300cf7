package httpserver

import (
	"fmt"
	"net/http"
	"strings"

	"rmd/api"
	"rmd/transport/http/route"
)

func (s *Server) rootRoutes() []route.Route {
	return []route.Route{
		route.Plain("/", s.root),
		route.Plain("/metrics", func(c *route.Call) error { s.metrics.Handler().ServeHTTP(c.W, c.R); return nil }),
	}
}

// root describes the server: as a document if the client asks for JSON, otherwise by a redirect to
// the pages or, without pages, as text.
func (s *Server) root(c *route.Call) error {
	if strings.Contains(c.R.Header.Get("Accept"), "application/json") {
		return c.JSON(http.StatusOK, s.index())
	}
	if s.pages != nil {
		http.Redirect(c.W, c.R, "/ui/", http.StatusFound)
		return nil
	}
	id, _ := s.cfg.Consensus.Leader()
	if id == "" {
		id = "not known"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rmd %s: a replicated YARN ResourceManager\nreplica %s, %s; leader %s\n\n", s.cfg.Version, s.cfg.ID,
		s.cfg.Consensus.Role(), id)
	for _, t := range s.mux.Routes() {
		fmt.Fprintf(&b, "%-6s %s\n", t.Method, t.Pattern)
	}
	c.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = c.W.Write([]byte(b.String()))
	return nil
}

// index returns the document that lists the routes.
func (s *Server) index() api.Index {
	id, _ := s.cfg.Consensus.Leader()
	d := api.Index{Version: s.cfg.Version, ID: s.cfg.ID, Role: s.cfg.Consensus.Role(), Leader: id}
	for _, t := range s.mux.Routes() {
		d.Routes = append(d.Routes, api.Route{Method: t.Method, Path: t.Pattern, Role: t.Access().Least.String(),
			Text: t.Described.Text})
	}
	return d
}
