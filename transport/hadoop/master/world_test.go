package master

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

var ctx = context.Background()

// world is a cluster with one planner. Its replicas share it.
type world struct {
	tb testing.TB

	mu  sync.Mutex
	p   *planner.Planner
	now int64
	// down is the error that the leader's path returns, or nil.
	down error
	// before, if set, gets every input. If it returns a reply, the planner does not get the input.
	before func(input.Input) input.Reply
}

// replica is a Service with the state that its replica has applied.
type replica struct {
	*world
	*Service
	clock time.Time
	// behind, if not nil, is the state that Fork returns until the replica catches up.
	behind *state.State
	// caughtUp counts the calls of Current.
	caughtUp int
}

func newWorld(tb testing.TB, properties ...input.Property) *world {
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		tb.Fatal(err)
	}
	w := &world{tb: tb, p: p, now: 1_700_000_000_000}
	properties = append([]input.Property{
		{Name: "yarn.scheduler.capacity.root.queues", Value: "default,small"},
		{Name: "yarn.scheduler.capacity.root.default.capacity", Value: "50"},
		{Name: "yarn.scheduler.capacity.root.small.capacity", Value: "50"},
		{Name: "yarn.scheduler.capacity.root.default.user-limit-factor", Value: "100"},
		{Name: "yarn.scheduler.capacity.root.default.maximum-allocation-mb", Value: "8192"},
		{Name: "yarn.scheduler.capacity.root.default.maximum-allocation-vcores", Value: "4"},
		{Name: "yarn.scheduler.capacity.maximum-am-resource-percent", Value: "1"},
		{Name: "yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments", Value: "100"},
	}, properties...)
	w.plan(&input.InitCluster{ClusterID: "c", ClusterTimestamp: w.now, Properties: properties})
	w.firstKeys()
	return w
}

func (w *world) firstKeys() {
	for _, k := range []yarn.KeyKind{yarn.KeyContainer, yarn.KeyNM, yarn.KeyAMRM} {
		if w.st().Keys(k).Current.ID == 0 {
			w.newKey(k)
		}
	}
}

func (w *world) replica() *replica {
	r := &replica{world: w, clock: time.UnixMilli(w.now)}
	cfg := DefaultConfig()
	cfg.Logger, cfg.Submitter, cfg.Reader = hclog.NewNullLogger(), submitterOf{r}, r
	cfg.Now = func() time.Time { return r.clock }
	cfg.Maximum = func(st *state.State, queue state.QueueSlot) (here, cluster yarn.Resource) {
		conf := w.p.Config()
		return conf.Queues[slices.IndexFunc(conf.Queues, func(q capacity.Queue) bool { return q.Path == st.Queues.Get(queue).Path })].MaxAlloc, conf.MaxAlloc
	}
	s, err := New(cfg)
	if err != nil {
		w.tb.Fatal(err)
	}
	r.Service = s
	return r
}

// st returns the present state.
func (w *world) st() *state.State { return w.p.State() }

// Fork implements Reader.
func (r *replica) Fork() *state.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind != nil {
		return r.behind
	}
	return r.p.State().Fork()
}

// Current implements Reader.
func (r *replica) Current(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down != nil {
		return r.down
	}
	r.caughtUp++
	r.behind = nil
	return nil
}

// lag makes Fork return the present state until the replica catches up.
func (r *replica) lag() { r.behind = r.Fork() }

type submitterOf struct{ r *replica }

// Do implements frontend.Submitter.
func (d submitterOf) Do(_ context.Context, req input.Request) (input.Reply, uint64, error) {
	w := d.r.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down != nil {
		return nil, 0, w.down
	}
	d.r.behind = nil
	if w.before != nil {
		if reply := w.before(req.Input); reply != nil {
			return reply, 0, nil
		}
	}
	w.now++
	reply, _ := w.p.Plan(w.now, req)
	return reply, 0, nil
}

// plan plans an input and fails the test if the planner refuses it.
func (w *world) plan(in input.Input) input.Reply {
	w.tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now++
	reply, _ := w.p.Plan(w.now, input.Request{Input: in})
	if f := reply.Refused(); f != nil {
		w.tb.Fatalf("%T was refused: %v", in, f)
	}
	return reply
}

func (w *world) apply(e event.Event) {
	w.tb.Helper()
	if err := w.st().Apply(e); err != nil {
		w.tb.Fatal(err)
	}
}

// newKey creates the next key of a kind, or its first key.
func (w *world) newKey(k yarn.KeyKind) {
	w.tb.Helper()
	id := w.st().Meta.NextKey + 1
	w.apply(&event.MasterKeyCreated{Which: k, ID: id, Bytes: []byte{byte(id), 2, 3, 4, 5, 6, 7, 8},
		ActivateMillis: w.now + 1000})
}

func (w *world) node(host string, memory, vcores int64) yarn.NodeID {
	w.tb.Helper()
	id := yarn.NodeID{Host: host, Port: 45454}
	w.plan(&input.RegisterNode{ID: id, HTTPPort: 8042, Rack: "/default-rack", Total: yarn.NewResource(memory, vcores),
		Version: "3.4.2"})
	return id
}

