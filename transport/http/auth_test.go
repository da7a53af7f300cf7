package httpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/route"
	yarnweb "rmd/transport/http/yarn"
	"rmd/yarn"
)

// secretFor returns the access token of a role in these tests.
func secretFor(name string) string { return auth.TokenPrefix + "secret-of-" + name }

func tokenEvent(name string, role yarn.Role, ends int64) *event.AccessTokenSet {
	hash := sha256.Sum256([]byte(secretFor(name)))
	return &event.AccessTokenSet{Name: name, Hash: hash[:], Role: role, ExpiresMillis: ends, By: "test"}
}

// guardedBench returns a server whose state has an access token for each role, named like the role.
func guardedBench(t testing.TB, change func(*Config)) *bench {
	b := newBench(t, change)
	for _, r := range yarn.Roles() {
		b.h.apply(t, tokenEvent(r.String(), r, clusterTime+3_600_000))
	}
	return b
}

func bearer(name string) []string { return []string{"Authorization", "Bearer " + secretFor(name)} }

// asked returns a request from this machine with the token of a role. An empty role means no token.
func asked(method, path, role string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8088", "127.0.0.1:40000"
	r = r.WithContext(contextWithLocal(r, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8088}))
	if role != "" {
		r.Header.Set(api.HeaderToken, secretFor(role))
	}
	return r
}

// TestTokenWithoutState checks that a replica without the state of a cluster passes over an access token,
// which it cannot look up: an administrator who always names one can still create the cluster.
func TestTokenWithoutState(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Reader = newHistory() })
	b.into(200, nil, "GET", "/v1/cluster", "", bearer("admin")...)
	if w := b.ask("POST", "/v1/cluster:init", `{"dry_run":true}`, bearer("admin")...); w.Code == 401 {
		t.Errorf("init with a token: %d %s", w.Code, w.Body)
	}
	b = newBench(t, nil)
	b.fails(401, api.CodeUnauthenticated, "GET", "/v1/cluster", "", bearer("admin")...)
}

// TestEveryRouteHasItsRole compares the least role of every endpoint that is not a plain read with
// testdata/roles.txt. It also checks that leastRoles contains every write of rmd's own API.
func TestEveryRouteHasItsRole(t *testing.T) {
	b := newBench(t, nil)
	var lines []string
	for i := range b.s.mux.Routes() {
		r := &b.s.mux.Routes()[i]
		if r.Method == http.MethodGet && r.Access().Least == yarn.RoleRead {
			continue
		}
		mark := ""
		if r.Access().Hadoop {
			mark = " and Hadoop's own"
		}
		lines = append(lines, fmt.Sprintf("%-9s %-6s %s%s", r.Access().Least, r.Method, r.Pattern, mark))
		if listed := slices.Contains(route.Listed(), r.Method+" "+r.Pattern); !listed && r.Class != auth.ClassRead &&
			!yarnweb.Owns(r.Pattern) {
			t.Errorf("%s %s changes something and has no role in leastRoles", r.Method, r.Pattern)
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", "roles.txt")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the roles have changed; see with -rewrite what differs from %s", path)
	}
	for _, name := range route.Listed() {
		if !slices.ContainsFunc(b.s.mux.Routes(), func(r route.Route) bool { return r.Method+" "+r.Pattern == name }) {
			t.Errorf("%s is no endpoint", name)
		}
	}
}

// TestEveryRouteByEveryRole asks every endpoint without a token and with each role, in each mode,
// before and after there are tokens.
func TestEveryRouteByEveryRole(t *testing.T) {
	for _, mode := range []string{auth.Optional, auth.Required, auth.Off} {
		for _, tokens := range []bool{false, true} {
			change := func(c *Config) { c.Auth.Mode = mode }
			b := newBench(t, change)
			if tokens {
				b = guardedBench(t, change)
			}
			for i := range b.s.mux.Routes() {
				route := &b.s.mux.Routes()[i]
				for _, role := range append([]yarn.Role{yarn.RoleNone}, yarn.Roles()...) {
					if role != yarn.RoleNone && !tokens {
						continue
					}
					name := role.String()
					if role == yarn.RoleNone {
						name = ""
					}
					r, err := b.s.guard.Identify(http.Header{}, asked(route.Method, "/x", name), false)
					if err == nil {
						err = b.s.guard.Admit(r, route.Access())
					}
					if want := mayCall(mode, tokens, role, route); (err == nil) != want {
						t.Errorf("%s, tokens %v, %s: %s %s: %v", mode, tokens, role, route.Method, route.Pattern, err)
					}
				}
			}
		}
	}
}

