package tracker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

const confPrefix = "yarn.scheduler.capacity."

// errNoLeader is the error of a submitter without a leader.
var errNoLeader = errors.New("no leader takes the call")

// cluster is a real planner with fake submitters. It keeps the committed state separately.
type cluster struct {
	tb testing.TB

	mu        sync.Mutex
	planner   *planner.Planner
	committed *state.State
	fork      *state.State
	index     uint64
	nowMillis int64
	inputs    []input.Input // of nodes
	currents  int
	// before and after, if set, are called before and after an input is planned. Their error
	// becomes the submitter's. If before fails, the input is not planned.
	before, after func(in input.Input) error
}

func newCluster(tb testing.TB, more ...input.Property) *cluster {
	tb.Helper()
	p, err := planner.New(state.New(), planner.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	c := &cluster{tb: tb, planner: p, committed: state.New(), nowMillis: 1_000_000}
	props := append([]input.Property{
		{Name: confPrefix + "root.queues", Value: "default"},
		{Name: confPrefix + "root.default.capacity", Value: "100"},
		{Name: confPrefix + "maximum-am-resource-percent", Value: "1"},
		{Name: confPrefix + "per-node-heartbeat.maximum-offswitch-assignments", Value: "100"},
	}, more...)
	c.must(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1700000000000, Properties: props})
	c.must(&input.Tick{Entropy: make([]byte, 32)})
	return c
}

// plan plans and commits an input.
func (c *cluster) plan(in input.Input) (input.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nowMillis++
	req, err := input.DecodeRequest(input.EncodeRequest(nil, input.Request{Input: in}))
	if err != nil {
		return nil, err
	}
	reply, events := c.planner.Plan(c.nowMillis, req)
	for _, e := range events {
		if err := c.committed.Apply(e); err != nil {
			c.tb.Errorf("commit: %v", err)
		}
		c.fork = nil
	}
	c.index++
	return input.DecodeReply(in, input.EncodeReply(nil, reply))
}

func (c *cluster) must(in input.Input) input.Reply {
	c.tb.Helper()
	reply, err := c.plan(in)
	if err != nil {
		c.tb.Fatal(err)
	}
	if f := reply.Refused(); f != nil {
		c.tb.Fatalf("%T was refused: %v", in, f)
	}
	return reply
}

// Do implements Submitter.
func (c *cluster) Do(ctx context.Context, req input.Request) (input.Reply, uint64, error) {
	c.mu.Lock()
	before, after := c.before, c.after
	c.mu.Unlock()
	if before != nil {
		if err := before(req.Input); err != nil {
			return nil, 0, err
		}
	}
	c.mu.Lock()
	c.inputs = append(c.inputs, req.Input)
	c.mu.Unlock()
	reply, err := c.plan(req.Input)
	if err == nil && after != nil {
		err = after(req.Input)
	}
	return reply, c.index, err
}

// Fork implements Reader.
func (c *cluster) Fork() *state.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fork == nil {
		c.fork = c.committed.Fork()
	}
	return c.fork
}

// Current implements Reader.
func (c *cluster) Current(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.currents++
	return nil
}

// took returns the inputs since its last call, without NodesHeard.
func (c *cluster) took() []input.Input {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.inputs
	c.inputs = nil
	return out
}

// fail sets before and after. nil removes them.
func (c *cluster) fail(before, after func(input.Input) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before, c.after = before, after
}

func always(err error) func(input.Input) error { return func(input.Input) error { return err } }

// node returns a node's committed record.
func (c *cluster) node(id yarn.NodeID) *state.Node {
	st := c.Fork()
	slot := st.Nodes.Find(id)
	if slot == 0 {
		c.tb.Fatalf("node %s is not known", id)
	}
	return st.Nodes.Get(slot)
}

// slot returns a node's number in the state.
func (c *cluster) slot(id yarn.NodeID) state.NodeSlot {
	c.node(id)
	return c.Fork().Nodes.Find(id)
}

// app submits an application with an unmanaged AM and allocates containers to it. node must be the
// only node of the cluster.
func (c *cluster) app(node state.NodeSlot, containers int) (yarn.AttemptID, []yarn.ContainerID) {
	c.tb.Helper()
	r := c.must(&input.SubmitApplication{User: "u", Queue: "default", Unmanaged: true}).(*input.SubmitApplicationReply)
	at := yarn.AttemptID{App: r.ID, Attempt: 1}
	c.must(&input.RegisterAttempt{Attempt: at})
	ask := input.Ask{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: int64(containers),
		Size: yarn.NewResource(1024, 1), Relax: true}
	c.must(&input.Allocate{Attempt: at, Asks: []input.Ask{ask}})
	c.must(&input.NodesHeard{Nodes: []state.NodeSlot{node}})
	reply := c.must(&input.Allocate{Attempt: at, Response: 1}).(*input.AllocateReply)
	var ids []yarn.ContainerID
	for _, g := range reply.Granted {
		ids = append(ids, g.Container)
	}
	if len(ids) != containers {
		c.tb.Fatalf("%d of %d containers granted", len(ids), containers)
	}
	return at, ids
}

