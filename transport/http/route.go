package httpserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// handler answers a call, or returns the error to answer with.
type handler func(c *call) error

// route is one endpoint. In its pattern {name} stands for one segment of the
// path, {name}:verb for one that ends in an action.
type route struct {
	method  string
	pattern string
	class   Class
	query   string // the parameters it takes, besides those of every read
	handle  handler
	segs    []string
	least   yarn.Role // that the caller needs, once access is guarded
	hadoop  bool      // Hadoop's own user and ACLs judge besides
	first   bool      // a first step of a cluster
}

// readParams are what every read under /v1 takes.
const readParams = "consistent min_index"

func get(pattern, query string, h handler) route {
	return route{method: http.MethodGet, pattern: pattern, class: ClassRead, query: query + " " + readParams, handle: h}
}

func post(pattern, query string, h handler) route {
	return route{method: http.MethodPost, pattern: pattern, class: ClassWrite, query: query, handle: h}
}

func put(pattern, query string, h handler) route {
	return route{method: http.MethodPut, pattern: pattern, class: ClassWrite, query: query, handle: h}
}

// compile cuts the patterns into segments.
func compile(routes []route) []route {
	for i := range routes {
		routes[i].setRole()
		routes[i].segs = strings.Split(strings.Trim(routes[i].pattern, "/"), "/")
	}
	return routes
}

// match returns the values of the pattern's names when the path fits.
func (t *route) match(segs []string) (map[string]string, bool) {
	if len(segs) != len(t.segs) {
		return nil, false
	}
	var args map[string]string
	for i, want := range t.segs {
		have := segs[i]
		end := strings.IndexByte(want, '}')
		if want == "" || want[0] != '{' || end < 0 {
			if have != want {
				return nil, false
			}
			continue
		}
		value, ok := strings.CutSuffix(have, want[end+1:])
		if !ok || value == "" {
			return nil, false
		}
		if args == nil {
			args = map[string]string{}
		}
		args[want[1:end]] = value
	}
	return args, true
}

// segments cuts a request's path; ok is false when it is not well-formed.
func segments(u *url.URL) ([]string, bool) {
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i, p := range parts {
		v, err := url.PathUnescape(p)
		if err != nil {
			return nil, false
		}
		parts[i] = v
	}
	return parts, true
}

// find returns the route of a request. HEAD is answered as GET.
func (s *Server) find(r *http.Request) (*route, map[string]string, error) {
	segs, ok := segments(r.URL)
	if !ok {
		return nil, nil, invalid("the path is not well-formed", "escape it as RFC 3986 says")
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allowed []string
	for i := range s.routes {
		t := &s.routes[i]
		args, ok := t.match(segs)
		if !ok {
			continue
		}
		if t.method == method {
			return t, args, nil
		}
		allowed = append(allowed, t.method)
	}
	if len(allowed) == 0 || (method == http.MethodPost && strings.Contains(segs[len(segs)-1], ":") && !slices.Contains(allowed, http.MethodPost)) {
		return nil, nil, problem(api.CodeNotFound, "there is nothing at "+r.Method+" "+r.URL.Path, "GET / lists what there is")
	}
	slices.Sort(allowed)
	allowed = slices.Compact(allowed)
	return nil, nil, problem(api.CodeMethodNotAllowed, r.URL.Path+" does not take "+r.Method, "use "+strings.Join(allowed, " or "), allowed...)
}

// checkQuery refuses parameters that the route does not take, so that a filter
// with a typing error does not silently pass everything.
func (t *route) checkQuery(q url.Values) error {
	if t.query == anyQuery {
		return nil
	}
	known := strings.Fields(t.query)
	var unknown []string
	for name := range q { // sorted below
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	do := "it takes none"
	if len(known) > 0 {
		do = "it takes " + strings.Join(known, ", ")
	}
	return problem(api.CodeUnknownField, "unknown query parameter "+strings.Join(unknown, ", "), do, unknown...)
}

// anyQuery marks routes that ignore what they do not know, as Hadoop does.
const anyQuery = "*"

// table lists every endpoint.
func (s *Server) table() []route {
	var all []route
	for _, part := range [][]route{s.inputRoutes(), s.appRoutes(), s.nodeRoutes(), s.queueRoutes(), s.reservationRoutes(),
		s.confRoutes(), s.clusterRoutes(), s.snapshotRoutes(), s.accessRoutes(), s.eventRoutes(), s.logRoutes(), s.auditRoutes(), s.wsRoutes(), s.rootRoutes(), s.profileRoutes()} {
		all = append(all, part...)
	}
	return compile(all)
}
