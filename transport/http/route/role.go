package route

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"rmd/transport/http/auth"
	"rmd/yarn"
)

// leastRoles names the least role for each endpoint that is not a plain read. A
// write that is missing here is for administrators; a test holds that none is.
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
	"GET /v1/snapshot":                      yarn.RoleAdmin, // it holds the keys that tokens are signed with
	"PUT /v1/snapshot":                      yarn.RoleAdmin,
	"POST /v1/shadow":                       yarn.RoleOperator,
	"DELETE /v1/shadow":                     yarn.RoleOperator,
	"POST /v1/replay:rerun":                 yarn.RoleOperator, // it is the most work that a read can make
	"POST /v1/preemption:preview":           yarn.RoleOperator, // as much work
	"GET /v1/access/tokens":                 yarn.RoleAdmin,
	"POST /v1/access/tokens":                yarn.RoleAdmin,
	"DELETE /v1/access/tokens/{name}":       yarn.RoleAdmin,
	"POST /v1/inputs":                       yarn.RoleAdmin, // it speaks for nodes
	"GET /debug/pprof":                      yarn.RoleAdmin, // what is in memory
	"GET /debug/pprof/{name}":               yarn.RoleAdmin,
}

// Listed names the endpoints that leastRoles has, as METHOD PATTERN.
func Listed() []string { return slices.Sorted(maps.Keys(leastRoles)) }

// firstRoutes are the first steps of a cluster, which nobody can have a token for.
var firstRoutes = map[string]bool{"POST /v1/cluster:init": true, "POST /v1/cluster:join": true, "POST /v1/access/tokens": true}

// hadoopRoot is where Hadoop's API lies.
const hadoopRoot = "/ws/v1/cluster"

// setAccess fills in what a route asks of its caller. What changes something under
// Hadoop's API is judged by its own user and ACLs: applications by anybody's,
// everything else by an administrator's, which here is an operator's role once
// there are tokens, since user.name proves nothing.
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

// administrative says whether a call is recorded when it fails.
func (t *Route) administrative() bool {
	return t.access.Least >= yarn.RoleOperator && t.Class == auth.ClassWrite || t.access.Least == yarn.RoleAdmin && t.Method != http.MethodGet
}
