package launcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

const (
	clusterTimestamp = 1700000000000
	submittedMillis  = clusterTimestamp + 5000
)

// world is the committed state of a cluster with a NodeManager, node 1. It implements the Submitter
// and the Reader.
type world struct {
	t testing.TB

	mu      sync.Mutex
	st      *state.State
	apps    uint32
	moved   chan struct{}
	broken  bool // the next watch fails, once
	busy    int  // number of reports to refuse
	reports []input.Input
	told    chan input.Input
}

func newWorld(t testing.TB, node yarn.NodeID) *world {
	w := &world{t: t, st: state.New(), moved: make(chan struct{}), told: make(chan input.Input, 1000)}
	w.apply(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: clusterTimestamp},
		&event.TimeAdvanced{NowMillis: submittedMillis},
		&event.QueuesConfigured{Version: 1, Kinds: yarn.DefaultKinds(), Queues: []event.QueueDefinition{
			{Path: "root", State: yarn.QueueRunning}, {Path: "root.a", Leaf: true, State: yarn.QueueRunning}}})
	for k := yarn.KeyKind(0); k < yarn.KeyKinds; k++ {
		w.apply(&event.MasterKeyCreated{Which: k, ID: int32(k) + 1, Bytes: []byte{1, 2, 3, 4, 5, 6, 7, byte(k)}})
	}
	w.apply(&event.NodeRegistered{Node: 1, ID: node, Rack: "/r", Total: yarn.NewResource(1<<30, 1<<20), NodeManager: true})
	return w
}

func (w *world) apply(events ...event.Event) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applyLocked(events...)
}

func (w *world) applyLocked(events ...event.Event) {
	for _, e := range events {
		if err := w.st.Apply(e); err != nil {
			w.t.Errorf("apply %s: %v", e.Kind(), err)
		}
	}
	close(w.moved)
	w.moved = make(chan struct{})
}

// submit adds an application whose AM's container is allocated on node 1. The AM's request has the
// label, if one is given.
func (w *world) submit(context []byte, label ...string) yarn.AttemptID {
	w.t.Helper()
	w.apps++
	app, k := w.apps, yarn.SchedulerKey{}
	size := yarn.NewResource(1024, 1)
	w.apply(&event.ApplicationSubmitted{App: app, Queue: "root.a", User: "alice", MaxAttempts: 2, AM: size,
		Context: context},
		&event.AttemptStarted{App: app, Attempt: 1}, &event.AttemptActivated{App: app},
		&event.AskChanged{App: app, Key: k, Name: yarn.Any, Count: 1, Size: size, Relax: true})
	for _, name := range label {
		w.apply(&event.AskLabelled{App: app, Key: k, Label: name})
	}
	w.apply(&event.ContainerAllocated{App: app, Number: 1, Key: k, Node: 1, Locality: yarn.OffSwitch, AM: true})
	return yarn.AttemptID{App: yarn.ApplicationID{ClusterTimestamp: clusterTimestamp, Seq: app}, Attempt: 1}
}

// end ends an attempt whose AM was not launched.
func (w *world) end(at yarn.AttemptID) {
	w.t.Helper()
	w.apply(&event.ContainerCompleted{Container: event.ContainerRef{App: at.App.Seq, Attempt: 1, Number: 1},
		ExitStatus: yarn.ExitKilledByRM},
		&event.AttemptEnded{App: at.App.Seq, Final: yarn.FinalKilled})
}

// Do implements frontend.Submitter. It applies launches and failures, and records every input.
func (w *world) Do(_ context.Context, req input.Request) (input.Reply, uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy > 0 {
		w.busy--
		return nil, 0, errors.New("no leader")
	}
	w.reports = append(w.reports, req.Input)
	switch in := req.Input.(type) {
	case *input.AttemptLaunched:
		w.applyLocked(&event.AttemptLaunched{App: in.Attempt.App.Seq})
	case *input.AttemptLaunchFailed:
		w.applyLocked(&event.ContainerCompleted{
			Container: event.ContainerRef{App: in.Attempt.App.Seq, Attempt: in.Attempt.Attempt, Number: in.Container}},
			&event.AttemptEnded{App: in.Attempt.App.Seq, Final: yarn.FinalFailed, Counts: !in.NodeFault})
	}
	w.told <- req.Input
	return req.Input.NewReply(), 1, nil
}

// Current, Fork and Watch implement Reader.
func (w *world) Current(ctx context.Context) error { return ctx.Err() }

func (w *world) Fork() *state.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.st.Fork()
}

func (w *world) Watch() (Watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &watch{w: w, moved: w.moved}, nil
}

type watch struct {
	w     *world
	moved chan struct{}
}

func (s *watch) Close() {}

func (s *watch) Next(ctx context.Context) error {
	select {
	case <-s.moved:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.moved = s.w.moved
	if s.w.broken {
		s.w.broken = false
		return errors.New("too far behind")
	}
	return nil
}

// clientFunc is a function that implements Client.
type clientFunc func(ctx context.Context, to ipc.Target, request *proto.StartContainersRequestProto,
	reply *proto.StartContainersResponseProto) error

func (f clientFunc) Call(ctx context.Context, to ipc.Target, method string, request, reply gproto.Message) error {
	if method != "startContainers" || to.Protocol != protocolName {
		return fmt.Errorf("unexpected call %s of %s", method, to.Protocol)
	}
	return f(ctx, to, request.(*proto.StartContainersRequestProto), reply.(*proto.StartContainersResponseProto))
}

func newLauncher(t testing.TB, w *world, client Client, change func(*Config)) *Launcher {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Logger, cfg.Submitter, cfg.Reader, cfg.Client = hclog.NewNullLogger(), w, w, client
	cfg.Services = token.NewServices(false, nil)
	if change != nil {
		change(&cfg)
	}
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lead calls Lead until stop is called or the test ends.
func lead(t testing.TB, l *Launcher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Lead(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// submission returns a client's submission context.
func submission(t testing.TB, change func(*proto.ApplicationSubmissionContextProto)) []byte {
	t.Helper()
	own := &token.Credentials{Tokens: []token.Token{
		{Alias: "hdfs", Identifier: []byte("i"), Password: []byte("p"), Kind: "HDFS_DELEGATION_TOKEN", Service: "nn:8020"},
		{Alias: "", Identifier: []byte("forged"), Kind: token.KindAMRM}}}
	p := &proto.ApplicationSubmissionContextProto{
		AmContainerSpec: &proto.ContainerLaunchContextProto{
			Command: []string{"java Master 1>out"}, Tokens: own.Bytes(),
			Environment: []*proto.StringStringMapProto{{Key: new("CLASSPATH"), Value: new("x:y")},
				{Key: new(envSubmitTime), Value: new("forged")}},
		},
		LogAggregationContext: &proto.LogAggregationContextProto{IncludePattern: new(".*log")},
	}
	if change != nil {
		change(p)
	}
	b, err := gproto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exception returns a NodeManager's refusal of one container.
func exception(id *proto.ContainerIdProto, class, message string) *proto.ContainerExceptionMapProto {
	return &proto.ContainerExceptionMapProto{ContainerId: id,
		Exception: &proto.SerializedExceptionProto{ClassName: new(class), Message: new(message)}}
}
