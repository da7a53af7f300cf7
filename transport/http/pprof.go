package httpserver

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"rmd/transport/http/v1/api"
)

// Profiles of the running process, in the form of Go's own tools. They show what is
// in memory and cost while they are taken: they are off unless http.pprof is set,
// and even then for administrators on this machine alone.
func (s *Server) profileRoutes() []route {
	profile := func(pattern string, h func(c *call) http.HandlerFunc) route {
		return route{method: http.MethodGet, pattern: pattern, class: ClassRead, query: anyQuery, handle: func(c *call) error {
			if err := c.mayProfile(); err != nil {
				return err
			}
			h(c)(c.w, c.r)
			return nil
		}}
	}
	return []route{
		profile("/debug/pprof", func(*call) http.HandlerFunc { return profileIndex }),
		profile("/debug/pprof/{name}", func(c *call) http.HandlerFunc { return profileOf(c.args["name"]) }),
	}
}

// profileIndex lists the profiles; its links are relative to its address.
func profileIndex(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/") {
		http.Redirect(w, r, r.URL.Path+"/", http.StatusFound)
		return
	}
	pprof.Index(w, r)
}

// profileSeconds bounds how long one profile may be taken.
const profileSeconds = 60

// mayProfile refuses what admission has let through and must not see a profile.
func (c *call) mayProfile() error {
	switch {
	case !c.s.cfg.Profiles:
		return problem(api.CodeNotAvailable, "profiles are turned off on this replica", "set http.pprof: true in its rmd.yaml and start it again")
	case !loopback(c.r.RemoteAddr) || !loopback(localAddress(c.r)):
		return problem(api.CodeNotAllowed, "profiles are for this machine alone", "ask on the replica's own machine, over 127.0.0.1")
	}
	if n, err := c.number("seconds", 1); err != nil || n > profileSeconds {
		return invalid("seconds is out of range", "give 1 to 60")
	}
	return nil
}

// profileOf is what answers for a profile. Index knows those that the runtime keeps
// by name, and what is not there.
func profileOf(name string) http.HandlerFunc {
	switch name {
	case "profile":
		return pprof.Profile
	case "trace":
		return pprof.Trace
	case "cmdline":
		return pprof.Cmdline
	case "symbol":
		return pprof.Symbol
	}
	return pprof.Index
}
