package httpserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/yarn"
)

const clusterTime = 1780000000000

// history is a view.Reader over a real state to which the tests apply events.
type history struct {
	mu      sync.Mutex
	st      *state.State
	index   uint64
	batches []view.Batch
	floor   uint64 // the oldest index that is kept
	moved   chan struct{}
}

func newHistory() *history { return &history{st: state.New(), moved: make(chan struct{})} }

// apply commits one batch and returns its index.
func (h *history) apply(t testing.TB, events ...event.Event) uint64 {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	next := h.st.Fork()
	var changes []change.Change
	for _, e := range events {
		if err := next.Apply(e); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, next.Changes()...)
	}
	h.st = next
	h.index++
	h.batches = append(h.batches, view.Batch{Index: h.index, Term: 7, NowMillis: next.Meta.NowMillis, Events: events,
		Changes: changes})
	close(h.moved)
	h.moved = make(chan struct{})
	return h.index
}

// forget makes the entries before an index unavailable, as compaction does.
func (h *history) forget(floor uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.floor = floor
	close(h.moved)
	h.moved = make(chan struct{})
}

func (h *history) Fork() (*state.State, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.st, h.index
}

func (h *history) Applied() (uint64, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.index, 7
}

func (h *history) WaitApplied(ctx context.Context, index uint64) error {
	for {
		h.mu.Lock()
		at, moved := h.index, h.moved
		h.mu.Unlock()
		if at >= index {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (h *history) Watch(after uint64) (view.Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if after == 0 {
		after = h.index
	}
	if after < h.floor {
		return nil, &problem.TooOldError{Oldest: h.floor}
	}
	return &cursor{h: h, at: after}, nil
}

func (h *history) Follow() (view.Subscription, error) { return h.Watch(0) }

type cursor struct {
	h  *history
	at uint64
}

func (c *cursor) Close() {}

func (c *cursor) Next(ctx context.Context) (view.Batch, error) {
	for {
		c.h.mu.Lock()
		floor, moved := c.h.floor, c.h.moved
		var found *view.Batch
		for i := range c.h.batches {
			if c.h.batches[i].Index > c.at {
				found = &c.h.batches[i]
				break
			}
		}
		c.h.mu.Unlock()
		if c.at < floor {
			return view.Batch{}, &problem.TooOldError{Oldest: floor}
		}
		if found != nil {
			c.at = found.Index
			return *found, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return view.Batch{}, ctx.Err()
		}
	}
}

// Entries returns the batches of the history as log entries.
func (h *history) Entries(_ context.Context, from uint64, count int) ([]view.LogEntry, uint64, uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if from != 0 && from < h.floor {
		return nil, 0, 0, &problem.TooOldError{Oldest: h.floor}
	}
	var out []view.LogEntry
	for _, b := range h.batches {
		if b.Index >= from && len(out) < count {
			batch := event.Batch{Level: 1, Sequence: b.Index, Events: b.Events}
			out = append(out, view.LogEntry{Index: b.Index, Term: b.Term, Type: "events", Data: batch.Encode()})
		}
	}
	return out, max(h.floor, 1), h.index, nil
}

// key is the scheduler key of the fixture's asks.
var key = yarn.SchedulerKey{Priority: 1}

func gpu(memory, vcores, gpus int64) yarn.Resource { return yarn.Resource{memory, vcores, gpus} }

func configured(t testing.TB, version uint64, props []capacity.Property, comment string) *event.QueuesConfigured {
	t.Helper()
	conf, err := capacity.Parse(props)
	if err != nil {
		t.Fatal(err)
	}
	e := &event.QueuesConfigured{Version: version, Kinds: conf.Kinds, Dominant: conf.Calculator.Dominant, Author: "alice",
		Comment: comment}
	for _, p := range conf.Properties() {
		e.Properties = append(e.Properties, event.Property{Name: p.Name, Value: p.Value})
	}
	for _, q := range conf.Queues {
		e.Queues = append(e.Queues, event.QueueDefinition{Path: q.Path, Leaf: q.Leaf, State: q.State})
	}
	return e
}

// story returns a history with three nodes and four applications. Application 1 runs in root.online
// with two containers. Application 2 wants a whole node and has a reservation on sim-01.
// Application 3 waits. Application 4 has ended.
func story(t testing.TB) *history {
	t.Helper()
	h := newHistory()
	h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime},
		&event.ClusterInitialized{ClusterID: "c1", ClusterTimestamp: clusterTime, Level: event.Level})
	h.apply(t, configured(t, 1, preset.Demo(), "first"))
	changed := append(preset.Demo(), capacity.Property{Name: capacity.Prefix + "root.online.maximum-applications",
		Value: "7"})
	h.apply(t, configured(t, 2, changed, "bound online"))
	for i := state.NodeSlot(1); i <= 3; i++ {
		h.apply(t, &event.NodeRegistered{Node: i, ID: yarn.NodeID{Host: "sim-0" + string('0'+rune(i)), Port: 8041},
			HTTPPort: 8042, Rack: "/r1", Total: gpu(65536, 16, 4), Version: "3.4.2"})
	}
	submit(t, h, 1, "root.online", "alice")
	h.apply(t, &event.AskChanged{App: 1, Key: key, Name: "*", Count: 3, Size: gpu(32768, 8, 2), Relax: true})
	h.apply(t, &event.ContainerAllocated{App: 1, Number: 1, Key: key, Node: 1, Locality: yarn.OffSwitch},
		&event.ContainerAllocated{App: 1, Number: 2, Key: key, Node: 2, Locality: yarn.OffSwitch})
	submit(t, h, 2, "root.train", "bob")
	h.apply(t, &event.AskChanged{App: 2, Key: key, Name: "*", Count: 1, Size: gpu(65536, 16, 4), Relax: true},
		&event.AskChanged{App: 2, Key: key, Name: "sim-01", Count: 1, Size: gpu(65536, 16, 4), Relax: true})
	h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 60_000},
		&event.ReservationMade{Reservation: 1, App: 2, Number: 1, Key: key, Node: 1})
	h.apply(t, &event.ApplicationSubmitted{App: 3, Name: "waits", User: "carol", Queue: "root.batch", Type: "SPARK",
		Tags: []string{"etl"}, AM: gpu(1024, 1, 0), MaxAttempts: 2},
		&event.AttemptStarted{App: 3, Attempt: 1})
	submit(t, h, 4, "root.batch", "alice")
	h.apply(t, &event.AttemptEnded{App: 4, Final: yarn.FinalSucceeded, Diagnostics: "done"},
		&event.ApplicationEnded{App: 4, State: yarn.AppFinished, Final: yarn.FinalSucceeded})
	h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 120_000})
	return h
}

