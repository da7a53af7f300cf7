package httpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/yarn"
)

func ids(apps []api.App) []string {
	var out []string
	for _, a := range apps {
		out = append(out, strings.TrimPrefix(a.ID, "application_1780000000000_000"))
	}
	return out
}

func TestAppFilters(t *testing.T) {
	b := newBench(t, nil)
	for query, want := range map[string]string{
		"": "1 2 3 4", "state=running": "1 2", "state=RUNNING,FINISHED": "1 2 4", "user=alice": "1 4", "user=nobody": "",
		"queue=root.batch": "3 4", "queue=batch": "3 4",
		"queue=root": "1 2 3 4", "type=spark": "3", "tag=etl": "3", "name=waits": "3", "order=newest": "4 3 2 1",
		"limit=2": "1 2", "after=" + app2: "3 4",
		"after=" + app3 + "&order=newest&limit=1": "2",
	} {
		var d api.Apps
		b.into(200, &d, "GET", "/v1/apps?"+query, "")
		if got := strings.Join(ids(d.Apps), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestPagingIsStable checks that the pages of a list have no gaps and no repetitions while
// applications start and end.
func TestPagingIsStable(t *testing.T) {
	b := newBench(t, nil)
	var got []string
	after := ""
	for i := 0; ; i++ {
		var d api.Apps
		b.into(200, &d, "GET", "/v1/apps?limit=1&after="+after, "")
		got = append(got, ids(d.Apps)...)
		if i == 1 { // a new application reuses the slot of application 4
			b.h.apply(t, &event.ApplicationForgotten{App: 4})
			submit(t, b.h, 5, "root.online", "dave")
		}
		if after = d.Next; after == "" {
			break
		}
	}
	if want := []string{"1", "2", "3", "5"}; !slices.Equal(got, want) {
		t.Errorf("pages held %v, want %v", got, want)
	}
	for _, list := range []string{"nodes", "apps/" + app1 + "/containers"} {
		var first, second map[string]any
		b.into(200, &first, "GET", "/v1/"+list+"?limit=1", "")
		next, _ := first["next"].(string)
		if next == "" {
			t.Fatalf("%s: no next page", list)
		}
		b.into(200, &second, "GET", "/v1/"+list+"?limit=5&after="+next, "")
		if _, more := second["next"]; more {
			t.Errorf("%s: a page after the last", list)
		}
	}
}

func TestReadHeaders(t *testing.T) {
	b := newBench(t, nil)
	b.k.become(func(k *consensus) { k.role, k.staleness = "follower", 1500*time.Millisecond })
	h := b.into(200, nil, "GET", "/v1/apps", "")
	for name, want := range map[string]string{api.HeaderIndex: "16", api.HeaderRole: "follower",
		api.HeaderStaleness: "1500", "X-Content-Type-Options": "nosniff"} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	b.k.become(func(k *consensus) { k.staleness = -1 })
	if h := b.into(200, nil, "GET", "/v1/health", ""); h.Get(api.HeaderStaleness) != "" {
		t.Errorf("staleness %q of a replica that never heard a leader", h.Get(api.HeaderStaleness))
	}
	if w := b.ask("HEAD", "/v1/apps/"+app1, ""); w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
}

// TestReadRules checks that a read with consistent or min_index waits until the index is applied.
func TestReadRules(t *testing.T) {
	for _, path := range []string{"/v1/apps?consistent", "/v1/queues?consistent=true", "/v1/nodes?min_index=17",
		"/ws/v1/cluster/apps?consistent"} {
		b := newBench(t, nil)
		b.k.become(func(k *consensus) { k.readIndex = func(context.Context) (uint64, error) { return 17, nil } })
		got := make(chan string)
		go func() { got <- b.ask("GET", path, "").Header().Get(api.HeaderIndex) }()
		b.h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 130_000})
		if index := <-got; index != "17" {
			t.Errorf("%s: answered at index %s", path, index)
		}
	}
}

func TestReadRulesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *Config) { c.ReadTimeout = 500 * time.Millisecond })
		e := b.fails(504, api.CodeTimedOut, "GET", "/v1/apps?min_index=9999", "")
		if strings.Contains(e.Message, "outcome") {
			t.Errorf("a read has no outcome: %s", e.Message)
		}
		b.k.become(func(k *consensus) {
			k.readIndex = func(context.Context) (uint64, error) { return 0, problem.ErrNoLeader }
		})
		b.fails(503, api.CodeNoLeader, "GET", "/v1/apps?consistent", "")
		b.fails(400, api.CodeInvalidRequest, "GET", "/v1/apps?min_index=x", "")
		b.into(200, nil, "GET", "/v1/apps?consistent=false", "")
	})
}

