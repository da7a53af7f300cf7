package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/transport/caller"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/yarn"
)

var id1 = yarn.ApplicationID{ClusterTimestamp: clusterTime, Seq: 1}

// writes lists all writes that become an input, with that input.
var writes = []struct {
	method, path, body string
	want               input.Input
}{
	{"POST", "/v1/apps",
		`{"name":"n","user":"u","queue":"q","am":{"memory-mb":1024,"vcores":1,"yarn.io/gpu":2},"priority":3,"tags":["a"],"tag_groups":["g"],"label":"gpu","am_label":" "}`,
		&input.SubmitApplication{Name: "n", User: "u", Queue: "q", Type: "YARN", AM: gpu(1024, 1, 2), Priority: 3,
			PrioritySet: true, Tags: []string{"a"}, TagGroups: []string{"g"}, Label: "gpu", AMLabel: " "}},
	{"POST", "/v1/apps?dry_run", `{"id":"` + app1 + `","user":"u"}`,
		&input.SubmitApplication{ID: id1, User: "u", Type: "YARN", DryRun: true}},
	{"POST", "/v1/apps/" + app1 + ":kill", `{"diagnostics":"enough"}`,
		&input.KillApplication{ID: id1, User: "op",
			Diagnostics: "Application " + app1 + " was killed by user op at 127.0.0.1 with diagnostic message: enough"}},
	{"POST", "/v1/apps/" + app1 + ":kill", ``,
		&input.KillApplication{ID: id1, User: "op",
			Diagnostics: "Application " + app1 + " was killed by user op at 127.0.0.1"}},
	{"POST", "/v1/apps/" + app1 + ":move", `{"queue":"root.batch"}`, &input.MoveApplication{ID: id1, Queue: "root.batch"}},
	{"POST", "/v1/apps/" + app1 + ":priority", `{"priority":0}`, &input.SetPriority{ID: id1}},
	{"POST", "/v1/apps/" + app1 + ":gang", `{"gang":"priority=1,count=4"}`,
		&input.SetGang{ID: id1, Gang: "priority=1,count=4"}},
	{"POST", "/v1/apps/" + app1 + ":gang", `{"gang":""}`, &input.SetGang{ID: id1}},
	{"POST", "/v1/apps/" + app1 + "/attempt:register", `{"host":"h","rpc_port":5}`,
		&input.RegisterAttempt{Attempt: yarn.AttemptID{App: id1, Attempt: 1}, Host: "h", RPCPort: 5}},
	{"POST", "/v1/apps/" + app1 + "/attempt:allocate",
		`{"response":4,"asks":[{"priority":1,"count":2,"size":{"memory-mb":10},"label":"gpu"},{"priority":1,"name":"/r1","count":1,"size":{},"relax":false}],"releases":["container_1780000000000_0001_01_000001"]}`,
		&input.Allocate{Attempt: yarn.AttemptID{App: id1, Attempt: 1}, Response: 4, FromAM: true,
			Asks: []input.Ask{{Key: key, Name: "*", Count: 2, Size: gpu(10, 0, 0), Relax: true, Label: "gpu"},
				{Key: key, Name: "/r1", Count: 1}},
			Releases: []yarn.ContainerID{{App: id1, Attempt: 1, Number: 1}}}},
	{"POST", "/v1/apps/" + app1 + "/attempt:allocate", `{"attempt":9,"gang":"priority=1,count=4"}`,
		&input.Allocate{Attempt: yarn.AttemptID{App: id1, Attempt: 9}, Gang: "priority=1,count=4"}},
	{"POST", "/v1/apps/" + app1 + "/attempt:finish", `{"final_status":"failed"}`,
		&input.FinishAttempt{Attempt: yarn.AttemptID{App: id1, Attempt: 1}, Final: yarn.FinalFailed}},
	{"POST", "/v1/nodes/sim-01:8041:drain", `{"timeout":"10m"}`,
		&input.DrainNode{ID: yarn.NodeID{Host: "sim-01", Port: 8041}, DeadlineMillis: clusterTime + 600_000}},
	{"POST", "/v1/nodes/sim-01:drain", `{"deadline_ms":5}`,
		&input.DrainNode{ID: yarn.NodeID{Host: "sim-01", Port: 8041}, DeadlineMillis: 5}},
	{"POST", "/v1/nodes:drain", `{"nodes":["sim-02:8041","sim-01"],"timeout":"10m"}`,
		&input.DrainNodes{IDs: []yarn.NodeID{{Host: "sim-02", Port: 8041}, {Host: "sim-01", Port: 8041}},
			DeadlineMillis: clusterTime + 600_000}},
	{"POST", "/v1/nodes/sim-01:8041:undrain", ``,
		&input.DrainNode{ID: yarn.NodeID{Host: "sim-01", Port: 8041}, Back: true}},
	{"POST", "/v1/nodes/sim-01:8041:forget", ``, &input.ForgetNode{ID: yarn.NodeID{Host: "sim-01", Port: 8041}}},
	{"POST", "/v1/nodes/new:1:resource", `{"total":{"memory-mb":1,"vcores":2}}`,
		&input.SetNodeResource{ID: yarn.NodeID{Host: "new", Port: 1}, Total: gpu(1, 2, 0)}},
	{"POST", "/v1/labels:add", `{"labels":[{"name":"gpu"},{"name":"spot","exclusive":false}]}`,
		&input.SetLabels{Labels: []input.Label{{Name: "gpu", Exclusive: true}, {Name: "spot"}}}},
	{"POST", "/v1/labels:add", `{"labels":[{"name":"gpu","exclusive":true}],"change":true}`,
		&input.SetLabels{Labels: []input.Label{{Name: "gpu", Exclusive: true}}, Change: true}},
	{"POST", "/v1/labels:remove", `{"names":["gpu","spot"]}`, &input.RemoveLabels{Names: []string{"gpu", "spot"}}},
	{"POST", "/v1/labels:map",
		`{"nodes":[{"node":"sim-01","label":"gpu"},{"node":"sim-02:8041","label":""}],"known_only":true}`,
		&input.LabelNodes{Nodes: []input.LabelledNode{{ID: yarn.NodeID{Host: "sim-01"}, Labels: []string{"gpu"}},
			{ID: yarn.NodeID{Host: "sim-02", Port: 8041}}}, KnownOnly: true}},
	{"POST", "/v1/queues/root.batch:stop", ``, &input.SetQueueState{Queue: "root.batch", State: yarn.QueueStopped}},
	{"POST", "/v1/queues/batch:start", ``, &input.SetQueueState{Queue: "root.batch", State: yarn.QueueRunning}},
	{"POST", "/v1/queues/batch:adopt?comment=c&dry_run=true", ``,
		&input.AdoptQueue{Queue: "root.batch", Author: "op", Comment: "c", IfVersion: 2, DryRun: true}},
	{"DELETE", "/v1/reservations/r1?reason=too+old", ``,
		&input.CancelReservation{Number: 1, Who: "op", Reason: "too old"}},
	{"PUT", "/v1/conf", `{"properties":{"b":"2","a":"1"},"comment":"c"}`,
		&input.SetQueues{Properties: []input.Property{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}, Author: "op",
			Comment: "c", IfVersion: 2}},
	{"POST", "/v1/conf:rollback", `{"to":1}`, &input.RollbackQueues{To: 1, Author: "op"}},
}