// mayCall reports whether a caller on this machine may call a route. It states the rules again,
// independently of package auth.
func mayCall(mode string, tokens bool, role yarn.Role, r *route.Route) bool {
	probe := slices.Contains([]string{"/", "/isActive", "/v1/health", "/v1/ready", "/v1/leader", "/v1/access", "/healthz",
		"/readyz"}, r.Pattern)
	look := r.Class == auth.ClassRead && r.Pattern != "/v1/snapshot" && r.Pattern != "/v1/replay:rerun" &&
		r.Pattern != "/v1/access/tokens" && !strings.HasPrefix(r.Pattern, "/debug/")
	switch {
	case mode == auth.Off || probe:
		return true
	case role != yarn.RoleNone:
		return role >= r.Access().Least || role == yarn.RoleSubmit && r.Access().Queues
	case mode == auth.Required && tokens:
		return false
	case mode == auth.Required: // nobody can have a token yet
		return slices.Contains([]string{"/v1/cluster:init", "/v1/cluster:join"}, r.Pattern) ||
			r.Pattern == "/v1/access/tokens" && r.Method == "POST"
	case tokens:
		return look || r.Access().Hadoop
	}
	return true
}

func TestFirstTokenOnlyFromLoopback(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Auth.Mode = auth.Required })
	for _, c := range []struct {
		local, remote string
		status        int
	}{{"127.0.0.1:8088", "127.0.0.1:4", 201}, {"10.0.0.1:8088", "10.0.0.9:4", 401},
		{"127.0.0.1:8088", "10.0.0.9:4", 401}} {
		r := asked("POST", "/v1/access/tokens", "")
		addr, err := net.ResolveTCPAddr("tcp", c.local)
		if err != nil {
			t.Fatal(err)
		}
		r = r.WithContext(contextWithLocal(r, addr))
		r.RemoteAddr, r.Body = c.remote, body(`{"name":"boss","role":"admin"}`)
		w := httptest.NewRecorder()
		b.s.Handler().ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("POST /v1/access/tokens from %s to %s: status %d, want %d: %s",
				c.remote, c.local, w.Code, c.status, w.Body)
		}
	}
}

// TestInvalidTokenRefused checks that a forged, revoked or expired token is refused, even for calls
// that need no token.
func TestInvalidTokenRefused(t *testing.T) {
	b := guardedBench(t, nil)
	b.h.apply(t, tokenEvent("short", yarn.RoleAdmin, clusterTime+120_001),
		tokenEvent("gone", yarn.RoleAdmin, clusterTime+3_600_000))
	b.into(200, nil, "GET", "/v1/apps", "", bearer("short")...)
	b.into(200, nil, "GET", "/v1/apps", "", bearer("gone")...)
	b.into(200, nil, "GET", "/v1/apps", "", api.HeaderToken, secretFor("gone"))
	b.into(200, nil, "GET", "/v1/apps", "", "Authorization", "Negotiate YII")
	b.h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 120_001}, &event.AccessTokenRevoked{Name: "gone"})
	for name, header := range map[string][]string{
		"expired": bearer("short"), "revoked": bearer("gone"), "never made": bearer("nobody"),
		"its hash": {"Authorization", fmt.Sprintf("Bearer %x", sha256.Sum256([]byte(secretFor("admin"))))},
		"cut":      {"Authorization", "Bearer " + secretFor("admin")[:10]}, "empty": {"Authorization", "Bearer "},
		"two": {"Authorization", "Bearer " + secretFor("admin"), api.HeaderToken, secretFor("read")},
	} {
		e := b.fails(401, api.CodeUnauthenticated, "GET", "/v1/apps", "", header...)
		if strings.Contains(e.Message+e.Remedy, "secret-of") {
			t.Errorf("%s: the answer tells the token: %+v", name, e)
		}
		b.fails(401, api.CodeUnauthenticated, "POST", "/v1/nodes/sim-01:drain", "{}", header...)
	}
	w := b.ask("POST", "/v1/nodes/sim-01:drain", "{}")
	if w.Code != 401 || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("nobody: %d %v", w.Code, w.Header())
	}
	b.fails(403, api.CodeNotAllowed, "POST", "/v1/nodes/sim-01:drain", "{}", bearer("submit")...)
	b.into(200, nil, "POST", "/v1/nodes/sim-01:drain", "{}", bearer("operator")...)
}