func TestHealth(t *testing.T) {
	b := newBench(t, nil)
	b.into(200, nil, "GET", "/v1/ready", "")
	b.into(200, nil, "GET", "/v1/leader?role=leader", "")
	b.into(503, nil, "GET", "/v1/leader?role=follower", "")
	b.fails(400, api.CodeInvalidRequest, "GET", "/v1/leader?role=king", "")
	if w := b.ask("GET", "/isActive", ""); w.Code != 200 {
		t.Errorf("isActive on the leader: %d", w.Code)
	}
	b.k.become(func(k *consensus) { k.role, k.leader = "follower", "" })
	b.into(200, nil, "GET", "/v1/health", "")
	var h api.Health
	if hd := b.into(503, &h, "GET", "/v1/ready", ""); h.Status != api.CodeNoLeader || hd.Get("Retry-After") == "" {
		t.Errorf("ready without a leader: %+v", h)
	}
	b.k.become(func(k *consensus) { k.missing = "start rm2 or rm3" })
	if b.into(503, &h, "GET", "/v1/ready", ""); h.Message != "no leader is known; start rm2 or rm3" {
		t.Errorf("ready without a majority: %+v", h)
	}
	b.k.become(func(k *consensus) { k.leader, k.behind = "rm2", "3 of 9 entries" })
	if hd := b.into(503, &h, "GET", "/v1/ready", ""); h.Status != api.CodeCatchingUp || h.Message != "3 of 9 entries" ||
		hd.Get("Retry-After") == "" {
		t.Errorf("ready before it has caught up: %+v", h)
	}
	b.into(200, nil, "GET", "/v1/health", "")
	b.into(200, nil, "GET", "/v1/leader", "")
	b.k.become(func(k *consensus) { k.leader, k.behind = "", "" })
	b.into(503, nil, "GET", "/v1/leader", "")
	if w := b.ask("GET", "/isActive", ""); w.Code != 405 {
		t.Errorf("isActive on a follower: %d", w.Code)
	}
	b = newBench(t, func(c *Config) { c.Reader = newHistory() })
	b.into(503, &h, "GET", "/v1/ready", "")
	b.fails(409, "NOT_INITIALIZED", "GET", "/v1/conf", "")
	b.fails(409, "NOT_INITIALIZED", "GET", "/v1/queues", "")
	b.into(200, nil, "GET", "/v1/cluster", "")
	b.into(409, nil, "GET", "/ws/v1/cluster/scheduler", "")
	b.into(409, nil, "GET", "/ws/v1/cluster/metrics", "")
}

