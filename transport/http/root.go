package httpserver

import (
	"fmt"
	"net/http"
	"strings"

	"rmd/transport/http/route"
)

func (s *Server) rootRoutes() []route.Route {
	return []route.Route{
		route.Plain("/", s.root),
		route.Plain("/metrics", func(c *route.Call) error { s.metrics.Handler().ServeHTTP(c.W, c.R); return nil }),
	}
}

// root says what this is. Where there are pages, it leads to them.
func (s *Server) root(c *route.Call) error {
	if s.pages != nil {
		http.Redirect(c.W, c.R, "/ui/", http.StatusFound)
		return nil
	}
	id, _ := s.cfg.Consensus.Leader()
	if id == "" {
		id = "not known"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rmd %s: a replicated YARN ResourceManager\nreplica %s, %s; leader %s\n\n", s.cfg.Version, s.cfg.ID, s.cfg.Consensus.Role(), id)
	for _, t := range s.mux.Routes() {
		fmt.Fprintf(&b, "%-6s %s\n", t.Method, t.Pattern)
	}
	c.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = c.W.Write([]byte(b.String()))
	return nil
}