func TestWrites(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range writes {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			b.t = t
			w := b.ask(c.method, c.path, c.body, api.HeaderUser, "op", "If-Match", `"2"`)
			if w.Code >= 300 {
				t.Fatalf("status %d, want less than 300: %s", w.Code, w.Body)
			}
			if w.Header().Get(api.HeaderIndex) != "99" {
				t.Errorf("index %q", w.Header().Get(api.HeaderIndex))
			}
			got := b.d.last(t)
			if !reflect.DeepEqual(got.Input, c.want) {
				t.Errorf("input %+v\nwant  %+v", got.Input, c.want)
			}
		})
	}
}

// TestReplies checks that replies become documents with the cluster's names.
func TestReplies(t *testing.T) {
	b := newBench(t, nil)
	b.d.answering(func(_ context.Context, r input.Request) (input.Reply, uint64, error) {
		switch r.Input.(type) {
		case *input.SubmitApplication:
			return &input.SubmitApplicationReply{ID: yarn.ApplicationID{ClusterTimestamp: clusterTime, Seq: 3},
				Queue: "root.batch"}, 20, nil
		case *input.Allocate:
			return &input.AllocateReply{Response: 5,
				Granted: []input.Granted{{Container: yarn.ContainerID{App: id1, Attempt: 1, Number: 3}, Key: key,
					Node: yarn.NodeID{Host: "n", Port: 1}, Size: gpu(1, 2, 3)}},
				Completed: []input.ContainerStatus{{Container: yarn.ContainerID{App: id1, Attempt: 1, Number: 1},
					ExitStatus: -100}}, Headroom: gpu(9, 9, 9), Nodes: 3}, 21, nil
		}
		return &input.SetPriorityReply{Priority: 10}, 22, nil
	})
	var sub api.Submitted
	h := b.into(201, &sub, "POST", "/v1/apps?explain", `{"user":"carol"}`)
	if sub.ID != app3 || sub.Queue != "root.batch" || sub.Index != 20 || h.Get("Location") != "/v1/apps/"+app3 ||
		sub.Explain == nil || sub.Explain.Reason != "AM_LIMIT_QUEUE" {
		t.Errorf("submission = %+v, headers %v, want %s in root.batch at index 20, explained with AM_LIMIT_QUEUE",
			sub, h, app3)
	}
	var al api.Allocated
	b.into(200, &al, "POST", "/v1/apps/"+app1+"/attempt:allocate", "")
	if al.Response != 5 || al.Granted[0].Size["yarn.io/gpu"] != 3 || al.Completed[0].ExitStatus != -100 ||
		al.Headroom["vcores"] != 9 || al.Nodes != 3 {
		t.Errorf("allocate = %+v, want response 5, 3 GPUs granted, exit status -100, headroom of 9 vcores, 3 nodes",
			al)
	}
	var p api.Priority
	if b.into(200, &p, "POST", "/v1/apps/"+app1+":priority", `{"priority":99}`); p.Priority != 10 {
		t.Errorf("priority = %d, want 10, the one the planner set", p.Priority)
	}
}

