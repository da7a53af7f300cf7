package launcher

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// nodeManager serves startContainers over Hadoop's IPC and makes the checks of a NodeManager.
type nodeManager struct {
	w  *world
	id yarn.NodeID
	// lose, if set, runs after the containers are started. Its error replaces the answer.
	lose func() error

	mu      sync.Mutex
	started map[yarn.ContainerID]*proto.ContainerLaunchContextProto
	tokens  map[yarn.ContainerID]token.Container
	calls   int
}

func openNodeManager(t *testing.T) *nodeManager {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	n, _ := strconv.ParseUint(port, 10, 16)
	nm := &nodeManager{id: yarn.NodeID{Host: "127.0.0.1", Port: uint16(n)},
		started: make(map[yarn.ContainerID]*proto.ContainerLaunchContextProto),
		tokens:  make(map[yarn.ContainerID]token.Container)}
	nm.w = newWorld(t, nm.id)
	cfg := ipc.DefaultConfig()
	cfg.Logger, cfg.Name, cfg.Listener, cfg.Auth, cfg.Password = hclog.NewNullLogger(), "nodemanager", listener,
		ipc.AuthToken, nm.password
	cfg.Protocols = []ipc.Protocol{{Name: protocolName,
		Methods: map[string]ipc.Method{"startContainers": ipc.Handle(nm.startContainers)}}}
	s, err := ipc.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return nm
}

// password checks that the token is for this node, as a NodeManager does.
func (n *nodeManager) password(_ context.Context, identifier []byte) (string, []byte, error) {
	id, err := token.ParseNM(identifier)
	if err != nil || id.Node != n.id {
		return "", nil, ipc.InvalidToken(fmt.Sprintf("token %+v is not for %s: %v", id, n.id, err))
	}
	key, ok := token.NewRing(n.w.Fork()).Accepted(yarn.KeyNM, id.KeyID)
	if !ok {
		return "", nil, ipc.InvalidToken("unknown key")
	}
	return id.Attempt.String(), token.Password(key, identifier), nil
}

func (n *nodeManager) startContainers(_ context.Context, call *ipc.Call,
	in *proto.StartContainersRequestProto) (*proto.StartContainersResponseProto, error) {
	out := new(proto.StartContainersResponseProto)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	for _, r := range in.GetStartContainerRequest() {
		c, err := token.NewRing(n.w.Fork()).VerifyContainer(r.GetContainerToken())
		at := yarn.AttemptID{App: c.ID.App, Attempt: c.ID.Attempt}
		id := wire.ContainerIDProto(c.ID)
		switch {
		case err != nil:
			return nil, ipc.InvalidToken(err.Error())
		case call.Caller.User != at.String() || c.Node != n.id.String() || c.RMIdentifier != clusterTimestamp:
			out.FailedRequests = append(out.FailedRequests,
				exception(id, ipc.ClassYarn, "\nUnauthorized request to start container. "))
		case n.started[c.ID] != nil:
			out.FailedRequests = append(out.FailedRequests,
				exception(id, ipc.ClassYarn, "Container "+c.ID.String()+" already is running on this node!!"))
		default:
			n.started[c.ID], n.tokens[c.ID] = r.GetContainerLaunchContext(), c
			out.SucceededRequests = append(out.SucceededRequests, id)
		}
	}
	if n.lose != nil {
		return nil, n.lose()
	}
	return out, nil
}

