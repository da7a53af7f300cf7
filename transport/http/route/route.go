package route

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
)

// Handler answers a call, or returns the error to answer with.
type Handler func(c *Call) error

// Route is an endpoint. In its pattern {name} matches one segment of the path, and {name}:verb one
// that ends in an action.
type Route struct {
	Method  string
	Pattern string
	Class   auth.Class
	Query   string // accepted parameters
	Handle  Handler
	// Described describes the route in openapi.json. Only routes under /v1 and health checks need
	// it.
	Described Doc

	action string // what the audit calls the change; see As and Makes
	access auth.Access
	segs   []string
}

// As returns the route with the name of its change in the audit.
func (t Route) As(action string) Route {
	t.action = action
	return t
}

// Makes returns a route that submits an input like in. The audit calls its change as it calls that of the
// input, also if the call is refused before there is an input.
func (t Route) Makes(in input.Input) Route { return t.As(input.Operation(in)) }

// Action returns what the audit calls the change of the route. Only POST /v1/inputs has no name: the
// inputs in its body have.
func (t Route) Action() string { return cmp.Or(t.action, t.Method+" "+t.Pattern) }

// Access returns what the route requires of its caller.
func (t *Route) Access() auth.Access { return t.access }

// ReadParams are the parameters that every read under /v1 accepts.
const ReadParams = "consistent min_index"

// Get returns a route that reads.
func Get(pattern, query string, h Handler) Route {
	return Route{Method: http.MethodGet, Pattern: pattern, Class: auth.ClassRead,
		Query: query + " " + ReadParams, Handle: h}
}

// Post returns a route that writes.
func Post(pattern, query string, h Handler) Route {
	return Route{Method: http.MethodPost, Pattern: pattern, Class: auth.ClassWrite, Query: query, Handle: h}
}

// Put returns a route that writes.
func Put(pattern, query string, h Handler) Route {
	return Route{Method: http.MethodPut, Pattern: pattern, Class: auth.ClassWrite, Query: query, Handle: h}
}

// Delete returns a route that writes.
func Delete(pattern, query string, h Handler) Route {
	return Route{Method: http.MethodDelete, Pattern: pattern, Class: auth.ClassWrite, Query: query, Handle: h}
}

// Plain returns a route that reads and ignores unknown parameters, as Hadoop does.
func Plain(pattern string, h Handler) Route {
	return Route{Method: http.MethodGet, Pattern: pattern, Class: auth.ClassRead, Query: AnyQuery, Handle: h}
}

// match returns the values of the names in the pattern. It returns false if the path does not
// match.
func (t *Route) match(segs []string) (map[string]string, bool) {
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

// segments splits the path of a request. ok is false if an escape is malformed.
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

// find returns the route of a request and the values of its names. HEAD uses the route of GET.
func (m *Mux) find(r *http.Request) (*Route, map[string]string, error) {
	segs, ok := segments(r.URL)
	if !ok {
		return nil, nil, problem.Invalid("the path is not well-formed", "escape it as RFC 3986 says")
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allowed []string
	for i := range m.routes {
		t := &m.routes[i]
		args, ok := t.match(segs)
		if !ok {
			continue
		}
		if t.Method == method {
			return t, args, nil
		}
		allowed = append(allowed, t.Method)
	}
	if len(allowed) == 0 || (method == http.MethodPost && strings.Contains(segs[len(segs)-1], ":") &&
		!slices.Contains(allowed, http.MethodPost)) {
		return nil, nil, problem.New(api.CodeNotFound, "there is nothing at "+r.Method+" "+r.URL.Path,
			"GET / lists what there is")
	}
	slices.Sort(allowed)
	allowed = slices.Compact(allowed)
	return nil, nil, problem.New(api.CodeMethodNotAllowed, r.URL.Path+" does not take "+r.Method,
		"use "+strings.Join(allowed, " or "), allowed...)
}

// checkQuery refuses unknown parameters. Otherwise a filter with a typing error would select
// everything.
func (t *Route) checkQuery(q url.Values) error {
	if t.Query == AnyQuery {
		return nil
	}
	known := strings.Fields(t.Query)
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
	return problem.New(api.CodeUnknownField, "unknown query parameter "+strings.Join(unknown, ", "), do, unknown...)
}

// AnyQuery marks routes that ignore unknown parameters, as Hadoop does.
const AnyQuery = "*"