// TestBadRequests checks that the answer to a faulty request says what is wrong.
func TestBadRequests(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxBodyBytes = 2000 })
	for _, c := range []struct {
		status             int
		code               string
		method, path, body string
		header             []string
	}{
		{404, api.CodeNotFound, "GET", "/nowhere", "", nil},
		{404, api.CodeNotFound, "POST", "/v1/apps/" + app1 + ":explode", "", nil},
		{405, api.CodeMethodNotAllowed, "DELETE", "/v1/apps/" + app1, "", nil},
		{405, api.CodeMethodNotAllowed, "PUT", "/v1/cluster", "", nil},
		{400, api.CodeUnknownField, "POST", "/v1/apps", `{"quue":"x"}`, nil},
		{400, api.CodeUnknownField, "POST", "/v1/apps", `{"user":"u","am":{"disks":1}}`, nil},
		{400, api.CodeUnknownField, "GET", "/v1/apps?quue=x", "", nil},
		// otherwise the query would be dropped and the answer would list everything
		{400, api.CodeInvalidRequest, "GET", "/v1/apps?user=ann&" + strings.Repeat("a&", 10_000), "", nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/apps?user=ann;limit=1", "", nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/apps?user=%zz", "", nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps", `{"priority":"high"}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps", `{`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps", `{} {}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps", `{"name":"x"}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps", `{"user":"u","am":{"memory-mb":-1}}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps", `{"user":"u","id":"app-7"}`, nil},
		{415, api.CodeUnsupportedMedia, "POST", "/v1/apps", `x`, []string{"Content-Type", "text/csv"}},
		{413, api.CodeTooLarge, "POST", "/v1/apps", `{"name":"` + strings.Repeat("x", 3000) + `"}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps/" + app1 + ":kill", "", []string{api.HeaderKey, "noslash"}},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps/" + app1 + ":move", "{}", nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps/" + app1 + ":priority", "{}", nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps/x:kill", "", nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps/" + app1 + "/attempt:finish", `{"final_status":"GREAT"}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/apps/" + app1 + "/attempt:allocate", `{"releases":["c1"]}`, nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/apps?state=SLEEPING", "", nil},
		{404, "NO_SUCH_LABEL", "GET", "/v1/labels/fpga", "", nil},
		{404, "NO_SUCH_LABEL", "GET", "/v1/nodes?label=fpga", "", nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/labels:map?after=a:b", "", nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/labels:add", `{"labels":[]}`, nil},
		{400, api.CodeUnknownField, "POST", "/v1/labels:add", `{"label":"gpu"}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/labels:remove", "", nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/labels:map", `{}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/labels:map", `{"nodes":[{"node":"a b","label":"gpu"}]}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/labels:map", `{"nodes":[{"node":"a:port","label":"gpu"}]}`, nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/apps?limit=0", "", nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/apps?limit=many", "", nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/apps?after=7", "", nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/apps?order=best", "", nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/apps/x", "", nil},
		{404, "NO_SUCH_APPLICATION", "GET", "/v1/apps/application_1_0001", "", nil},
		{404, "NO_SUCH_APPLICATION", "POST", "/v1/apps/application_1_0001/attempt:allocate", "", nil},
		{404, "NO_SUCH_NODE", "GET", "/v1/nodes/none", "", nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/nodes?state=HAPPY", "", nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/nodes/sim-01:8041:drain", `{"timeout":"soon"}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/nodes/sim-01:8041:drain", `{"timeout":"1s","deadline_ms":4}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/nodes:drain", `{"nodes":["sim-01"],"timeout":"1s","deadline_ms":4}`, nil},
		{404, "NO_SUCH_NODE", "POST", "/v1/nodes:drain", `{"nodes":["sim-01","none"]}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/nodes/sim-01:8041:resource", `{}`, nil},
		{404, "NO_SUCH_QUEUE", "GET", "/v1/queues/root.none", "", nil},
		{404, "NO_SUCH_RESERVATION", "GET", "/v1/reservations/r77", "", nil},
		{400, api.CodeInvalidRequest, "DELETE", "/v1/reservations/x", "", nil},
		{404, "NO_SUCH_VERSION", "GET", "/v1/conf/versions/9", "", nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/conf/versions/x", "", nil},
		{400, api.CodeInvalidRequest, "PUT", "/v1/conf", "{}", nil},
		{400, api.CodeInvalidRequest, "PUT", "/v1/conf", `{"properties":{"a":"b"}}`, []string{"If-Match", `"newest"`}},
		{400, api.CodeInvalidRequest, "PUT", "/v1/conf", `<configuration><prop`, []string{"Content-Type", "application/xml"}},
		{400, api.CodeInvalidRequest, "PUT", "/v1/conf", `{"properties":{"a.password":"********"}}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/conf:rollback", "", nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/cluster:join", "{}", nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/cluster/tokens", `{"role":"king"}`, nil},
		{400, api.CodeInvalidRequest, "POST", "/v1/cluster/tokens", `{"role":"voter","ttl":"25h"}`, nil},
		{400, api.CodeInvalidRequest, "PUT", "/v1/autopilot", `{"cleanup_dead_servers":true}`, nil},
		{400, api.CodeInvalidRequest, "PUT", "/v1/autopilot", `{"dead_server_last_contact_threshold":"1s"}`, nil},
		{400, api.CodeInvalidRequest, "GET", "/v1/events", "", []string{"Last-Event-ID", "x"}},
		{400, api.CodeInvalidRequest, "GET", "/v1/events?kind=Nonsense", "", nil},
		{415, api.CodeUnsupportedMedia, "PUT", "/v1/snapshot", "x", []string{"Content-Type", "text/plain"}},
		{409, "ALREADY_DONE", "POST", "/v1/upgrade:finalize", "", nil},
	} {
		t.Run(c.method+" "+c.path+" "+c.body[:min(len(c.body), 30)], func(t *testing.T) {
			b.t = t
			b.fails(c.status, c.code, c.method, c.path, c.body, c.header...)
		})
	}
	b.t = t
	if e := b.fails(400, api.CodeUnknownField, "POST", "/v1/apps", `{"quue":"x"}`); e.Details[0] != "quue" ||
		!strings.Contains(e.Remedy, "queue") {
		t.Errorf("the unknown field is not named: %+v", e)
	}
	if h := b.into(405, nil, "DELETE", "/v1/apps/"+app1, ""); h.Get("Allow") != "GET" {
		t.Errorf("Allow %q", h.Get("Allow"))
	}
	for _, r := range b.d.asked() {
		t.Errorf("%T went through the submitter", r.Input)
	}
}

type refusal struct{ code string }

func (r refusal) Error() string     { return r.code + ": no; do that" }
func (r refusal) ErrorCode() string { return r.code }

type busy struct{ refusal }

func (busy) RetryAfterMillis() int64 { return 2500 }

type explained struct{ error }

func (explained) Refusal() (string, string, string) {
	return "NOT_CAUGHT_UP", "rm5 is behind", "wait"
}

// TestRefusals checks the status and code of each error of the submitter and the cluster.
func TestRefusals(t *testing.T) {
	b := newBench(t, nil)
	const kill = "/v1/apps/" + app1 + ":kill"
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{refusal{"WOULD_LOSE_QUORUM"}, 409, "WOULD_LOSE_QUORUM"}, {refusal{"NO_SUCH_REPLICA"}, 404, "NO_SUCH_REPLICA"},
		{refusal{"STANDBY"}, 503, api.CodeNoLeader},
		{refusal{"UNKNOWN_OUTCOME"}, 504, api.CodeTimedOut}, {busy{refusal{"BUSY"}}, 503, api.CodeBusy},
		{explained{errBroken}, 409, "NOT_CAUGHT_UP"},
		{context.DeadlineExceeded, 504, api.CodeTimedOut},
		{fmt.Errorf("forward: %w", problem.ErrNoLeader), 503, api.CodeNoLeader}, {errBroken, 500, api.CodeInternal},
		{input.Refusef(input.KeyReused, "", "other body"), 409, "KEY_REUSED"},
		{input.Refusef(input.VersionConflict, "", "it is 3"), 412, "VERSION_CONFLICT"},
	} {
		b.d.answering(func(context.Context, input.Request) (input.Reply, uint64, error) { return nil, 0, c.err })
		e := b.fails(c.status, c.code, "POST", kill, "")
		if c.code == api.CodeTimedOut && !strings.Contains(e.Message, "outcome is unknown") {
			t.Errorf("message after %v = %q, want that the outcome is unknown", c.err, e.Message)
		}
	}
	b.d.answering(func(context.Context, input.Request) (input.Reply, uint64, error) {
		return nil, 0, busy{refusal{"BUSY"}}
	})
	if h := b.into(503, nil, "POST", kill, ""); h.Get("Retry-After") != "3" {
		t.Errorf("Retry-After %q", h.Get("Retry-After"))
	}
	b.d.answering(func(_ context.Context, r input.Request) (input.Reply, uint64, error) {
		return input.Refuse(r.Input, &input.Refusal{Reason: input.InvalidQueues, What: "bad", Do: "fix",
			Details: []string{"a", "b"}}), 0, nil
	})
	if e := b.fails(422, "INVALID_QUEUES", "PUT", "/v1/conf", `{"properties":{"a":"b"}}`); len(e.Details) != 2 ||
		e.Remedy != "fix" {
		t.Errorf("refusal of the queues = %+v, want 2 details and the remedy \"fix\"", e)
	}
	b = newBench(t, func(c *Config) {
		c.RefusalOf = func(err error) *api.Error { return &api.Error{Code: "TOO_LARGE", Message: "mapped"} }
	})
	b.fails(413, "TOO_LARGE", "GET", "/v1/apps/x", "")
}

// TestWriteTimesOut checks that a write that takes too long gets TIMED_OUT, which says that the
// outcome is unknown.
func TestWriteTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *Config) { c.WriteTimeout = 5 * time.Millisecond })
		b.d.answering(func(ctx context.Context, r input.Request) (input.Reply, uint64, error) {
			<-ctx.Done()
			return nil, 0, ctx.Err()
		})
		b.fails(504, api.CodeTimedOut, "POST", "/v1/apps/"+app1+":kill", "")
	})
}

