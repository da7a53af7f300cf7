package metrics

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/v1/api"
)

// Profiles are the routes of profiles of the running process, in the form of Go's own tools. They
// show what is in memory and cost while they are taken. So they are off unless http.pprof is set, and
// even then for administrators on this machine alone; without on they say that they are off.
func Profiles(on bool) []route.Route {
	profile := func(pattern string, h func(c *route.Call) http.HandlerFunc) route.Route {
		return route.Plain(pattern, func(c *route.Call) error {
			if err := mayProfile(c, on); err != nil {
				return err
			}
			h(c)(c.W, c.R)
			return nil
		})
	}
	return []route.Route{
		profile("/debug/pprof", func(*route.Call) http.HandlerFunc { return profileIndex }),
		profile("/debug/pprof/{name}", func(c *route.Call) http.HandlerFunc { return profileOf(c.Args["name"]) }),
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
func mayProfile(c *route.Call, on bool) error {
	switch {
	case !on:
		return problem.New(api.CodeNotAvailable, "profiles are turned off on this replica", "set http.pprof: true in its rmd.yaml and start it again")
	case !auth.Loopback(c.R.RemoteAddr) || !auth.Loopback(auth.LocalAddress(c.R)):
		return problem.New(api.CodeNotAllowed, "profiles are for this machine alone", "ask on the replica's own machine, over 127.0.0.1")
	}
	if n, err := c.Number("seconds", 1); err != nil || n > profileSeconds {
		return problem.Invalid("seconds is out of range", "give 1 to 60")
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