// TestUnknownTokenChecksLeader checks that a replica asks the leader for the newest state before it
// refuses a token that it does not know, and that a flood of forged tokens does not flood the
// leader.
func TestUnknownTokenChecksLeader(t *testing.T) {
	b := guardedBench(t, nil)
	b.k.readIndex = func(context.Context) (uint64, error) {
		if st, at := b.h.Fork(); st.Access[0].Name != "a" {
			return b.h.apply(t, tokenEvent("a", yarn.RoleOperator, clusterTime+3_600_000)), nil
		} else {
			return at, nil
		}
	}
	b.into(200, nil, "POST", "/v1/nodes/sim-01:drain", "{}", bearer("a")...)
	n := 0
	b.k.readIndex = func(context.Context) (uint64, error) { n++; return 0, nil }
	for range 100 {
		b.fails(401, api.CodeUnauthenticated, "GET", "/v1/apps", "", bearer("forged")...)
	}
	if n > 30 {
		t.Errorf("the leader was asked %d times for forged tokens", n)
	}
}

// TestPlainPublicHTTPTakesNoWrites checks that plain HTTP on a public address refuses writes and
// reads of secrets, for every role.
func TestPlainPublicHTTPTakesNoWrites(t *testing.T) {
	b := guardedBench(t, nil)
	public := func(method, path string) int {
		r := asked(method, path, "admin")
		r = r.WithContext(contextWithLocal(r, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 8088}))
		r.RemoteAddr = "10.0.0.9:4"
		w := httptest.NewRecorder()
		b.s.Handler().ServeHTTP(w, r)
		return w.Code
	}
	for path, want := range map[string]int{"POST /v1/nodes/sim-01:drain": 403, "GET /v1/snapshot": 403,
		"GET /v1/access/tokens": 403, "POST /v1/inputs": 403, "GET /v1/apps": 200} {
		method, path, _ := strings.Cut(path, " ")
		if got := public(method, path); got != want {
			t.Errorf("%s %s: %d, want %d", method, path, got, want)
		}
	}
}

// TestSubmitRoleOwnUserOnly checks that a caller with the role submit acts only as the user that
// its token names. Application 1 is alice's.
func TestSubmitRoleOwnUserOnly(t *testing.T) {
	b := guardedBench(t, nil)
	b.h.apply(t, tokenEvent("alice", yarn.RoleSubmit, clusterTime+3_600_000))
	for _, path := range []string{":kill", ":move", ":priority", "/attempt:register", "/attempt:allocate",
		"/attempt:finish"} {
		b.fails(403, api.CodeNotAllowed, "POST", "/v1/apps/"+app1+path, `{}`, bearer("submit")...)
	}
	b.into(200, nil, "POST", "/v1/apps/"+app1+":kill", `{}`, append(bearer("alice"), api.HeaderUser, "root")...)
	if got := b.d.last(t).Input.(*input.KillApplication).User; got != "alice" {
		t.Errorf("alice acts as %q", got)
	}
	b.into(200, nil, "POST", "/v1/apps/"+app1+":kill", `{}`, append(bearer("operator"), api.HeaderUser, "root")...)
	if got := b.d.last(t).Input.(*input.KillApplication).User; got != "root" {
		t.Errorf("an operator acts as %q", got)
	}
	b.fails(403, api.CodeNotAllowed, "POST", "/v1/apps", `{"user":"bob"}`, bearer("alice")...)
	b.into(201, nil, "POST", "/v1/apps", `{}`, append(bearer("alice"), api.HeaderUser, "bob")...)
	if got := b.d.last(t).Input.(*input.SubmitApplication).User; got != "alice" {
		t.Errorf("submitted as %q", got)
	}
}