func TestVerdict(t *testing.T) {
	alive := func(id string, lag uint64, digest string) api.Member {
		return api.Member{ID: id, Voter: true, State: "alive", Lag: lag, Digest: digest, DigestIndex: 5}
	}
	for _, c := range []struct {
		name, leader string
		list         []api.Member
		status       string
		canLose      int
	}{
		{"three", "a", []api.Member{alive("a", 0, "x"), alive("b", 0, "x"), alive("c", 9, "x")}, "healthy", 1},
		{"lagging", "a", []api.Member{alive("a", 0, ""), alive("b", 0, ""), alive("c", 5000, "")}, "degraded", 0},
		{"diverged", "a", []api.Member{alive("a", 0, "x"), alive("b", 0, "y"), alive("c", 0, "x")}, "diverged", 1},
		{"no leader", "", []api.Member{alive("a", 0, "x"), alive("b", 0, "x"), alive("c", 0, "x")}, "no-leader", 0},
		{"one", "a", []api.Member{alive("a", 0, "x")}, "healthy", 0},
	} {
		v := view.Verdict(true, c.leader, c.list)
		if v.Status != c.status || v.CanLose != c.canLose {
			t.Errorf("%s: %s, can lose %d; want %s, %d", c.name, v.Status, v.CanLose, c.status, c.canLose)
		}
	}
	full := []api.Member{alive("a", 0, "x"), alive("b", 0, "x"), alive("c", 0, "x")}
	full[1].DiskFull, full[1].Problem, full[2].Problem = true, "disk full: 10 MiB free", "connections are refused"
	if v := view.Verdict(true, "a", full); v.Status != "degraded" || v.CanLose != 0 ||
		v.Text != "2 of 3 replicas in step, can lose 0; b: disk full: 10 MiB free; c: connections are refused" {
		t.Errorf("with problems: %+v", v)
	}
	if v := view.Verdict(false, "", nil); v.Status != "not-initialized" {
		t.Errorf("empty: %s", v.Status)
	}
}

// unheard is the consensus of a member that has just started: it does not know yet what is committed.
type unheard struct{ *consensus }

func (unheard) Leader() (id, address string)                  { return "", "" }
func (unheard) Members(context.Context) ([]api.Member, error) { return []api.Member{}, nil }
func (unheard) NoState() *api.Error                           { return problem.UnknownCommit("replica rm1 is a member") }

// TestStartingMember checks that a member that has just started is not shown as one without data.
func TestStartingMember(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Reader, c.Consensus = newHistory(), unheard{c.Consensus.(*consensus)} })
	var d api.Cluster
	b.into(200, &d, "GET", "/v1/cluster", "")
	if d.Verdict.Status != "starting" || !strings.HasPrefix(d.Verdict.Text, "replica rm1 is a member") {
		t.Errorf("verdict %+v, want starting", d.Verdict)
	}
}

func TestReservationFilters(t *testing.T) {
	b := newBench(t, nil)
	for query, want := range map[string]int{"node=sim-01:8041": 1, "node=sim-02": 0, "app=" + app2: 1, "app=" + app1: 0,
		"queue=root.train": 1, "queue=root.online": 0, "queue=root": 1, "after=r1": 0} {
		var d api.Reservations
		b.into(200, &d, "GET", "/v1/reservations?"+query, "")
		if len(d.Reservations) != want {
			t.Errorf("%s: %d, want %d", query, len(d.Reservations), want)
		}
	}
	b.h.apply(t, &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator})
	var d api.Reservations
	b.into(200, &d, "GET", "/v1/reservations", "")
	if d.Cancelled["OPERATOR"] != 1 || len(d.Reservations) != 0 {
		t.Errorf("after the cancellation: %+v", d)
	}
}

func TestWSFilters(t *testing.T) {
	b := newBench(t, nil)
	count := func(path, outer, inner string) int {
		var d map[string]map[string][]any
		b.into(200, &d, "GET", wsRoot+path, "")
		return len(d[outer][inner])
	}
	for query, want := range map[string]int{"": 4, "?states=RUNNING": 2, "?states=running,finished": 3, "?user=bob": 1,
		"?queue=root.batch": 2, "?queue=batch": 2, "?limit=3": 3, "?states=NEW": 0,
		"?applicationTypes=SPARK": 1, "?applicationTags=etl": 1, "?finalStatus=SUCCEEDED": 1,
		"?startedTimeBegin=1780000060000": 2, "?unknown=1": 4} {
		if got := count("/apps"+query, "apps", "app"); got != want {
			t.Errorf("apps%s: %d, want %d", query, got, want)
		}
	}
	for query, want := range map[string]int{"": 3, "?states=LOST": 0, "?states=RUNNING": 3} {
		if got := count("/nodes"+query, "nodes", "node"); got != want {
			t.Errorf("nodes%s: %d, want %d", query, got, want)
		}
	}
}