func TestIdempotencyKeys(t *testing.T) {
	b := newBench(t, nil)
	send := func(path, body, k string) input.Request {
		if w := b.ask("POST", path, body, api.HeaderKey, k); w.Code >= 300 {
			t.Fatalf("POST %s: status %d, want less than 300: %s", path, w.Code, w.Body)
		}
		return b.d.last(t)
	}
	kill := "/v1/apps/" + app1 + ":kill"
	first, again := send(kill, `{"diagnostics":"a"}`, "me/1"), send(kill, `{"diagnostics":"a"}`, "me/1")
	if first.Key != "me/1" || first.BodyHash == 0 || again.BodyHash != first.BodyHash {
		t.Errorf("proposed %+v, then %+v, want the key me/1 and the same body hash, not 0", first, again)
	}
	for _, other := range []input.Request{send(kill, `{"diagnostics":"b"}`, "me/1"),
		send("/v1/apps/"+app2+":kill", `{"diagnostics":"a"}`, "me/1")} {
		if other.BodyHash == first.BodyHash {
			t.Error("another call has the same hash")
		}
	}
	if r := send(kill, "", ""); r.Key != "" {
		t.Errorf("a kill needs no key, got %q", r.Key)
	}
	// Without a generated key, a submission that the forwarder repeats would start two
	// applications.
	one, two := send("/v1/apps", `{"user":"u"}`, ""), send("/v1/apps", `{"user":"u"}`, "")
	if one.Key == "" || one.Key == two.Key || one.BodyHash == 0 {
		t.Errorf("keys %q and %q", one.Key, two.Key)
	}
}

