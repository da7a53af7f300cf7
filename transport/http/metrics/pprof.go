package metrics

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"rmd/api"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
)

// Profiles returns the routes of the profiles of this process, for Go's own tools. A profile shows
// the contents of memory and costs time while it is taken. Therefore profiles are off unless
// http.pprof is set, and then only administrators on this machine get them. If on is false, the
// routes answer that profiles are off.
func Profiles(on bool) []route.Route {
	profile := func(pattern string, h func(c *route.Call) http.HandlerFunc) route.Route {
		return route.Plain(pattern, func(c *route.Call) error {
			if err := mayProfile(c, on); err != nil {
				return err
			}
			c.AuditRead(auth.Clip(c.R.URL.Path), nil) // it can show what is in memory, and keys are
			h(c)(c.W, c.R)
			return nil
		}).As("profile")
	}
	return []route.Route{
		profile("/debug/pprof", func(*route.Call) http.HandlerFunc { return profileIndex }),
		profile("/debug/pprof/{name}", func(c *route.Call) http.HandlerFunc { return profileOf(c.Args["name"]) }),
	}
}

// profileIndex lists the profiles. Its links are relative, so its address must end with a slash.
func profileIndex(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/") {
		http.Redirect(w, r, r.URL.Path+"/", http.StatusFound)
		return
	}
	pprof.Index(w, r)
}

// profileSeconds is the longest duration of a profile, in seconds.
const profileSeconds = 60

// mayProfile refuses admitted callers that may not see a profile.
func mayProfile(c *route.Call, on bool) error {
	switch {
	case !on:
		return problem.New(api.CodeNotAvailable, "profiles are turned off on this replica",
			"set http.pprof: true in its rmd.yaml and start it again")
	case !auth.Loopback(c.R.RemoteAddr) || !auth.Loopback(auth.LocalAddress(c.R)):
		return problem.New(api.CodeNotAllowed, "profiles are for this machine alone",
			"ask on the replica's own machine, over 127.0.0.1")
	}
	if n, err := c.Number("seconds", 1); err != nil || n > profileSeconds {
		return problem.Invalid("seconds is out of range", "give 1 to 60")
	}
	return nil
}

// profileOf returns the handler of a profile. pprof.Index handles the profiles that the runtime
// keeps by name, and unknown names.
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