func openClient(t *testing.T) *ipc.Client {
	t.Helper()
	cfg := ipc.DefaultClientConfig()
	cfg.Logger = hclog.NewNullLogger()
	c, err := ipc.OpenClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestAnAMIsStarted(t *testing.T) {
	nm := openNodeManager(t)
	lead(t, newLauncher(t, nm.w, openClient(t), nil))
	at := nm.w.submit(submission(t, nil))
	if in, ok := (<-nm.w.told).(*input.AttemptLaunched); !ok || in.Attempt != at || in.Container != 1 {
		t.Fatalf("told %+v", in)
	}
	nm.mu.Lock()
	defer nm.mu.Unlock()
	id := yarn.ContainerID{App: at.App, Attempt: 1, Number: 1}
	launch, c := nm.started[id], nm.tokens[id]
	if launch == nil || nm.calls != 1 {
		t.Fatalf("%d calls, started %v", nm.calls, nm.started)
	}
	env := make(map[string]string)
	for _, e := range launch.GetEnvironment() {
		if _, twice := env[e.GetKey()]; twice {
			t.Errorf("%s is set twice", e.GetKey())
		}
		env[e.GetKey()] = e.GetValue()
	}
	want := map[string]string{"CLASSPATH": "x:y", envProxyBase: "/proxy/application_1700000000000_0001",
		envSubmitTime: strconv.Itoa(submittedMillis)}
	if !maps.Equal(env, want) || launch.GetCommand()[0] != "java Master 1>out" {
		t.Errorf("environment %v, want %v; command %v", env, want, launch.GetCommand())
	}
	if !c.AM || c.User != "alice" || c.Size != yarn.NewResource(1024, 1) || c.Logs.GetIncludePattern() != ".*log" ||
		c.ExpiresMillis < time.Now().UnixMilli() {
		t.Errorf("the container's token says %+v", c)
	}
	credentials, err := token.ReadCredentials(launch.GetTokens())
	if err != nil || len(credentials.Tokens) != 2 || credentials.Tokens[0].Kind != "HDFS_DELEGATION_TOKEN" {
		t.Fatalf("credentials %+v, %v", credentials, err)
	}
	am := credentials.Tokens[1]
	got, password, err := token.AMRMPassword(nm.w.Fork(), am.Identifier)
	if err != nil || got != at || string(password) != string(am.Password) || am.Service != "" || am.Alias != "" {
		t.Errorf("the AM's token is %+v: of %v, %v", am, got, err)
	}
}

// TestALabelledAMIsStarted checks that the container's token contains the label of the AM's
// request.
func TestALabelledAMIsStarted(t *testing.T) {
	nm := openNodeManager(t)
	nm.w.apply(&event.LabelsSet{Labels: []event.Label{{Name: "gpu"}}},
		&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: nm.w.Fork().Nodes.Get(1).ID, Label: "gpu"}}})
	lead(t, newLauncher(t, nm.w, openClient(t), nil))
	at := nm.w.submit(submission(t, nil), "gpu")
	<-nm.w.told
	nm.mu.Lock()
	defer nm.mu.Unlock()
	if c := nm.tokens[yarn.ContainerID{App: at.App, Attempt: 1, Number: 1}]; c.Label != "gpu" || !c.AM {
		t.Errorf("the container's token says %+v", c)
	}
}

// TestSingleStartAcrossLeaders ends a leadership after the node has started an AM but before its
// answer arrives. The next leader repeats the call, the node answers that the AM runs, and the
// leader reports that.
func TestSingleStartAcrossLeaders(t *testing.T) {
	nm := openNodeManager(t)
	at := nm.w.submit(submission(t, nil))
	ctx, cancel := context.WithCancel(t.Context())
	first := newLauncher(t, nm.w, openClient(t), nil)
	nm.lose = func() error {
		nm.lose = nil
		cancel()
		return ipc.Standby("the answer that nobody gets")
	}
	first.Lead(ctx)
	if len(nm.w.told) != 0 {
		t.Fatalf("the first leader reported %+v", <-nm.w.told)
	}
	lead(t, newLauncher(t, nm.w, openClient(t), nil))
	if in, ok := (<-nm.w.told).(*input.AttemptLaunched); !ok || in.Attempt != at {
		t.Fatalf("told %+v", in)
	}
	nm.mu.Lock()
	defer nm.mu.Unlock()
	if nm.calls != 2 || len(nm.started) != 1 {
		t.Errorf("%d calls, %d containers started", nm.calls, len(nm.started))
	}
}

func TestWrongNodeRefusesToken(t *testing.T) {
	nm := openNodeManager(t)
	nm.id.Host = "another"
	lead(t, newLauncher(t, nm.w, openClient(t),
		func(c *Config) { c.MaxWait, c.RetryInterval = 50*time.Millisecond, 10*time.Millisecond }))
	at := nm.w.submit(submission(t, nil))
	in, ok := (<-nm.w.told).(*input.AttemptLaunchFailed)
	if !ok || in.Attempt != at || !in.NodeFault || !strings.Contains(in.Diagnostics, "InvalidToken") {
		t.Fatalf("told %+v", in)
	}
}