// TestMisspelledKeysAreRefused checks that a new key that resembles a known one is refused unless the
// caller wants it, and that other unknown keys are kept as YARN keeps them.
func TestMisspelledKeysAreRefused(t *testing.T) {
	b := newBench(t, nil)
	const body = `{"properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"100",` +
		`"yarn.scheduler.capacity.root.a.capacty":"30","yarn.scheduler.capacity.root.a.what-another-program-reads":"1"}}`
	e := b.fails(422, "INVALID_QUEUES", "PUT", "/v1/conf", body)
	if len(e.Details) != 1 || !strings.Contains(e.Details[0], `did you mean "yarn.scheduler.capacity.root.a.capacity"?`) ||
		!strings.Contains(e.Remedy, "with ?allow_unknown;") {
		t.Errorf("refusal of a misspelled key = %+v, want the key that was meant, and how to keep the other", e)
	}
	b.fails(422, "INVALID_QUEUES", "PUT", "/v1/conf?dry_run", body)
	b.into(200, nil, "PUT", "/v1/conf?allow_unknown", body)
	b.into(200, nil, "PUT", "/v1/conf", strings.Replace(body, "capacty", "what-a-second-program-reads", 1))
}

// TestQueuesNamedLikeSecrets checks that a client can send back a configuration that it has read,
// even if names of queues look like those of secrets.
func TestQueuesNamedLikeSecrets(t *testing.T) {
	b := newBench(t, nil)
	var props []capacity.Property
	for i, name := range []string{"secret", "private", "credentials", "password"} {
		props = append(props, capacity.Property{Name: capacity.Prefix + "root." + name + ".capacity",
			Value: []string{"10", "20", "30", "40"}[i]})
	}
	props = append(props, capacity.Property{Name: "ssl.keystore.password", Value: "hunter2"})
	e := configured(t, 3, preset.Demo(), "names")
	for _, p := range props {
		e.Properties = append(e.Properties, event.Property{Name: p.Name, Value: p.Value})
	}
	b.h.apply(t, e)
	var shown api.Conf
	b.into(200, &shown, "GET", "/v1/conf", "")
	body, err := json.Marshal(api.PutConf{Properties: shown.Properties})
	if err != nil {
		t.Fatal(err)
	}
	b.into(200, nil, "PUT", "/v1/conf", string(body))
	if shown.Properties["ssl.keystore.password"] != view.Masked {
		t.Error("a password is shown")
	}
	sent := map[string]string{}
	for _, p := range b.d.last(t).Input.(*input.SetQueues).Properties {
		sent[p.Name] = p.Value
	}
	for _, p := range props {
		if sent[p.Name] != p.Value {
			t.Errorf("%s comes back as %q, it is %q", p.Name, sent[p.Name], p.Value)
		}
	}
}

