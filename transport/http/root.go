package httpserver

import (
	"fmt"
	"net/http"
	"strings"
)

func (s *Server) rootRoutes() []route {
	plain := func(pattern string, h handler) route {
		return route{method: http.MethodGet, pattern: pattern, class: ClassRead, query: anyQuery, handle: h}
	}
	routes := []route{
		plain("/", root),
		plain("/metrics", func(c *call) error { s.metrics.Handler().ServeHTTP(c.w, c.r); return nil }),
		plain("/isActive", isActive), plain("/jmx", jmx), plain("/conf", showSettings), plain("/logLevel", logLevel),
	}
	return routes
}

// isActive is YARN's probe for load balancers.
func isActive(c *call) error {
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if c.s.cfg.Consensus.Role() != "leader" {
		c.w.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = c.w.Write([]byte("Not Active!\n"))
		return nil
	}
	_, _ = c.w.Write([]byte("I am Active!\n"))
	return nil
}

// root says what this is. Where there are pages, it leads to them.
func root(c *call) error {
	if c.s.cfg.Web != nil {
		http.Redirect(c.w, c.r, "/ui/", http.StatusFound)
		return nil
	}
	id, _ := c.s.cfg.Consensus.Leader()
	var b strings.Builder
	fmt.Fprintf(&b, "rmd %s: a replicated YARN ResourceManager\nreplica %s, %s; leader %s\n\n", c.s.cfg.Version, c.s.cfg.ID, c.s.cfg.Consensus.Role(), orNobody(id))
	for i := range c.s.routes {
		fmt.Fprintf(&b, "%-6s %s\n", c.s.routes[i].method, c.s.routes[i].pattern)
	}
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = c.w.Write([]byte(b.String()))
	return nil
}

func orNobody(id string) string {
	if id == "" {
		return "not known"
	}
	return id
}