// app submits an application whose AM may register at once. An attempt starts only when there is a
// node. If there is none, app adds one for a moment.
func (w *world) app(change ...func(*input.SubmitApplication)) yarn.AttemptID {
	w.tb.Helper()
	if w.st().Meta.UsableNodes == 0 {
		id := w.node("passing", 1024, 1)
		defer w.plan(&input.UnregisterNode{ID: id})
	}
	in := &input.SubmitApplication{User: "alice", Queue: "default", Unmanaged: true, MaxAttempts: 2,
		PrioritySet: true, Priority: 0}
	for _, f := range change {
		f(in)
	}
	r := w.plan(in).(*input.SubmitApplicationReply)
	return yarn.AttemptID{App: r.ID, Attempt: 1}
}

// managed runs the AM in a container of the cluster. If the attempt fails, another one follows.
func managed(s *input.SubmitApplication) {
	s.Unmanaged, s.AM = false, yarn.Resource{1024, 1}
}

// am is an AM that calls one replica.
type am struct {
	*replica
	id   yarn.AttemptID
	key  int32
	last int32 // the last response id
}

func (r *replica) am(id yarn.AttemptID) *am {
	return &am{replica: r, id: id, key: r.st().Keys(yarn.KeyAMRM).Current.ID}
}

func (a *am) call() *ipc.Call {
	return &ipc.Call{Caller: &ipc.Caller{User: a.id.String(), Kind: ipc.KindToken,
		Identifier: token.AMRM{Attempt: a.id, KeyID: a.key}.Bytes()}}
}

func (a *am) register() *proto.RegisterApplicationMasterResponseProto {
	a.tb.Helper()
	r, err := a.Service.register(ctx, a.call(), &proto.RegisterApplicationMasterRequestProto{
		Host: new("am-host/10.0.0.1"), RpcPort: new(int32(-1)), TrackingUrl: new("http://am/")})
	if err != nil {
		a.tb.Fatal(err)
	}
	a.last = 0
	return r
}

func (a *am) try(req *proto.AllocateRequestProto) (*proto.AllocateResponseProto, error) {
	req.ResponseId = new(a.last)
	if req.Progress == nil {
		req.Progress = new(float32(0.5))
	}
	body, err := gproto.Marshal(req)
	if err != nil {
		a.tb.Fatal(err)
	}
	return a.send(body)
}

func (a *am) send(body []byte) (*proto.AllocateResponseProto, error) {
	b, err := a.Service.allocate(ctx, a.call(), body)
	if err != nil {
		return nil, err
	}
	r := new(proto.AllocateResponseProto)
	if err := gproto.Unmarshal(b, r); err != nil {
		a.tb.Fatalf("the response cannot be read: %v", err)
	}
	return r, nil
}

// allocate sends a heartbeat that must succeed.
func (a *am) allocate(req *proto.AllocateRequestProto) *proto.AllocateResponseProto {
	a.tb.Helper()
	r, err := a.try(req)
	if err != nil {
		a.tb.Fatal(err)
	}
	// after a second registration the ids do not start at 1
	if want := a.last + 1; r.GetResponseId() != want && (a.last > 0 || r.GetResponseId() == 0) {
		a.tb.Fatalf("response %d, want %d", r.GetResponseId(), want)
	}
	a.last = r.GetResponseId()
	return r
}

func ask(name string, count int32, memory int64) *proto.ResourceRequestProto {
	return &proto.ResourceRequestProto{
		Priority: &proto.PriorityProto{Priority: new(int32(5))}, ResourceName: new(name), NumContainers: new(count),
		Capability: &proto.ResourceProto{Memory: new(memory), VirtualCores: new(int32(1))}, RelaxLocality: new(true),
		ExecutionTypeRequest: &proto.ExecutionTypeRequestProto{ExecutionType: proto.ExecutionTypeProto_GUARANTEED.Enum(),
			EnforceExecutionType: new(true)},
		AllocationRequestId: new(int64(7)),
	}
}

func asks(list ...*proto.ResourceRequestProto) *proto.AllocateRequestProto {
	return &proto.AllocateRequestProto{Ask: list, BlacklistRequest: &proto.ResourceBlacklistRequestProto{}}
}

func idle() *proto.AllocateRequestProto { return asks() }

// running reports containers as running on a node.
func (w *world) running(node yarn.NodeID, list []*proto.ContainerProto) {
	w.tb.Helper()
	in := &input.NodeHeartbeat{ID: node}
	for _, c := range list {
		id, err := wire.ContainerID(c.GetId())
		if err != nil {
			w.tb.Fatal(err)
		}
		in.Statuses = append(in.Statuses, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	}
	w.plan(in)
}

// class checks that an error is a Java exception of a class.
func class(tb testing.TB, err error, want string) *ipc.Error {
	tb.Helper()
	var e *ipc.Error
	if !errors.As(err, &e) {
		tb.Fatalf("error %v, want the class %s", err, want)
	}
	if e.Class != want {
		tb.Fatalf("%s: %s, want the class %s", e.Class, e.Message, want)
	}
	if e.Fatal {
		tb.Fatalf("%s is fatal: it would end the connection", e.Class)
	}
	return e
}