func newService(tb testing.TB, c *cluster, change ...func(*Config)) *Service {
	tb.Helper()
	cfg := DefaultConfig()
	cfg.Logger, cfg.Submitter, cfg.Reader, cfg.ViewFor = hclog.NewNullLogger(), c, c, 0
	racks, err := NewTopology(DefaultRacksConfig())
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Racks = racks
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// nm is a NodeManager that only calls ResourceTracker.
type nm struct {
	tb       testing.TB
	s        *Service // the node's replica
	id       yarn.NodeID
	response int32
	keys     [2]int32 // ids of the known container and NM key
	healthy  bool
	running  []yarn.ContainerID
	ended    []yarn.ContainerID     // reported in the next heartbeat
	labels   *proto.NodeLabelsProto // reported in the registration
	change   func(*proto.NodeHeartbeatRequestProto)
}

func newNM(tb testing.TB, s *Service, host string) *nm {
	return &nm{tb: tb, s: s, id: yarn.NodeID{Host: host, Port: 45454}, healthy: true}
}

func (n *nm) registration() *proto.RegisterNodeManagerRequestProto {
	req := &proto.RegisterNodeManagerRequestProto{
		NodeId: wire.NodeIDProto(n.id), HttpPort: new(int32(8042)), NmVersion: new("3.4.2"),
		Resource:         wire.ResourceProto(yarn.NewResource(8192, 8), yarn.DefaultKinds()),
		PhysicalResource: wire.ResourceProto(yarn.NewResource(16384, 16), yarn.DefaultKinds()),
		NodeStatus:       &proto.NodeStatusProto{NodeId: wire.NodeIDProto(n.id), ResponseId: new(int32(0))},
		NodeLabels:       n.labels,
	}
	for _, id := range n.running {
		req.ContainerStatuses = append(req.ContainerStatuses, &proto.NMContainerStatusProto{
			ContainerId: wire.ContainerIDProto(id), ContainerState: proto.ContainerStateProto_C_RUNNING.Enum()})
	}
	return req
}

// register registers the node and, if it succeeds, starts with response id 0.
func (n *nm) register() *proto.RegisterNodeManagerResponseProto {
	n.tb.Helper()
	out, err := n.s.registerNodeManager(context.Background(), &ipc.Call{}, n.registration())
	if err != nil {
		n.tb.Fatalf("register %s: %v", n.id, err)
	}
	if out.GetNodeAction() == proto.NodeActionProto_NODE_ACTION_NORMAL {
		n.response = 0
		n.keys = [2]int32{out.GetContainerTokenMasterKey().GetKeyId(), out.GetNmTokenMasterKey().GetKeyId()}
	}
	return out
}

// request returns the next heartbeat.
func (n *nm) request() *proto.NodeHeartbeatRequestProto {
	st := &proto.NodeStatusProto{
		NodeId: wire.NodeIDProto(n.id), ResponseId: new(n.response),
		NodeHealthStatus: &proto.NodeHealthStatusProto{IsNodeHealthy: new(n.healthy), HealthReport: new(""),
			LastHealthReportTime: new(int64(1700000000123))},
		ContainersUtilization: &proto.ResourceUtilizationProto{Pmem: new(int32(100)), Vmem: new(int32(200)),
			Cpu: new(float32(0.5))},
		NodeUtilization: &proto.ResourceUtilizationProto{Pmem: new(int32(1000)), Vmem: new(int32(2000)),
			Cpu: new(float32(2.5))},
		OpportunisticContainersStatus: &proto.OpportunisticContainersStatusProto{RunningOpportContainers: new(int32(0)),
			OpportMemoryUsed: new(int64(0)), OpportQueueCapacity: new(int32(7))},
		KeepAliveApplications: nil,
	}
	for _, id := range n.running {
		st.ContainersStatuses = append(st.ContainersStatuses, containerStatus(id, proto.ContainerStateProto_C_RUNNING, -1000))
	}
	for _, id := range n.ended {
		st.ContainersStatuses = append(st.ContainersStatuses, containerStatus(id, proto.ContainerStateProto_C_COMPLETE, 0))
	}
	req := &proto.NodeHeartbeatRequestProto{
		NodeStatus:                       st,
		LastKnownContainerTokenMasterKey: &proto.MasterKeyProto{KeyId: new(n.keys[0]), Bytes: make([]byte, 32)},
		LastKnownNmTokenMasterKey:        &proto.MasterKeyProto{KeyId: new(n.keys[1]), Bytes: make([]byte, 32)},
		TokenSequenceNo:                  new(int64(1)),
	}
	if n.change != nil {
		n.change(req)
	}
	return req
}

func containerStatus(id yarn.ContainerID, s proto.ContainerStateProto, exit int32) *proto.ContainerStatusProto {
	return &proto.ContainerStatusProto{
		ContainerId: wire.ContainerIDProto(id), State: s.Enum(), Diagnostics: new(""), ExitStatus: new(exit),
		Capability:    wire.ResourceProto(yarn.NewResource(1024, 1), yarn.DefaultKinds()),
		ExecutionType: proto.ExecutionTypeProto_GUARANTEED.Enum(),
		ContainerAttributes: []*proto.StringStringMapProto{{Key: new("HOST"), Value: new("node1")},
			{Key: new("IPS"), Value: new("10.0.0.1")}},
	}
}

func (n *nm) bytes() []byte {
	b, err := gproto.Marshal(n.request())
	if err != nil {
		n.tb.Fatal(err)
	}
	return b
}

// try sends the heartbeat but does not process the answer.
func (n *nm) try() (*proto.NodeHeartbeatResponseProto, error) {
	out, err := n.s.nodeHeartbeat(context.Background(), &ipc.Call{}, n.bytes())
	if err != nil {
		return nil, err
	}
	p := new(proto.NodeHeartbeatResponseProto)
	if err := gproto.Unmarshal(out, p); err != nil {
		n.tb.Fatal(err)
	}
	return p, nil
}

// beat sends a heartbeat and checks that the answer has NORMAL and the next id.
func (n *nm) beat() *proto.NodeHeartbeatResponseProto {
	n.tb.Helper()
	p, err := n.try()
	if err != nil {
		n.tb.Fatalf("heartbeat %d of %s: %v", n.response, n.id, err)
	}
	if p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL || p.GetResponseId() != next(n.response) {
		n.tb.Fatalf("heartbeat %d of %s is answered %v", n.response, n.id, p)
	}
	n.accept(p)
	return p
}

// accept processes an answer as a NodeManager does.
func (n *nm) accept(p *proto.NodeHeartbeatResponseProto) {
	n.response, n.ended = p.GetResponseId(), nil
	if k := p.GetContainerTokenMasterKey(); k != nil {
		n.keys[0] = k.GetKeyId()
	}
	if k := p.GetNmTokenMasterKey(); k != nil {
		n.keys[1] = k.GetKeyId()
	}
}

// end ends running containers.
func (n *nm) end(ids ...yarn.ContainerID) {
	for _, id := range ids {
		for i, r := range n.running {
			if r == id {
				n.running = append(n.running[:i:i], n.running[i+1:]...)
			}
		}
		n.ended = append(n.ended, id)
	}
}

// kinds describes inputs.
func kinds(list []input.Input) string {
	out := ""
	for _, in := range list {
		switch in := in.(type) {
		case *input.NodeHeartbeat:
			out += fmt.Sprintf("heartbeat(%d", len(in.Statuses))
			if in.Full {
				out += " full"
			}
			if in.Unhealthy {
				out += " unhealthy"
			}
			if len(in.CleanupsAcked) > 0 {
				out += fmt.Sprintf(" told %d", len(in.CleanupsAcked))
			}
			if len(in.SignalsAcked) > 0 {
				out += fmt.Sprintf(" signalled %d", len(in.SignalsAcked))
			}
			out += ") "
		default:
			out += fmt.Sprintf("%T ", in)[len("*input."):]
		}
	}
	return out
}

func wantInputs(tb testing.TB, c *cluster, want string) {
	tb.Helper()
	if got := kinds(c.took()); got != want {
		tb.Fatalf("inputs are %q, want %q", got, want)
	}
}

// sessionsKept returns the number of sessions.
func (s *Service) sessionsKept() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.sessions)
}

func texts(list []*proto.ContainerIdProto) []yarn.ContainerID {
	var ids []yarn.ContainerID
	for _, p := range list {
		id, err := wire.ContainerID(p)
		if err != nil {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}