// TestIdempotencyKeyOwners checks that each call carries the name of the authenticated caller. The
// forwarder keeps the idempotency keys of callers apart by that name.
func TestIdempotencyKeyOwners(t *testing.T) {
	b := guardedBench(t, nil)
	b.h.apply(t, tokenEvent("alice", yarn.RoleSubmit, clusterTime+3_600_000),
		tokenEvent("bob", yarn.RoleSubmit, clusterTime+3_600_000))
	for _, who := range []string{"alice", "bob"} {
		var from, key string
		b.d.answering(func(ctx context.Context, r input.Request) (input.Reply, uint64, error) {
			from, key = caller.Of(ctx).Who, r.Key
			return r.Input.NewReply(), 99, nil
		})
		b.into(201, nil, "POST", "/v1/apps", `{}`, append(bearer(who), api.HeaderKey, "laptop/1")...)
		if from != "token "+who || key != "laptop/1" {
			t.Errorf("%s's call leaves in the name of %q, with the key %q", who, from, key)
		}
	}
}

func TestMembership(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct{ path, body, want string }{
		{"/v1/cluster:init", `{"cluster_id":"x"}`, "init x"},
		{"/v1/cluster:join", `{"leaders":["a:1","b:2"],"token":"t"}`, "join a:1,b:2 t"},
		{"/v1/cluster:transfer", `{"id":"rm2"}`, "transfer rm2"}, {"/v1/cluster:transfer", ``, "transfer "},
		{"/v1/cluster/members/rm3:promote", ``, "promote rm3"}, {"/v1/cluster/members/rm3:demote", ``, "demote rm3"},
		{"/v1/cluster/members/rm3:remove", `{"force":true}`, "remove rm3 force"},
	} {
		b.into(200, nil, "POST", c.path, c.body)
		if got := b.k.calls[len(b.k.calls)-1]; got != c.want {
			t.Errorf("%s: %q, want %q", c.path, got, c.want)
		}
	}
	b.k.become(func(k *consensus) { k.err = refusal{"WOULD_LOSE_QUORUM"} })
	e := b.fails(409, "WOULD_LOSE_QUORUM", "POST", "/v1/cluster/members/rm3:remove", "", api.HeaderUser, "op")
	if e.Message != "no" || e.Remedy != "do that" {
		t.Errorf("error = %+v, want message \"no\" and remedy \"do that\"", e)
	}
	audits := b.d.audits()
	audit := audits[len(audits)-1]
	if audit.Who != "op" || audit.Action != "cluster remove" || audit.Target != "rm3" ||
		audit.Result != "WOULD_LOSE_QUORUM" {
		t.Errorf("audit %+v", audit)
	}
	b.fails(409, "WOULD_LOSE_QUORUM", "POST", "/v1/cluster:join", `{"leaders":["a:1"],"token":"t"}`)
	audits = b.d.audits()
	if a := audits[len(audits)-1]; a.Action != "cluster join" || a.Target == "" {
		t.Errorf("a refused join is recorded as %+v", a)
	}
	b.k.become(func(k *consensus) { k.err = nil })
	id, _ := b.k.Leader()
	b.into(200, nil, "POST", "/v1/cluster:transfer", `{"id":"`+id+`"}`)
	if len(b.d.audits()) != len(audits) {
		t.Error("a transfer to the replica that leads was audited, and changed nothing")
	}
	b.into(200, nil, "POST", "/v1/cluster/members/rm3:remove?dry_run", "")
	if len(b.d.audits()) != len(audits) {
		t.Error("a dry run was audited")
	}
}