// clientKey is the key of every attempt's clients.
const clientKey = "no answer has this"

// submit submits an unmanaged application and registers its attempt.
func submit(t testing.TB, h *history, seq uint32, queue, user string) {
	t.Helper()
	h.apply(t, &event.ApplicationSubmitted{App: seq, Name: "app", User: user, Queue: queue, Type: "YARN", Unmanaged: true,
		MaxAttempts: 1},
		&event.AttemptStarted{App: seq, Attempt: 1}, &event.AttemptActivated{App: seq},
		&event.AttemptRegistered{App: seq, Host: "am", RPCPort: 99, TrackingURL: "http://am:1/",
			ClientKey: []byte(clientKey)})
}

// consensus is a fake with fixed answers.
type consensus struct {
	down []string // replicas that do not answer

	role, leader string
	missing      string // which replicas must be started
	behind       string // why the replica is not ready; empty if it is
	staleness    time.Duration
	readIndex    func(ctx context.Context) (uint64, error)
	err          error
	calls        []string
	mu           sync.Mutex
	autopilot    api.Autopilot
}

func (k *consensus) note(call string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = append(k.calls, call)
	return k.err
}

// become changes the fake while the server uses it.
func (k *consensus) become(change func(k *consensus)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k)
}

func (k *consensus) Leader() (string, string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leader == "" {
		return "", ""
	}
	return k.leader, "10.0.0.1:8034"
}
func (k *consensus) Role() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.role
}
func (k *consensus) Term() uint64 { return 7 }
func (k *consensus) Ready() (bool, string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.behind == "", k.behind
}
func (k *consensus) Staleness() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.staleness
}
func (k *consensus) ReadIndex(ctx context.Context) (uint64, error) {
	if k.readIndex != nil {
		return k.readIndex(ctx)
	}
	return 0, nil
}
func (k *consensus) Missing() string     { return k.missing }
func (k *consensus) NoState() *api.Error { return problem.NotInitialized() }
func (k *consensus) Members(context.Context) ([]api.Member, error) {
	list := []api.Member{
		{ID: "rm1", Address: "10.0.0.1:8034", Voter: true, Leader: true, Role: "leader", State: "alive", Commit: 20,
			Applied: 20, Version: "1.0", Level: 1, Digest: "aa", DigestIndex: 16},
		{ID: "rm2", Address: "10.0.0.2:8034", Voter: true, Role: "follower", State: "alive", Commit: 20, Applied: 18, Lag: 2,
			LastContactMillis: 12, Version: "1.0", Level: 2, Digest: "aa", DigestIndex: 16},
		{ID: "rm3", Address: "10.0.0.3:8034", Voter: true, Role: "follower", State: "unreachable", Lag: 20,
			LastContactMillis: -1},
	}
	for i := range list {
		if slices.Contains(k.down, list[i].ID) {
			list[i].State = "unreachable"
		}
	}
	return list, nil
}
func (k *consensus) LeaderSince(context.Context) int64 { return clusterTime }
func (k *consensus) LastFailover() *api.Failover {
	return &api.Failover{AtMillis: clusterTime, Millis: 214, Term: 7, OldLeader: "rm2", NewLeader: "rm1"}
}
func (k *consensus) Problem() string { return "" }