// lateBody is a body that calls before when its first byte is read.
type lateBody struct {
	before func()
	io.Reader
}

func (l *lateBody) Read(p []byte) (int, error) {
	if l.before != nil {
		l.before()
		l.before = nil
	}
	return l.Reader.Read(p)
}

// TestSubmitRoleOtherApplicationsRefused checks that the role submit cannot act on another user's
// application that is submitted while the call's body arrives, or that only the leader knows yet.
func TestSubmitRoleOtherApplicationsRefused(t *testing.T) {
	b := guardedBench(t, nil)
	next := uint32(5)
	for path, doc := range map[string]string{":kill": `{}`, ":move": `{"queue":"root.batch"}`, ":gang": `{"gang":""}`,
		":priority":         `{"priority":1}`,
		"/attempt:register": `{}`, "/attempt:allocate": `{}`, "/attempt:finish": `{}`} {
		for by, want := range map[string]int{"body": 404, "leader": 403} {
			id, seq := fmt.Sprintf("application_%d_%04d", clusterTime, next), next
			next++
			late := &lateBody{Reader: strings.NewReader(doc)}
			b.k.readIndex = nil
			if by == "body" {
				late.before = func() { submit(t, b.h, seq, "root.batch", "bob") }
			} else {
				b.k.readIndex = func(context.Context) (uint64, error) {
					submit(t, b.h, seq, "root.batch", "bob")
					_, at := b.h.Fork()
					return at, nil
				}
			}
			r := asked("POST", "/v1/apps/"+id+path, "submit")
			r.Body = io.NopCloser(late)
			w := httptest.NewRecorder()
			if b.s.Handler().ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s, submitted with the %s: %d %s", path, by, w.Code, w.Body)
			}
		}
	}
	if got := b.d.asked(); len(got) > 0 {
		t.Errorf("%d calls came through, such as %+v", len(got), got[0].Input)
	}
}

// TestSubmitRoleOwnGroupsRefused checks that a caller with the role submit cannot name its own
// groups, because groups grant queues and priorities.
func TestSubmitRoleOwnGroupsRefused(t *testing.T) {
	for _, known := range []bool{false, true} {
		b := guardedBench(t, func(c *Config) {
			if known {
				c.Hadoop.Groups = func(user string) []string { return []string{"of-" + user} }
			}
		})
		for _, doc := range []string{`{"groups":["admins"]}`, `{"tag_groups":["admins"],"tags":["userid=root"]}`} {
			b.fails(403, api.CodeNotAllowed, "POST", "/v1/apps", doc, bearer("submit")...)
			b.into(201, nil, "POST", "/v1/apps", doc, bearer("operator")...)
		}
		b.into(201, nil, "POST", "/v1/apps", `{"tags":["userid=bob"]}`, bearer("submit")...)
		in := b.d.last(t).Input.(*input.SubmitApplication)
		var own, tagged []string
		if known {
			own, tagged = []string{"of-submit"}, []string{"of-bob"}
		}
		if !slices.Equal(in.Groups, own) || !slices.Equal(in.TagGroups, tagged) {
			t.Errorf("groups known %v: submitted with %q and %q", known, in.Groups, in.TagGroups)
		}
	}
}

// TestUnknownApplicationIDRefused checks that a submission may use only an application id that rmd
// has handed out.
func TestUnknownApplicationIDRefused(t *testing.T) {
	b := guardedBench(t, nil)
	doc := func(seq uint32) string { return fmt.Sprintf(`{"id":"application_%d_%04d"}`, clusterTime, seq) }
	for _, seq := range []uint32{5, 7, 2147483647, 4294967295} {
		for _, role := range []string{"submit", "admin"} {
			if e := b.fails(400, api.CodeInvalidRequest, "POST", "/v1/apps", doc(seq), bearer(role)...); !slices.Equal(e.Details,
				[]string{"id"}) {
				t.Errorf("submit with id number %d as %s: details %q, want only \"id\"",
					seq, role, e.Details)
			}
		}
	}
	b.k.readIndex = func(context.Context) (uint64, error) {
		return b.h.apply(t, &event.ApplicationIDsReserved{App: 5, Count: 3}), nil
	}
	b.into(201, nil, "POST", "/v1/apps", doc(7), bearer("submit")...)
	b.k.readIndex = nil
	b.fails(400, api.CodeInvalidRequest, "POST", "/v1/apps", doc(8), bearer("submit")...)
}

