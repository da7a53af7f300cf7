package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"rmd/transport/http/v1/api"
)

// attackTables are all hostile inputs, by port.
var attackTables = []struct {
	port   string
	rows   []hostile
	secure bool // only with TLS
	plain  bool // TLS makes no difference: only without
	alone  bool // one input at a time
}{
	{port: "replicas", rows: hostilePeer},
	{port: "replicas", rows: hostileCertificates, secure: true},
	{port: "REST", rows: hostileWeb},
	{port: "all of YARN's", rows: hostileWire, plain: true},
	{port: "clients", rows: hostileClient, plain: true},
	{port: "AMs", rows: hostileMaster, plain: true},
	{port: "nodes", rows: hostileTracker, plain: true},
	{port: "administrators", rows: hostileAdmin, plain: true},
	{port: "owners", rows: hostileOwners, plain: true, alone: true},
	{port: "crowds", rows: hostileCrowds, plain: true, alone: true},
}

// makeTokens creates an access token for each role, the administrator's first.
func (a *attack) makeTokens() {
	secret := func(name, role string, more ...string) {
		a.secret[name] = strings.TrimSpace(a.done(append([]string{"access", "token", "create", "-q", "--role", role, "--name", name}, more...)...))
	}
	secret("admin", "admin")
	a.Setenv("RMD_TOKEN", a.secret["admin"])
	secret("operator", "operator")
	secret("submit", "submit")
	secret("read", "read")
	secret("honest", "submit")
}

// state returns, by name and as text, everything that hostile inputs must not change.
func (a *attack) state() map[string]string {
	out := map[string]string{}
	read := func(path string, doc any) {
		req, err := http.NewRequest(http.MethodGet, "http://"+a.leader().http+path, nil)
		if err != nil {
			a.Fatal(err)
		}
		req.Header.Set(api.HeaderToken, a.secret["admin"])
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			a.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(doc); err != nil || resp.StatusCode != http.StatusOK {
			a.Fatalf("GET %s by the admin: status %s, want 200; decoding the body: %v", path, resp.Status, err)
		}
	}
	for _, path := range []string{"/v1/conf", "/v1/access/tokens", "/v1/upgrade"} {
		var doc map[string]any
		read(path, &doc)
		delete(doc, "index")
		b, _ := json.Marshal(doc) // doc was decoded from JSON
		out[path] = string(b)
	}
	var pilot api.AutopilotState
	read("/v1/autopilot", &pilot)
	out["autopilot"] = fmt.Sprintf("%+v", pilot.Settings)
	var members api.Members
	read("/v1/cluster/members", &members)
	for _, m := range members.Members {
		out["member "+m.ID] = fmt.Sprintf("%s at %s, votes %v", m.Incarnation, m.Address, m.Voter)
	}
	var nodes struct{ Nodes []api.Node }
	read("/v1/nodes", &nodes)
	for _, n := range nodes.Nodes {
		if n.Host != "127.0.0.9" { // the honest NodeManager
			out["node "+n.ID] = fmt.Sprintf("%s %v", n.State, n.Total)
		}
	}
	var apps struct {
		Apps []struct{ ID, User, State, Queue string }
	}
	read("/v1/apps", &apps)
	for _, p := range apps.Apps {
		if p.User != "honest" && p.User != "ann" && (p.State == "SUBMITTED" || p.State == "ACCEPTED" || p.State == "RUNNING") {
			out["application "+p.ID] = fmt.Sprintf("of %s in %s: %s", p.User, p.Queue, p.State)
		}
	}
	return out
}

// same checks that only honest callers changed the state.
func (a *attack) same(before map[string]string) {
	after := a.state()
	for name, was := range before {
		if after[name] != was {
			a.Errorf("%s was %s, and is %s", name, was, after[name])
		}
	}
	var more []string
	for name, is := range after {
		if _, there := before[name]; !there {
			more = append(more, name+" "+is)
		}
	}
	if len(more) > 0 {
		slices.Sort(more)
		a.Errorf("%d things are there that were not, such as %s", len(more), more[0])
	}
	var v api.Verify
	if !a.get(a.leader(), "/v1/cluster/verify", &v) || !v.Equal {
		a.Errorf("the replicas differ: %+v", v)
	}
}