func (k *consensus) Warning() string { return "" }

func (k *consensus) Jobs() []api.Job {
	return []api.Job{
		{Name: "digests", Does: "stop a replica whose state differs", Runs: 7, SuccessMillis: clusterTime},
		{Name: "snapshot", Does: "write snapshots", Runs: 3, Failures: 2, InARow: 2, SuccessMillis: clusterTime - 60_000,
			FailureMillis: clusterTime,
			Error:         "no space left on device",
			Problem:       "snapshot: cannot write snapshots (2 times in a row): no space left on device"},
	}
}

func (k *consensus) Failovers() []api.Failover {
	return []api.Failover{*k.LastFailover(),
		{AtMillis: clusterTime - 60_000, Millis: 301, Term: 6, OldLeader: "rm3", NewLeader: "rm2"}}
}
func (k *consensus) Verify(context.Context) (api.Verify, error) {
	return api.Verify{Index: 20, Equal: true,
		Digests: []api.ReplicaDigest{{ID: "rm1", Digest: "aa"}, {ID: "rm2", Digest: "aa"}}}, k.err
}
func (k *consensus) Init(_ context.Context, r api.InitRequest) (api.InitReply, error) {
	return api.InitReply{ClusterID: "c1", ID: "rm1", DryRun: r.DryRun}, k.note("init " + r.ClusterID)
}
func (k *consensus) Join(_ context.Context, r api.JoinRequest) (api.JoinReply, error) {
	return api.JoinReply{ClusterID: "c1", ID: "rm1"}, k.note("join " + strings.Join(r.Leaders, ",") + " " + r.Token)
}
func (k *consensus) Promote(_ context.Context, id string, _ api.MemberRequest) error {
	return k.note("promote " + id)
}
func (k *consensus) Demote(_ context.Context, id string, _ api.MemberRequest) error {
	return k.note("demote " + id)
}
func (k *consensus) Remove(_ context.Context, id string, r api.MemberRequest) error {
	if r.Force {
		id += " force"
	}
	return k.note("remove " + id)
}
func (k *consensus) Transfer(_ context.Context, id string) error { return k.note("transfer " + id) }
func (k *consensus) Autopilot(context.Context) (api.AutopilotState, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return api.AutopilotState{Settings: k.autopilot, Healthy: true, FailureTolerance: 1, Servers: []api.ServerVerdict{}},
		nil
}
func (k *consensus) SetAutopilot(_ context.Context, a api.Autopilot) error {
	k.mu.Lock()
	k.autopilot = a
	k.mu.Unlock()
	return k.note("autopilot")
}

