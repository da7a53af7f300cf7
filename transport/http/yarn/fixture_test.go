package yarnweb

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/hadoop/admin"
	"rmd/transport/hadoop/client"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// fixture is a cluster of one planner behind the HTTP server of a Service, which uses the same client
// service as replicas do.
type fixture struct {
	t         *testing.T
	planner   *planner.Planner
	now       int64
	submitErr error
	readErr   error
	hidden    bool // Fork returns an empty state until Current is called
	svc       *Service
	srv       *httptest.Server
}

func (h *fixture) Do(_ context.Context, req input.Request) (input.Reply, uint64, error) {
	if h.submitErr != nil {
		return nil, 0, h.submitErr
	}
	h.now++
	reply, _ := h.planner.Plan(h.now, req)
	return reply, 1, nil
}

func (h *fixture) Fork() *state.State {
	if h.hidden {
		return state.New()
	}
	return h.planner.State().Fork()
}

func (h *fixture) Current(context.Context) error { h.hidden = false; return h.readErr }

func (h *fixture) Enabled() bool          { return true }
func (h *fixture) Admin(user string) bool { return user == "root" }
func (h *fixture) Groups(string) []string { return nil }
func (h *fixture) Find(st *state.State, name string) state.QueueSlot {
	if slot := st.Queues.Find(name); slot != 0 {
		return slot
	}
	return st.Queues.Find("root." + name)
}
func (h *fixture) Queue(*state.State, state.QueueSlot) (client.Queue, bool) {
	return client.Queue{MaxAllocation: yarn.NewResource(8192, 4)}, true
}
func (h *fixture) May(_ *state.State, _ state.QueueSlot, user string, _ []string) (bool, bool) {
	return user != "nobody", user == "root"
}
func (h *fixture) Maximum(*state.State) yarn.Resource { return yarn.NewResource(8192, 4) }

func (h *fixture) TrackUnregistered(*state.State) bool { return false }
func (h *fixture) Preprocess(*state.State, func() string) (label, queue, tag string) {
	return "", "", ""
}

// admit does what access.Access.Admit does.
func (h *fixture) admit(c *ipc.Caller, operation string) error {
	if h.Admin(c.User) {
		return nil
	}
	return &ipc.Error{Class: ipc.ClassYarn, Message: "org.apache.hadoop.security.AccessControlException: User " + c.User +
		" doesn't have permission to call '" + operation + "'"}
}

// noFiles stands for the files of admin, which calls about labels do not read.
type noFiles struct{ admin.Files }

func newFixture(t *testing.T, own ...func(netip.AddrPort) bool) *fixture {
	return newFixtureWith(t, nil, own...)
}

func newFixtureWith(t *testing.T, more []input.Property, own ...func(netip.AddrPort) bool) *fixture {
	t.Helper()
	return newFixtureAt(t, "127.0.0.1", more, own...)
}