func TestTokenEndpoints(t *testing.T) {
	b := guardedBench(t, nil)
	var made api.AccessTokenMade
	b.into(201, &made, "POST", "/v1/access/tokens", `{"name":"ci","role":"operator","ttl":"720h"}`,
		append(bearer("admin"), api.HeaderKey, "cli/1")...)
	req := b.d.last(t)
	in := req.Input.(*input.SetAccessToken)
	hash := sha256.Sum256([]byte(made.Token))
	if !bytes.Equal(in.Hash, hash[:]) || in.Role != yarn.RoleOperator || in.Who != "token admin" || req.Key != "" ||
		in.ExpiresMillis != clusterTime+120_000+720*3_600_000 || !strings.HasPrefix(made.Token, auth.TokenPrefix) ||
		len(made.Token) < 40 {
		t.Errorf("%+v became %+v", made, in)
	}
	var list api.AccessTokens
	body := b.ask("GET", "/v1/access/tokens", "", bearer("admin")...).Body.String()
	b.into(200, &list, "GET", "/v1/access/tokens", "", bearer("admin")...)
	if len(list.Tokens) != 4 || list.Tokens[0].Name != "admin" || list.Tokens[0].ChangedMillis != clusterTime+120_000 ||
		strings.Contains(body, "hash") {
		t.Errorf("GET /v1/access/tokens: want 4 tokens, the first admin, changed at %d, and no hash: %s",
			clusterTime+120_000, body)
	}
	b.into(200, nil, "DELETE", "/v1/access/tokens/ci?force", "", bearer("admin")...)
	if got := b.d.last(t).Input.(*input.RevokeAccessToken); got.Name != "ci" || !got.Force {
		t.Errorf("DELETE of the token ci with force proposed %+v, want name ci and force", got)
	}
	for _, bad := range []string{`{"name":"x"}`, `{"name":"x","role":"boss"}`, `{"name":"x","role":"none"}`,
		`{"name":"x","role":"read","ttl":"1ms"}`} {
		b.fails(400, api.CodeInvalidRequest, "POST", "/v1/access/tokens", bad, bearer("admin")...)
	}
	var me api.Access
	b.into(200, &me, "GET", "/v1/access", "", bearer("submit")...)
	if me.Name != "submit" || me.Role != "submit" || me.By != auth.ByToken || !me.Guarded || me.Auth != auth.Optional {
		t.Errorf("GET /v1/access = %+v, want submit by its token, guarded, authentication optional", me)
	}
}

func TestCertificatesCarryRoles(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Auth.Cluster, c.Auth.Mode = "prod", auth.Required
		c.Auth.Member = func(id string) bool { return id == "rm1" }
		c.Auth.Revoked = func(serial string) bool { return serial == "2a" }
	})
	for uri, want := range map[string]int{
		"rmd://prod/replica/rm1": 200, "rmd://prod/replica/rm9": 401, "rmd://other/replica/rm1": 401,
		"rmd://prod/role/operator/alice": 200, "rmd://prod/role/admin/alice": 200, "rmd://prod/role/submit/alice": 403,
		"rmd://prod/role/boss/alice": 401,
		"rmd://prod/role/none/alice": 401, "rmd://prod/role/admin/": 401, "rmd://prod/role/admin": 401,
		"https://prod/role/admin/alice": 401, "rmd://prod/x/role/admin/alice": 401, "": 401,
	} {
		leaf := &x509.Certificate{}
		if uri != "" {
			u, err := url.Parse(uri)
			if err != nil {
				t.Fatal(err)
			}
			leaf.URIs = []*url.URL{u}
		}
		r := asked("POST", "/v1/nodes/sim-01:drain", "")
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf},
			VerifiedChains: [][]*x509.Certificate{{leaf}}}
		w := httptest.NewRecorder()
		b.s.Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d: %s", uri, w.Code, want, w.Body)
		}
		leaf.SerialNumber = big.NewInt(42) // revoked after the handshake
		w = httptest.NewRecorder()
		if b.s.Handler().ServeHTTP(w, r); w.Code != 401 {
			t.Errorf("%q, revoked: %d", uri, w.Code)
		}
		leaf.SerialNumber = nil
		r.TLS.VerifiedChains = nil // sent by the client, but not verified
		w = httptest.NewRecorder()
		if b.s.Handler().ServeHTTP(w, r); w.Code != 401 {
			t.Errorf("%q, not verified: %d", uri, w.Code)
		}
	}
}

