package route

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"rmd/transport/http/auth"
	"rmd/yarn"
)

// leastRoles has the least role for each endpoint that is not a plain read. A write that is missing
// here needs the role admin; a test checks that none is missing.
var leastRoles = map[string]yarn.Role{
	"GET /":          yarn.RoleNone,
	"GET /isActive":  yarn.RoleNone,
	"GET /healthz":   yarn.RoleNone,
	"GET /readyz":    yarn.RoleNone,
	"GET /v1/health": yarn.RoleNone,
	"GET /v1/ready":  yarn.RoleNone,
	"GET /v1/leader": yarn.RoleNone,
	"GET /v1/access": yarn.RoleNone,

	"POST /v1/apps":                       yarn.RoleSubmit,
	"POST /v1/apps/{id}:kill":             yarn.RoleSubmit,
	"POST /v1/apps/{id}:move":             yarn.RoleSubmit,
	"POST /v1/apps/{id}:gang":             yarn.RoleSubmit,
	"POST /v1/apps/{id}:priority":         yarn.RoleSubmit,
	"POST /v1/apps/{id}/attempt:register": yarn.RoleSubmit,
	"POST /v1/apps/{id}/attempt:allocate": yarn.RoleSubmit,
	"POST /v1/apps/{id}/attempt:finish":   yarn.RoleSubmit,

	"POST /v1/nodes:drain":         yarn.RoleOperator,
	"POST /v1/nodes/{id}:drain":    yarn.RoleOperator,
	"POST /v1/nodes/{id}:undrain":  yarn.RoleOperator,
	"POST /v1/nodes/{id}:forget":   yarn.RoleOperator,
	"POST /v1/nodes/{id}:resource": yarn.RoleOperator,
	"POST /v1/labels:add":          yarn.RoleOperator,
	"POST /v1/labels:remove":       yarn.RoleOperator,
	"POST /v1/labels:map":          yarn.RoleOperator,
	"POST /v1/queues/{path}:stop":  yarn.RoleOperator,
	"POST /v1/queues/{path}:start": yarn.RoleOperator,
	"POST /v1/queues/{path}:adopt": yarn.RoleOperator,
	"DELETE /v1/reservations/{id}": yarn.RoleOperator,
	"PUT /v1/conf":                 yarn.RoleOperator,
	"POST /v1/conf:rollback":       yarn.RoleOperator,
	"POST /v1/snapshot:take":       yarn.RoleOperator,
	"POST /v1/cluster:transfer":    yarn.RoleOperator,

	"POST /v1/cluster:init":                 yarn.RoleAdmin,
	"POST /v1/cluster:join":                 yarn.RoleAdmin,
	"POST /v1/cluster/members/{id}:promote": yarn.RoleAdmin,
	"POST /v1/cluster/members/{id}:demote":  yarn.RoleAdmin,
	"POST /v1/cluster/members/{id}:remove":  yarn.RoleAdmin,
	"POST /v1/cluster/tokens":               yarn.RoleAdmin,
	"PUT /v1/autopilot":                     yarn.RoleAdmin,
	"POST /v1/upgrade:finalize":             yarn.RoleAdmin,
	"GET /v1/snapshot":                      yarn.RoleAdmin, // contains the keys that sign tokens
	"PUT /v1/snapshot":                      yarn.RoleAdmin,
	"POST /v1/shadow":                       yarn.RoleOperator,
	"DELETE /v1/shadow":                     yarn.RoleOperator,
	"POST /v1/replay:rerun":                 yarn.RoleOperator, // the most expensive of all reads
	"POST /v1/preemption:preview":           yarn.RoleOperator, // as expensive
	"GET /v1/access/tokens":                 yarn.RoleAdmin,
	"POST /v1/access/tokens":                yarn.RoleAdmin,
	"DELETE /v1/access/tokens/{name}":       yarn.RoleAdmin,
	"POST /v1/inputs":                       yarn.RoleAdmin, // can act for any node
	"GET /debug/pprof":                      yarn.RoleAdmin, // shows the contents of memory
	"GET /debug/pprof/{name}":               yarn.RoleAdmin,
}

// Listed returns the endpoints in leastRoles, as METHOD PATTERN.
func Listed() []string { return slices.Sorted(maps.Keys(leastRoles)) }

// firstRoutes lists the first steps of a cluster, for which nobody can have a token yet.
var firstRoutes = map[string]bool{"POST /v1/cluster:init": true, "POST /v1/cluster:join": true,
	"POST /v1/access/tokens": true}

// hadoopRoot is the root of Hadoop's REST API.
const hadoopRoot = "/ws/v1/cluster"

// setAccess fills in what the route requires of its caller. For changes through Hadoop's API,
// Hadoop's user and ACLs count as well. Any user may change applications. Other changes need an
// administrator. user.name proves nothing, so once there are tokens, an administrator is a caller
// with the role operator.
func (t *Route) setAccess() {
	t.access.Class = t.Class
	name := t.Method + " " + t.Pattern
	least, listed := leastRoles[name]
	t.access.First = firstRoutes[name]
	t.access.Queues = name == "PUT /v1/conf" || name == "PUT "+hadoopRoot+"/scheduler-conf"
	switch {
	case listed:
		t.access.Least = least
	case t.Class == auth.ClassRead:
		t.access.Least = yarn.RoleRead
	case strings.HasPrefix(t.Pattern, hadoopRoot+"/apps"), t.Pattern == hadoopRoot+"/delegation-token":
		t.access.Least, t.access.Hadoop = yarn.RoleSubmit, true
	case strings.HasPrefix(t.Pattern, hadoopRoot):
		t.access.Least = yarn.RoleOperator
	default:
		t.access.Least = yarn.RoleAdmin
	}
}

// administrative reports whether the audit records failed calls of the route.
func (t *Route) administrative() bool {
	return t.access.Least >= yarn.RoleOperator && t.Class == auth.ClassWrite ||
		t.access.Least == yarn.RoleAdmin && t.Method != http.MethodGet
}