func TestWSErrors(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct {
		status                 int
		path, class, substring string
	}{
		{404, "/apps/application_1_0099", "NotFoundException", "app with id: application_1_0099 not found"},
		{400, "/apps/nonsense", "BadRequestException", "Invalid ApplicationId"},
		{400, "/apps?states=SLEEPING", "BadRequestException", "SLEEPING"},
		{400, "/apps?limit=0", "BadRequestException", "limit"},
		{404, "/nodes/none:1", "NotFoundException", "is not found"},
		{404, "/nowhere", "NotFoundException", "nothing"},
	} {
		var d struct {
			RemoteException struct{ Exception, Message, JavaClassName string }
		}
		b.into(c.status, &d, "GET", wsRoot+c.path, "")
		if d.RemoteException.Exception != c.class || !strings.Contains(d.RemoteException.Message, c.substring) ||
			!strings.HasSuffix(d.RemoteException.JavaClassName, c.class) {
			t.Errorf("GET %s: RemoteException %+v, want %s and %q in the message",
				c.path, d.RemoteException, c.class, c.substring)
		}
	}
	w := b.ask("GET", wsRoot+"/apps/nonsense", "", "Accept", "application/xml")
	if !strings.HasPrefix(w.Body.String(), `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`+
		"<RemoteException><exception>Bad") {
		t.Errorf("xml: %s", w.Body)
	}
}

func TestLog(t *testing.T) {
	b := newBench(t, nil)
	var d api.Log
	b.into(200, &d, "GET", "/v1/log?from=3&count=2", "")
	if len(d.Entries) != 2 || d.Entries[0].Index != 3 || d.Last != 16 {
		t.Errorf("GET /v1/log?from=3&count=2: want 2 entries, the first at 3, and last 16: %+v", d)
	}
	b.fails(400, api.CodeInvalidRequest, "GET", "/v1/log?count=100000", "")
	b.h.forget(10)
	e := b.fails(410, api.CodeTooOld, "GET", "/v1/log?from=3", "")
	if !slices.Contains(e.Details, "oldest=10") {
		t.Errorf("details %v", e.Details)
	}
	b = newBench(t, func(c *Config) { c.Log = nil })
	b.fails(501, api.CodeNotAvailable, "GET", "/v1/log", "")
}

// TestLogEntryTimes checks the times of log entries, wherever a read begins. An entry in the same
// millisecond as the one before does not advance the cluster's clock.
func TestLogEntryTimes(t *testing.T) {
	b := newBench(t, nil)
	var all api.Log
	b.into(200, &all, "GET", "/v1/log?from=1&count=50", "")
	at := int64(clusterTime)
	for _, e := range all.Entries {
		for _, v := range e.Events {
			if now, advances := v.Data["now_ms"].(float64); advances {
				at = int64(now)
			}
		}
		if e.AtMillis != at {
			t.Errorf("entry %d is of %d, not %d", e.Index, e.AtMillis, at)
		}
		var d api.Log
		b.into(200, &d, "GET", fmt.Sprintf("/v1/log?count=1&from=%d", e.Index), "")
		if len(d.Entries) != 1 || d.Entries[0].AtMillis != at {
			t.Errorf("read alone, entry %d is %+v, not of %d", e.Index, d.Entries, at)
		}
	}
}