// TestHadoopPath checks that user.name names the caller under /ws/v1, and that a required role is
// checked as well.
func TestHadoopPath(t *testing.T) {
	for mode, anonymous := range map[string]int{auth.Optional: 202, auth.Required: 401, auth.Off: 202} {
		b := guardedBench(t, func(c *Config) {
			c.Auth.Mode = mode
			c.Hadoop.Service = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) })
		})
		for path, want := range map[string]int{"?user.name=alice": anonymous, "": anonymous} {
			if w := b.ask("PUT", "/ws/v1/cluster/apps/x/state"+path, "{}"); w.Code != want {
				t.Errorf("PUT state %q with authentication %s: status %d, want %d",
					path, mode, w.Code, want)
			}
		}
		labels := map[string]int{auth.Optional: 401, auth.Required: 401, auth.Off: 202}[mode]
		for _, path := range []string{"/add-node-labels", "/remove-node-labels?labels=x&user.name=root",
			"/nodes/n1:1/replace-labels", "/replace-node-to-labels"} {
			if w := b.ask("POST", wsRoot+path, "{}"); w.Code != labels {
				t.Errorf("%s: labels by nobody, %s: %d", mode, path, w.Code)
			}
		}
		if mode == auth.Off {
			continue
		}
		for c, want := range map[[2]string]int{{"read", "?user.name=read"}: 403, {"submit", "?user.name=submit"}: 202,
			{"submit", "?user.name=root"}: 403, {"submit", ""}: 403, {"operator", "?user.name=root"}: 202} {
			if w := b.ask("PUT", "/ws/v1/cluster/apps/x/state"+c[1], "{}", bearer(c[0])...); w.Code != want {
				t.Errorf("%s %v: %d, want %d", mode, c, w.Code, want)
			}
		}
		for role, want := range map[string]int{"submit": 403, "operator": 202} { // labels need the role operator
			if w := b.ask("POST", "/ws/v1/cluster/remove-node-labels?labels=x&user.name="+role, "",
				bearer(role)...); w.Code != want {
				t.Errorf("%s: labels with the role %s: %d", mode, role, w.Code)
			}
		}
		if w := b.ask("GET", "/proxy/application_1_0001/", "", bearer("read")...); w.Code != 202 {
			t.Errorf("%s: proxy %d", mode, w.Code)
		}
	}
}

// TestFailuresAreRecorded checks that the audit records refused calls of administrators, and only
// one of many equal refusals.
func TestFailuresAreRecorded(t *testing.T) {
	b := guardedBench(t, nil)
	b.fails(401, api.CodeUnauthenticated, "POST", "/v1/cluster:transfer", "{}", "X-Rmd-User", "mallory was here")
	b.fails(403, api.CodeNotAllowed, "PUT", "/v1/autopilot", "{}", bearer("submit")...)
	b.fails(400, api.CodeInvalidRequest, "POST", "/v1/access/tokens", `{"name":"x"}`, bearer("admin")...)
	b.fails(403, api.CodeNotAllowed, "POST", "/v1/nodes/nope:drain", "{}", bearer("submit")...)
	b.fails(401, api.CodeUnauthenticated, "POST", "/v1/apps", "{}") // not an administrator's call
	for range 200 {
		b.fails(401, api.CodeUnauthenticated, "PUT", "/v1/snapshot", "")
	}
	var got []*input.Audit
	// the records are written after the answers
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got = b.d.audits(); len(got) >= 5 {
			break
		}
	}
	find := func(action, who, result string) {
		t.Helper()
		if !slices.ContainsFunc(got,
			func(a *input.Audit) bool { return a.Action == action && a.Who == who && a.Result == result }) {
			t.Errorf("no record of %s by %s: %s", action, who, result)
		}
	}
	find("cluster transfer", "mallory was here", api.CodeUnauthenticated)
	find("autopilot set", "token submit", api.CodeNotAllowed)
	find("access token create", "token admin", api.CodeInvalidRequest)
	find("node drain", "token submit", api.CodeNotAllowed)
	for _, a := range got { // a target is what the path names, not the path
		if want := map[string]string{"node drain": "nope"}[a.Action]; a.Action != "snapshot restore" && a.Target != want {
			t.Errorf("%s has the target %q, want %q", a.Action, a.Target, want)
		}
	}
	if len(got) != 5 { // 200 equal refusals make one record
		t.Errorf("%d records of 204 failures", len(got))
	}
}