// submitter records requests. answer gives the replies; without it, each input gets its empty
// reply.
type submitter struct {
	mu     sync.Mutex
	got    []input.Request
	answer func(ctx context.Context, r input.Request) (input.Reply, uint64, error)
}

// answering replaces answer.
func (d *submitter) answering(f func(ctx context.Context, r input.Request) (input.Reply, uint64, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = f
}

func (d *submitter) Do(ctx context.Context, r input.Request) (input.Reply, uint64, error) {
	d.mu.Lock()
	d.got = append(d.got, r)
	f := d.answer
	d.mu.Unlock()
	if f != nil {
		return f(ctx, r)
	}
	return r.Input.NewReply(), 99, nil
}

// all returns the requests so far. The audit record of a refused call may arrive after the call's
// answer.
func (d *submitter) all() []input.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.got)
}

// audits returns the audit records among the requests.
func (d *submitter) audits() (out []*input.Audit) {
	for _, r := range d.all() {
		if a, ok := r.Input.(*input.Audit); ok {
			out = append(out, a)
		}
	}
	return out
}

// asked returns the requests without the audit records.
func (d *submitter) asked() []input.Request {
	return slices.DeleteFunc(d.all(), func(r input.Request) bool { _, audit := r.Input.(*input.Audit); return audit })
}

// last returns the last request that is not an audit record.
func (d *submitter) last(t testing.TB) input.Request {
	t.Helper()
	asked := d.asked()
	if len(asked) == 0 {
		t.Fatal("nothing came through the submitter")
	}
	return asked[len(asked)-1]
}

// forget drops the requests so far.
func (d *submitter) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = d.got[:0]
}

// bench is a server under test with its fakes.
type bench struct {
	t    testing.TB
	h    *history
	k    *consensus
	d    *submitter
	s    *Server
	snap *snapshots
}

func newBench(t testing.TB, change func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, h: story(t), k: &consensus{role: "leader", leader: "rm1",
		autopilot: api.Autopilot{DeadServerLastContactThreshold: api.Duration(24 * time.Hour)}}, d: &submitter{},
		snap: &snapshots{}}
	cfg := DefaultConfig()
	cfg.ID, cfg.Auth.Cluster, cfg.Version = "rm1", "prod", "1.0"
	cfg.Submitter, cfg.Reader, cfg.Consensus, cfg.Log, cfg.Snapshots = b.d, b.h, b.k, b.h, b.snap
	cfg.Logger = hclog.NewNullLogger()
	cfg.Now = func() time.Time { return time.UnixMilli(clusterTime) }
	cfg.Planner.Explain = func(st *state.State, id yarn.ApplicationID) (*api.Explanation, error) {
		if id.Seq == 4 {
			return nil, input.Refusef(input.AlreadyEnded, "nothing waits", "%s has ended", id)
		}
		return &api.Explanation{ID: id.String(), Waiting: true, Reason: "AM_LIMIT_QUEUE", Text: "its AM has no room"}, nil
	}
	cfg.Planner.CheapestToDrain = explain.CheapestToDrain
	cfg.Planner.Preemption = func(st *state.State) (*api.Preemption, error) {
		return explain.PreemptionNow(planOn(st).Scheduler()), nil
	}
	cfg.Planner.WhatIf = func(st *state.State, properties []input.Property, stop func() bool) (*api.WhatIf, error) {
		lim := explain.DefaultWhatIfLimits()
		lim.Stop = stop
		c, err := explain.WhatIf(planOn(st.Fork()), planOn(st), properties, lim)
		if err != nil {
			return nil, err
		}
		return &api.WhatIf{Comparison: *c}, nil
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b.s = s
	return b
}