// TestSecretsAreMasked checks that answers mask the values of secret keys and the bytes of hashes.
func TestSecretsAreMasked(t *testing.T) {
	b := newBench(t, nil)
	props := append(preset.Demo(), capacity.Property{Name: "yarn.resource-types.yarn.io/gpu.units", Value: ""})
	e := configured(t, 3, props[:len(props)-1], "")
	e.Properties = append(e.Properties, event.Property{Name: "ssl.keystore.password", Value: "hunter2"})
	b.h.apply(t, e, &event.JoinTokenCreated{Hash: []byte("hash-of-token"), Voter: true, ExpiresMillis: clusterTime + 1e6,
		CreatedBy: "root"})
	for _, path := range []string{"/v1/log?from=17", "/v1/conf", "/v1/conf/versions/3"} {
		body := b.ask("GET", path, "").Body.String()
		if strings.Contains(body, "hunter2") || strings.Contains(body, "hash-of-token") || strings.Contains(body, "aGFzaC") {
			t.Errorf("%s shows a secret: %s", path, body)
		}
		if !strings.Contains(body, "********") {
			t.Errorf("%s does not show that there is a secret", path)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	if err := (Config{}).Validate(); err == nil || !strings.Contains(err.Error(), "no Submitter") ||
		!strings.Contains(err.Error(), "MaxStreams") {
		t.Errorf("not everything is named: %v", err)
	}
	if _, err := New(DefaultConfig()); err == nil {
		t.Error("a server without its parts was made")
	}
}

func TestExplainRefused(t *testing.T) {
	b := newBench(t, nil)
	b.fails(409, "ALREADY_ENDED", "GET", "/v1/apps/"+app4+"/explain", "")
	b = newBench(t, func(c *Config) { c.Planner.Explain = nil })
	b.fails(501, api.CodeNotAvailable, "GET", "/v1/apps/"+app3+"/explain", "")
}

func TestRoot(t *testing.T) {
	b := newBench(t, func(c *Config) { c.NoPages = true })
	if body := b.ask("GET", "/", "").Body.String(); !strings.Contains(body, "rmd 1.0") ||
		!strings.Contains(body, "/v1/apps/{id}/explain") {
		t.Errorf("GET /: want the version and the route /v1/apps/{id}/explain: %s", body)
	}
	b = newBench(t, func(c *Config) {
		c.Pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("page " + r.URL.Path)) })
	})
	if w := b.ask("GET", "/", ""); w.Code != http.StatusFound || w.Header().Get("Location") != "/ui/" {
		t.Errorf("GET / with pages: status %d to %q, want 302 to /ui/", w.Code, w.Header().Get("Location"))
	}
	var index api.Index
	w := b.ask("GET", "/", "", "Accept", "application/json")
	if err := json.Unmarshal(w.Body.Bytes(), &index); err != nil || index.ID != "rm1" ||
		len(index.Routes) != len(b.s.mux.Routes()) {
		t.Errorf("GET / as JSON: error %v, id %q, %d routes, want rm1 and %d routes: %.300s",
			err, index.ID, len(index.Routes), len(b.s.mux.Routes()), w.Body)
	}
	if i := slices.IndexFunc(index.Routes, func(r api.Route) bool { return r.Path == "/v1/apps/{id}:kill" }); i < 0 ||
		index.Routes[i].Role != "submit" || index.Routes[i].Text == "" {
		t.Errorf("GET / as JSON: want the route /v1/apps/{id}:kill with role submit and a text: %.300s",
			w.Body)
	}
	for _, p := range []string{"/ui/apps", "/cluster/apps/RUNNING"} {
		if body := b.ask("GET", p, "").Body.String(); body != "page "+p {
			t.Errorf("GET %s = %q, want %q", p, body, "page "+p)
		}
	}
	b.fails(403, api.CodeNotAllowed, "POST", "/ui/kill", "", "Sec-Fetch-Site", "cross-site")
}

var errBroken = errors.New("disk on fire")