func TestJoinTokens(t *testing.T) {
	b := newBench(t, nil)
	var one, two api.Token
	b.into(201, &one, "POST", "/v1/cluster/tokens", `{"role":"voter"}`)
	in := b.d.last(t).Input.(*input.CreateJoinToken)
	if !in.Voter || len(in.Hash) != 32 || in.TTLMillis != 3600_000 || one.ExpiresMillis != clusterTime+3600_000 ||
		strings.Contains(string(in.Hash), one.Token) {
		t.Errorf("join token proposed as %+v, answered as %+v, want a voter for 1 h, with only the hash proposed",
			in, one)
	}
	b.d.answering(func(_ context.Context, r input.Request) (input.Reply, uint64, error) {
		return input.Refuse(r.Input, input.Refusef(input.AlreadyDone, "", "there is such a token")), 0, nil
	})
	b.into(201, &two, "POST", "/v1/cluster/tokens", `{"role":"nonvoter","ttl":"24h"}`)
	if one.Token == two.Token || two.Role != "nonvoter" {
		t.Errorf("tokens %+v and %+v, want different tokens and the second a nonvoter", one, two)
	}
}

func TestAutopilot(t *testing.T) {
	b := newBench(t, nil)
	var d api.AutopilotState
	b.into(200, &d, "PUT", "/v1/autopilot", `{"min_quorum":3,"cleanup_dead_servers":true,"last_contact_threshold":"5s"}`)
	if !d.Settings.CleanupDeadServers || time.Duration(d.Settings.LastContactThreshold) != 5*time.Second ||
		time.Duration(d.Settings.DeadServerLastContactThreshold) != 24*time.Hour {
		t.Errorf("autopilot settings = %+v, want cleanup, last contact 5 s and the default of 24 h for dead servers",
			d.Settings)
	}
}

func TestSnapshots(t *testing.T) {
	b := newBench(t, nil)
	w := b.ask("GET", "/v1/snapshot", "")
	if w.Body.String() != "SNAPSHOT" || w.Header().Get(api.HeaderIndex) != "18" {
		t.Errorf("GET /v1/snapshot = %q, index %q, want SNAPSHOT at 18",
			w.Body, w.Header().Get(api.HeaderIndex))
	}
	if w := b.ask("GET", "/v1/snapshot?stale", ""); w.Body.String() != "STALE" {
		t.Errorf("GET /v1/snapshot?stale = %q, want STALE", w.Body)
	}
	var d api.Restored
	b.into(200, &d, "PUT", "/v1/snapshot?replace_state=c1", "BYTES", "Content-Type", "application/octet-stream")
	if b.snap.restored != "BYTES|c1" || d.Epoch != 1 || b.snap.by.From == "" {
		t.Errorf("restored %q by %+v, answered %+v, want BYTES|c1 by the caller and epoch 1", b.snap.restored, b.snap.by, d)
	}
	b.into(200, nil, "POST", "/v1/snapshot:take", "")
	b.snap.err = refusal{"SNAPSHOT_DAMAGED"}
	b.fails(422, "SNAPSHOT_DAMAGED", "PUT", "/v1/snapshot", "BYTES")
	b = newBench(t, func(c *Config) { c.Snapshots = nil })
	b.fails(501, api.CodeNotAvailable, "GET", "/v1/snapshots", "")
}

