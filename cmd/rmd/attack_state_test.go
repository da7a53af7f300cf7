package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rmd/api"
	"rmd/transport/hadoop/proto"
)

// attackTables has all hostile inputs, by port. They are made when the attack begins: some have
// megabytes, and every replica and command of the tests is a process of this program.
var attackTables = []struct {
	port   string
	rows   func() []hostile
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
		a.secret[name] = strings.TrimSpace(a.done(
			append([]string{"access", "token", "create", "-q", "--role", role, "--name", name}, more...)...))
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
		if p.User != "honest" && p.User != "ann" &&
			(p.State == "SUBMITTED" || p.State == "ACCEPTED" || p.State == "RUNNING") {
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

// TestOneUserFillsTheNames lets the AM of one user name more hosts than it may, which the cluster does
// not know. The AM of another user must then still be served, with an unknown host. When the work
// has ended, its names must be gone from every replica. It is no row of TestAttack, because the
// calls are as long as many calls of honest AMs.
func TestOneUserFillsTheNames(t *testing.T) {
	t.Parallel()
	h := startHadoop(t, 3, "")
	names := func(p *process) (n int) {
		resp, err := http.Get("http://" + p.http + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_, value, _ := strings.Cut(string(b), "\nrmd_names ")
		if _, err := fmt.Sscan(value, &n); err != nil {
			t.Fatalf("the metrics of %s: %v", p.id, err)
		}
		return n
	}
	unknown := func(priority int32, from, n int) []*proto.ResourceRequestProto {
		asks := wants(priority, 1, 1024, "unknown")[2:] // "*", for no other host
		for i := range n {
			asks = append(asks, wants(priority, 1, 1024, fmt.Sprint("unknown", from+i))[0])
		}
		return asks
	}
	lead := h.index(h.leader())
	evil, good := h.registered(lead, "mallory", "b"), h.registered((lead+1)%3, "ann", "a")
	few := names(h.all[lead])
	const calls, hosts = 15, 20_000 // a quarter of all names, 262,144, is what one user may have
	for i := range calls {
		evil.beat(unknown(int32(i+1), hosts*i, hosts)...)
	}
	full := names(h.all[lead])
	if full < 200_000 || full > 270_000 {
		t.Errorf("%d unknown hosts of one user make %d names", calls*hosts, full)
	}
	good.beat(unknown(1, calls*hosts, 1)...)
	if got := names(h.all[lead]); got != full+1 {
		t.Errorf("an unknown host of another user makes %d names of %d", got, full)
	}
	for _, m := range []*master{evil, good} {
		h.done("app", "kill", m.id.App.String())
	}
	for _, p := range h.all {
		h.await(p.id+" has forgotten the names", patience, func() bool { return names(p) <= few })
	}
}