// newFixtureAt returns a fixture whose node has registered from an address.
func newFixtureAt(t *testing.T, node string, more []input.Property, own ...func(netip.AddrPort) bool) *fixture {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{t: t, planner: p, now: 1_780_000_000_000}
	const prefix = "yarn.scheduler.capacity."
	entropy := make([]byte, 32)
	h.must(&input.InitCluster{ClusterID: "c", ClusterTimestamp: h.now, Entropy: entropy,
		Properties: append([]input.Property{
			{Name: prefix + "root.queues", Value: "default,batch"}, {Name: prefix + "root.default.capacity", Value: "50"},
			{Name: prefix + "root.batch.capacity", Value: "50"},
			{Name: prefix + "maximum-am-resource-percent", Value: "1"},
			{Name: prefix + "root.default.user-limit-factor", Value: "10"},
			{Name: "yarn.acl.enable", Value: "true"}, {Name: "yarn.admin.acl", Value: "root"},
			{Name: prefix + "root.acl_submit_applications", Value: "ann"},
			{Name: prefix + "root.acl_administer_queue", Value: "root"},
			{Name: "yarn.cluster.max-application-priority", Value: "10"},
			{Name: "yarn.resourcemanager.am.max-attempts", Value: "4"}}, more...)})
	h.must(&input.Tick{Entropy: entropy})
	h.must(&input.RegisterNode{ID: yarn.NodeID{Host: "n1", Port: 1}, Address: node, Rack: "/r",
		Total: yarn.NewResource(65536, 64)})
	c := client.DefaultConfig()
	c.Logger, c.Submitter, c.Reader, c.Access, c.Queues, c.WebURL = hclog.NewNullLogger(), h, h, h, h, "http://rm1:8088"
	c.Now = func() time.Time { return time.UnixMilli(h.now) }
	service, err := client.New(c)
	if err != nil {
		t.Fatal(err)
	}
	a := admin.DefaultConfig()
	a.Logger, a.ID, a.Submitter, a.Reader, a.Files, a.Admit = hclog.NewNullLogger(), "rm1", h, h, noFiles{}, h.admit
	a.Groups, a.Leader, a.Unhealthy = h.Groups, func() (bool, bool) { return true, true }, func() error { return nil }
	administration, err := admin.New(a)
	if err != nil {
		t.Fatal(err)
	}
	cfg := ServiceConfig{Logger: hclog.NewNullLogger(), Reader: h, Client: service, Admin: administration}
	if len(own) > 0 {
		cfg.Own = own[0]
	}
	if h.svc, err = NewService(cfg); err != nil {
		t.Fatal(err)
	}
	h.srv = httptest.NewServer(h.svc)
	t.Cleanup(func() { h.srv.Close(); h.svc.Close() })
	return h
}

func (h *fixture) must(in input.Input) input.Reply {
	h.t.Helper()
	reply, _, err := h.Do(context.Background(), input.Request{Input: in})
	if err != nil {
		h.t.Fatalf("%T: %v", in, err)
	}
	if f := reply.Refused(); f != nil {
		h.t.Fatalf("%T was refused: %v", in, f)
	}
	return reply
}

// app submits an unmanaged application and returns its attempt.
func (h *fixture) app() yarn.AttemptID {
	h.t.Helper()
	return yarn.AttemptID{App: h.must(&input.SubmitApplication{User: "ann", Queue: "root.default", Unmanaged: true}).(*input.SubmitApplicationReply).ID, Attempt: 1}
}

// registered submits an application and registers its AM with a tracking address.
func (h *fixture) registered(tracking string) yarn.AttemptID {
	h.t.Helper()
	id := h.app()
	h.must(&input.RegisterAttempt{Attempt: id, Host: "am", TrackingURL: tracking})
	return id
}

func (h *fixture) record(id yarn.ApplicationID) *state.App {
	h.t.Helper()
	slot := h.planner.State().Apps.ByID(id)
	if slot == 0 {
		h.t.Fatalf("there is no %s", id)
	}
	return h.planner.State().Apps.Get(slot)
}

// reply is an HTTP response with its body.
type reply struct {
	*http.Response
	body string
}

// do sends a request to the service. It does not follow redirects.
func (h *fixture) do(method, path, body string, headers ...string) reply {
	h.t.Helper()
	req, err := http.NewRequest(method, h.srv.URL+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	c := http.Client{Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := c.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return reply{resp, string(b)}
}

func (h *fixture) get(path string, headers ...string) reply {
	h.t.Helper()
	return h.do(http.MethodGet, path, "", headers...)
}

// want checks the status, and that the body contains the texts.
func (r reply) want(t *testing.T, status int, says ...string) reply {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("%s %s: %d, not %d: %s", r.Request.Method, r.Request.URL, r.StatusCode, status, r.body)
	}
	for _, s := range says {
		if !strings.Contains(r.body, s) {
			t.Errorf("%s %s does not say %q: %s", r.Request.Method, r.Request.URL, s, r.body)
		}
	}
	return r
}

// to checks that the answer redirects to an address.
func (r reply) to(t *testing.T, where string) {
	t.Helper()
	if r.StatusCode != http.StatusFound || r.Header.Get("Location") != where {
		t.Errorf("%s: %d to %q, not to %q", r.Request.URL, r.StatusCode, r.Header.Get("Location"), where)
	}
}

// master starts a web server of an AM and returns its address.
func master(t *testing.T, f http.HandlerFunc) *url.URL {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var errNoLeader = errors.New("no leader")