// ask sends a request as a program on this machine does, and checks the request and its answer
// against openapi.json.
func (b *bench) ask(method, path, body string, header ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	var rd io.Reader
	if body != "" {
		rd = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, path, rd)
	r.Host, r.RemoteAddr = "127.0.0.1:8088", "127.0.0.1:40000"
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	w := httptest.NewRecorder()
	b.s.Handler().ServeHTTP(w, r)
	readDescription(b.t).check(b.t, r, body, w)
	return w
}

// into sends a request, fails the test unless the answer has the status, and decodes the answer
// into v.
func (b *bench) into(status int, v any, method, path, body string, header ...string) http.Header {
	b.t.Helper()
	w := b.ask(method, path, body, header...)
	if w.Code != status {
		b.t.Fatalf("%s %s: status %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	if v != nil {
		if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
			b.t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
		}
	}
	return w.Header()
}

// fails sends a request and fails the test unless the answer is an error with the status and code.
func (b *bench) fails(status int, code, method, path, body string, header ...string) api.Error {
	b.t.Helper()
	var e api.Error
	b.into(status, &e, method, path, body, header...)
	if e.Code != code {
		b.t.Fatalf("%s %s: code %q, want %q (%s)", method, path, e.Code, code, e.Message)
	}
	if e.Message == "" {
		b.t.Fatalf("%s %s: %s without a message", method, path, code)
	}
	return e
}

// snapshots is a fake snapshot store.
type snapshots struct {
	restored string
	by       input.Caller // who restored it
	err      error
}

func (s *snapshots) Save(_ context.Context, stale bool) (api.Snapshot, io.ReadCloser, error) {
	body := "SNAPSHOT"
	if stale {
		body = "STALE"
	}
	return api.Snapshot{ID: "s1", Index: 18, Term: 7, ClusterID: "c1", Bytes: int64(len(body))},
		io.NopCloser(strings.NewReader(body)), s.err
}

func (s *snapshots) Restore(_ context.Context, r io.Reader, replace string, dry bool,
	by input.Caller) (api.Restored, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return api.Restored{}, err
	}
	s.by = by
	s.restored = string(b) + "|" + replace
	return api.Restored{ClusterID: "c1", Index: 18, Epoch: 1, DryRun: dry}, s.err
}

func (s *snapshots) Take(context.Context) (api.Snapshot, error) {
	return api.Snapshot{ID: "s2", Index: 20}, s.err
}

func (s *snapshots) List(context.Context) ([]api.Snapshot, error) { return nil, s.err }

// planOn returns a planner that owns st and runs no eager passes.
func planOn(st *state.State) *planner.Planner {
	p, err := planner.New(st, planner.Options{})
	if err != nil {
		panic(err)
	}
	return p
}

// wsRoot is the root of Hadoop's REST API.
const wsRoot = "/ws/v1/cluster"

// reserveResize lets the second container of application 1 ask for more than its node has free, and
// makes a reservation for the resize.
func reserveResize(t testing.TB, h *history, number uint64) {
	t.Helper()
	c := event.ContainerRef{App: 1, Attempt: 1, Number: 2}
	h.apply(t, &event.ResponseRecorded{App: 1, Response: 1}, &event.ContainerLaunched{Container: c},
		&event.ContainerResizeAsked{Container: c, Size: gpu(65537, 8, 2)},
		&event.ResizeReserved{Reservation: number, Container: c})
}

// reserveGang lets application 1 declare a gang, and reserves node 3 for it.
func reserveGang(t testing.TB, h *history, number uint64) {
	t.Helper()
	st, _ := h.Fork()
	gang := yarn.SchedulerKey{Priority: 9}
	h.apply(t, &event.GangDeclared{App: 1, Gang: yarn.Gang{Priority: 9, AnyRequest: true, Count: 2,
		TimeoutMillis: 60_000}},
		&event.AskChanged{App: 1, Key: gang, Name: yarn.Any, Count: 2, Size: gpu(1024, 1, 0), Relax: true},
		&event.GangReserved{Reservation: number, App: 1, Number: st.Meta.NextNumber(st.Apps.Get(st.Apps.Find(1))), Node: 3,
			Members: 2, ExpectedMillis: clusterTime + 1000})
}