// TestPlace checks where submissions would go, with the placement rules in force, of which there
// are none, and with those of a candidate configuration.
func TestPlace(t *testing.T) {
	b := newBench(t, nil)
	ask := func(body string) (d api.QueuePlacement) {
		t.Helper()
		w := b.ask("POST", "/v1/queues:place", body)
		if strict(t, w.Body.Bytes(), &d); w.Code != 200 {
			t.Fatalf("POST /v1/queues:place of %s: status %d, want 200: %s", body, w.Code, w.Body)
		}
		return d
	}
	if d := ask(`{"user":"ann","queue":"root.batch"}`); d.Queue != "root.batch" || d.Rule != 0 || !d.NotAsked {
		t.Errorf("place = %+v, want root.batch by no rule, with not_asked", d)
	}
	if d := ask(`{"user":"ann","queue":"root"}`); d.Queue != "" || d.Refused != "root is a parent queue" {
		t.Errorf("place in root = %+v, want it refused as a parent queue", d)
	}
	candidate := `,"properties":{"yarn.scheduler.capacity.root.queues":"a,default","yarn.scheduler.capacity.root.a.capacity":"50","yarn.scheduler.capacity.root.default.capacity":"50",
		"yarn.scheduler.capacity.queue-mappings":"u:eve:root.a,g:etl:root.%primary_group,u:%user:root.a"`
	if d := ask(`{"user":"ann","groups":["x","etl"]` + candidate + `}}`); d.Queue != "root.default" || d.Rule != 2 ||
		d.Rules != 3 ||
		len(d.Steps) != 1 || d.Steps[0].Result != "default" ||
		!strings.Contains(d.Steps[0].Why, `there is no queue "root.x"`) {
		t.Errorf("place with mappings = %+v, want root.default by rule 2 of 3 after one step", d)
	}
	if d := ask(`{"user":"ann"` + candidate + `,"yarn.scheduler.capacity.mapping-rule-format":"json",
		"yarn.scheduler.capacity.mapping-rule-json":"{\"rules\":[{\"type\":\"user\",\"matches\":\"ann\",\"policy\":\"reject\"}]}"}}`); d.Refused == "" || d.Rule != 1 || d.Text != "user ann: reject" {
		t.Errorf("place with JSON rules = %+v, want a refusal by rule 1, \"user ann: reject\"", d)
	}
	b.fails(400, "INVALID_REQUEST", "POST", "/v1/queues:place", `{}`)
	b.fails(413, "TOO_LARGE", "POST", "/v1/queues:place", `{"user":"`+strings.Repeat("a", 257)+`"}`)
	b.fails(422, "INVALID_QUEUES", "POST", "/v1/queues:place",
		`{"user":"ann","properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"40"}}`)
}

func TestConf(t *testing.T) {
	b := newBench(t, nil)
	if h := b.into(200, nil, "GET", "/v1/conf", ""); h.Get("ETag") != `"2"` {
		t.Errorf("ETag %q", h.Get("ETag"))
	}
	var v api.Validation
	b.into(200, &v, "POST", "/v1/conf:validate",
		`{"properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"50"}}`)
	if v.Valid || len(v.Faults) == 0 || v.Faults[0].What == "" {
		t.Errorf("half a cluster was found valid: %+v", v)
	}
	b.into(200, &v, "POST", "/v1/conf:validate",
		`<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property></configuration>`, "Content-Type", "application/xml")
	if v.Valid || len(v.Faults) == 0 || v.Faults[0].Origin != "body:1" || !strings.Contains(fmt.Sprint(v.Faults), "root") {
		t.Errorf("validation of XML = %+v, want invalid, with the first fault at body:1 and one about root",
			v)
	}
	var props struct{ Properties map[string]string }
	b.into(200, &props, "GET", "/v1/conf", "")
	props.Properties["yarn.scheduler.capacity.root.batch.maximum-applications"] = "5"
	doc, err := json.Marshal(props.Properties)
	if err != nil {
		t.Fatal(err)
	}
	v = api.Validation{}
	b.into(200, &v, "POST", "/v1/conf:validate", `{"properties":`+string(doc)+`}`)
	if !v.Valid || len(v.Changes) != 1 || v.Changes[0].Queue != "root.batch" {
		t.Errorf("validation = %+v, want valid, with one change of root.batch", v)
	}
	var a api.ConfApplied
	b.into(200, &a, "PUT", "/v1/conf?dry_run", `{"properties":`+string(doc)+`}`)
	if !a.DryRun || len(a.Changes) != 1 || !b.d.last(t).Input.(*input.SetQueues).DryRun {
		t.Errorf("dry run of PUT /v1/conf = %+v, want one change, and a dry run proposed", a)
	}
}