// TestRefusedChangeIsRecorded checks that the audit records what a refused operation was to change.
func TestRefusedChangeIsRecorded(t *testing.T) {
	b := newBench(t, nil)
	b.d.answering(func(_ context.Context, r input.Request) (input.Reply, uint64, error) {
		if _, ok := r.Input.(*input.Audit); ok {
			return r.Input.NewReply(), 99, nil
		}
		return input.Refuse(r.Input, input.Refusef(input.InvalidRequest, "lower it", "too much")), 0, nil
	})
	b.fails(400, api.CodeInvalidRequest, "PUT", "/v1/conf",
		`{"properties":{"yarn.scheduler.capacity.root.queues":"z"},"comment":"why"}`)
	got := b.d.audits()
	if len(got) != 1 || !strings.Contains(got[0].Target, `root.queues: "online,train,batch,adhoc" → "z"`) ||
		!strings.HasSuffix(got[0].Target, "(why)") {
		t.Errorf("the records of a refused change: %+v", got)
	}
}

// TestNoSecretIsLogged checks that logins and refusals write no secret to the log at the level
// trace.
func TestNoSecretIsLogged(t *testing.T) {
	var log bytes.Buffer
	b := guardedBench(t, func(c *Config) {
		c.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &log})
	})
	b.ask("GET", "/v1/apps", "", bearer("forged")...)
	b.ask("POST", "/v1/nodes/sim-01:drain", "{}", bearer("read")...)
	w := b.logIn("operator", "/ui/")
	b.ask("GET", "/ui/", "", "Cookie", w.Header().Get("Set-Cookie"))
	b.logIn("forged", "/ui/")
	if strings.Contains(log.String(), "secret-of") || strings.Contains(log.String(), sessionOf(w)) {
		t.Errorf("the log tells a secret:\n%s", log.String())
	}
	if !strings.Contains(log.String(), "logged in to the pages") {
		t.Errorf("a login is not logged:\n%s", log.String())
	}
}

func TestDepthOfDocuments(t *testing.T) {
	b := newBench(t, nil)
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for doc, deep := range map[string]bool{nest(33): true, nest(32): false, `"` + strings.Repeat("[", 100) + `"`: false,
		`"\"` + strings.Repeat("{", 99) + `"`: false,
		`{"a":` + nest(32) + `}`:              true, strings.Repeat("[]", 100): false, strings.Repeat("{", 1_000_000): true} {
		if err := route.CheckDepth([]byte(doc)); (err != nil) != deep {
			t.Errorf("CheckDepth(%.40s…) = %v, want error %t", doc, err, deep)
		}
	}
	b.fails(400, api.CodeInvalidRequest, "POST", "/v1/apps", `{"tags":`+nest(40)+`}`)
}

// TestServeTLS checks that handlers see the TLS state of a connection of ServeTLS. Client
// certificates and the rule for plain HTTP depend on it.
func TestServeTLS(t *testing.T) {
	seen := make(chan bool, 1)
	b := newBench(t, func(c *Config) {
		c.Admit = func(r *http.Request, _ auth.Class) error { seen <- r.TLS != nil; return nil }
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made := httptest.NewTLSServer(nil) // for its certificate
	defer made.Close()
	go func() { _ = b.s.ServeTLS(l, &tls.Config{Certificates: made.TLS.Certificates}) }()
	resp, err := made.Client().Get("https://" + l.Addr().String() + "/v1/health")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !<-seen || resp.StatusCode != 200 {
		t.Errorf("%d, or no TLS was seen", resp.StatusCode)
	}
}
