package hadoop

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// fakeRM is a small ResourceManager that can violate the protocol. It has the ports of several
// replicas with one state.
type fakeRM struct {
	// Violations. Each happens once.
	grantTwice, tellTwice, tellNever, overfill, unasked, noToken, resync, exit bool
	// standby makes the first replica refuse.
	standby bool

	mu    sync.Mutex
	apps  map[int32]*fakeApp
	nodes map[string]*fakeNode
	order []*fakeNode
	fault map[string]bool // violations that have happened
	calls map[string]int

	fronts []fakeFront
}

type fakeFront struct{ tracker, scheduler, client *ipc.Server }

type fakeApp struct {
	id          int32
	pending     map[int64]int32
	next        int64
	response    int32
	last        *proto.AllocateResponseProto
	ended       []*proto.ContainerStatusProto
	grantedLast *proto.ContainerProto
	registered  bool
}

type fakeNode struct {
	id       *proto.NodeIdProto
	room     int64
	response int32
	last     *proto.NodeHeartbeatResponseProto
	running  map[string]*fakeApp // allocated there and not complete
	told     map[string]bool     // containers that a heartbeat has reported
}

// newFake opens the ports. The test closes them.
func newFake(t *testing.T, fronts int, set func(*fakeRM)) *fakeRM {
	t.Helper()
	f := &fakeRM{apps: map[int32]*fakeApp{}, nodes: map[string]*fakeNode{}, fault: map[string]bool{},
		calls: map[string]int{}}
	if set != nil {
		set(f)
	}
	for i := range fronts {
		open := func(auth ipc.Auth, protocol string, methods map[string]ipc.Method) *ipc.Server {
			c := ipc.DefaultConfig()
			c.Logger, c.Name, c.Listen, c.Auth = hclog.NewNullLogger(), "fake", "127.0.0.1:0", auth
			c.Protocols = []ipc.Protocol{{Name: protocol, Methods: methods}}
			c.Password = func(_ context.Context, id []byte) (string, []byte, error) { return string(id), []byte("secret"), nil }
			if f.standby && i == 0 {
				c.Standby = func() error { return fmt.Errorf("not active") }
			}
			s, err := ipc.Open(c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
		f.fronts = append(f.fronts, fakeFront{
			tracker: open(ipc.AuthSimple, trackerProtocol, map[string]ipc.Method{
				"registerNodeManager": ipc.Handle(f.registerNode), "nodeHeartbeat": ipc.Handle(f.heartbeat),
				"unRegisterNodeManager": ipc.Handle(f.unregisterNode)}),
			scheduler: open(ipc.AuthToken, masterProtocol, map[string]ipc.Method{
				"registerApplicationMaster": ipc.Handle(f.register), "allocate": ipc.Handle(f.allocate),
				"finishApplicationMaster": ipc.Handle(f.finish)}),
			client: open(ipc.AuthTokenSimple, clientProtocol, map[string]ipc.Method{
				"getNewApplication": ipc.Handle(f.newApplication), "submitApplication": ipc.Handle(f.submit),
				"getApplicationReport": ipc.Handle(f.report), "getClusterNodes": ipc.Handle(f.clusterNodes)}),
		})
	}
	return f
}

func (f *fakeRM) addresses() (d Addresses) {
	for _, x := range f.fronts {
		d.Tracker, d.Scheduler, d.Client = append(d.Tracker, x.tracker.Addr().String()),
			append(d.Scheduler, x.scheduler.Addr().String()), append(d.Client, x.client.Addr().String())
	}
	return d
}

// once reports whether a violation is wanted and has not happened yet. The caller holds mu.
func (f *fakeRM) once(wanted bool, name string) bool {
	if !wanted || f.fault[name] {
		return false
	}
	f.fault[name] = true
	return true
}

func (f *fakeRM) called(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[name]
}

func (f *fakeRM) registerNode(_ context.Context, _ *ipc.Call,
	req *proto.RegisterNodeManagerRequestProto) (*proto.RegisterNodeManagerResponseProto, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["registerNodeManager"]++
	key := &proto.MasterKeyProto{KeyId: new(int32(7)), Bytes: []byte("key")}
	n := f.nodes[req.GetNodeId().GetHost()]
	if n == nil {
		n = &fakeNode{id: req.GetNodeId(), room: req.GetResource().GetMemory(), running: map[string]*fakeApp{},
			told: map[string]bool{}}
		f.nodes[n.id.GetHost()] = n
		f.order = append(f.order, n)
	}
	n.response, n.last = 0, nil
	listed := map[string]bool{}
	for _, c := range req.GetContainerStatuses() {
		id := c.GetContainerId().String()
		if n.running[id] == nil || listed[id] {
			return nil, fmt.Errorf("the registration lists %s, which does not run there, or twice", id)
		}
		listed[id] = true
	}
	for id := range n.told { // other containers may be allocated and not started yet
		if n.running[id] != nil && !listed[id] {
			return nil, fmt.Errorf("the registration does not list %s", id)
		}
	}
	return &proto.RegisterNodeManagerResponseProto{NodeAction: proto.NodeActionProto_NODE_ACTION_NORMAL.Enum(),
		ContainerTokenMasterKey: key, NmTokenMasterKey: key}, nil
}

func (f *fakeRM) unregisterNode(_ context.Context, _ *ipc.Call,
	req *proto.UnRegisterNodeManagerRequestProto) (*proto.UnRegisterNodeManagerResponseProto, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["unRegisterNodeManager"]++
	delete(f.nodes, req.GetNodeId().GetHost())
	return &proto.UnRegisterNodeManagerResponseProto{}, nil
}

func (f *fakeRM) heartbeat(_ context.Context, _ *ipc.Call,
	req *proto.NodeHeartbeatRequestProto) (*proto.NodeHeartbeatResponseProto, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["nodeHeartbeat"]++
	s := req.GetNodeStatus()
	n := f.nodes[s.GetNodeId().GetHost()]
	switch {
	case n == nil || req.GetLastKnownContainerTokenMasterKey().GetKeyId() != 7 ||
		string(req.GetLastKnownNmTokenMasterKey().GetBytes()) != "key" || !s.GetNodeHealthStatus().GetIsNodeHealthy():
		return nil, fmt.Errorf("heartbeat of an unknown or odd node: %v", req)
	case s.GetResponseId() == n.response-1 && n.last != nil:
		return n.last, nil
	case s.GetResponseId() != n.response:
		return nil, fmt.Errorf("response id %d of %v, expected %d", s.GetResponseId(), n.id, n.response)
	}
	for _, c := range s.GetContainersStatuses() {
		n.told[c.GetContainerId().String()] = true
	}
	if f.calls["nodeHeartbeat"] > 20 && f.once(f.resync, "resync") {
		return &proto.NodeHeartbeatResponseProto{NodeAction: proto.NodeActionProto_NODE_ACTION_RESYNC.Enum(),
			DiagnosticsMessage: new("again")}, nil
	}
	out := &proto.NodeHeartbeatResponseProto{NodeAction: proto.NodeActionProto_NODE_ACTION_NORMAL.Enum(),
		TokenSequenceNo: new(int64(1))}
	for _, c := range s.GetContainersStatuses() {
		id := c.GetContainerId().String()
		app := n.running[id]
		if c.GetState() != proto.ContainerStateProto_C_COMPLETE || app == nil {
			continue
		}
		delete(n.running, id)
		n.room += c.GetCapability().GetMemory()
		out.ContainersToBeRemovedFromNm = append(out.ContainersToBeRemovedFromNm, c.GetContainerId())
		if f.once(f.exit, "exit") {
			c.ExitStatus = new(int32(-100))
		}
		if f.once(f.tellNever, "tellNever") {
			continue
		}
		app.ended = append(app.ended, c)
		if f.once(f.tellTwice, "tellTwice") {
			app.ended = append(app.ended, c)
		}
	}
	n.response++
	out.ResponseId = new(n.response)
	n.last = out
	return out, nil
}

func (f *fakeRM) clusterNodes(context.Context, *ipc.Call,
	*proto.GetClusterNodesRequestProto) (*proto.GetClusterNodesResponseProto, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["getClusterNodes"]++
	return &proto.GetClusterNodesResponseProto{}, nil
}

func (f *fakeRM) newApplication(context.Context, *ipc.Call,
	*proto.GetNewApplicationRequestProto) (*proto.GetNewApplicationResponseProto, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := int32(len(f.apps) + 1)
	f.apps[id] = &fakeApp{id: id, pending: map[int64]int32{}}
	return &proto.GetNewApplicationResponseProto{
		ApplicationId: &proto.ApplicationIdProto{Id: new(id), ClusterTimestamp: new(int64(1700000000000))}}, nil
}

func (f *fakeRM) submit(_ context.Context, _ *ipc.Call,
	req *proto.SubmitApplicationRequestProto) (*proto.SubmitApplicationResponseProto, error) {
	if q := req.GetApplicationSubmissionContext().GetQueue(); q != "default" {
		return nil, fmt.Errorf("unknown queue: %s", q)
	}
	return &proto.SubmitApplicationResponseProto{}, nil
}

func (f *fakeRM) report(_ context.Context, _ *ipc.Call,
	req *proto.GetApplicationReportRequestProto) (*proto.GetApplicationReportResponseProto, error) {
	return &proto.GetApplicationReportResponseProto{
		ApplicationReport: &proto.ApplicationReportProto{
			YarnApplicationState: proto.YarnApplicationStateProto_ACCEPTED.Enum(),
			AmRmToken: &proto.TokenProto{Identifier: fmt.Append(nil, req.GetApplicationId().GetId()),
				Password: []byte("secret"), Kind: new("YARN_AM_RM_TOKEN"), Service: new("")}}}, nil
}

func (f *fakeRM) caller(c *ipc.Call) *fakeApp {
	var id int32
	_, _ = fmt.Sscan(c.Caller.User, &id)
	return f.apps[id]
}

func (f *fakeRM) register(_ context.Context, c *ipc.Call,
	_ *proto.RegisterApplicationMasterRequestProto) (*proto.RegisterApplicationMasterResponseProto, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.caller(c).registered = true
	return &proto.RegisterApplicationMasterResponseProto{}, nil
}

func (f *fakeRM) finish(context.Context, *ipc.Call,
	*proto.FinishApplicationMasterRequestProto) (*proto.FinishApplicationMasterResponseProto, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["finish"]++
	// the caller must ask at least twice
	return &proto.FinishApplicationMasterResponseProto{IsUnregistered: new(f.calls["finish"] > 1)}, nil
}

func (f *fakeRM) allocate(_ context.Context, c *ipc.Call,
	req *proto.AllocateRequestProto) (*proto.AllocateResponseProto, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.caller(c)
	switch {
	case a == nil || !a.registered:
		return nil, fmt.Errorf("application of %s is not registered", c.Caller.User)
	case req.GetResponseId() == a.response-1 && a.last != nil:
		return a.last, nil
	case req.GetResponseId() != a.response:
		return nil, fmt.Errorf("response id %d, expected %d", req.GetResponseId(), a.response)
	}
	for _, r := range req.GetAsk() {
		if r.GetResourceName() != "*" || r.GetPriority().GetPriority() != 1 || r.GetCapability().GetMemory() != 1024 ||
			!r.GetRelaxLocality() {
			return nil, fmt.Errorf("odd ask: %v", r)
		}
		a.pending[r.GetAllocationRequestId()] = r.GetNumContainers()
	}
	out := &proto.AllocateResponseProto{CompletedContainerStatuses: a.ended}
	a.ended = nil
	if a.grantedLast != nil && f.once(f.grantTwice, "grantTwice") {
		out.AllocatedContainers = append(out.AllocatedContainers, a.grantedLast)
	}
	for slot := range int64(4) {
		for ; a.pending[slot] > 0; a.pending[slot]-- {
			k := f.grant(a, slot)
			if k == nil {
				break
			}
			out.AllocatedContainers = append(out.AllocatedContainers, k)
			if f.once(f.unasked, "unasked") {
				a.pending[slot]++
			}
		}
	}
	a.response++
	out.ResponseId = new(a.response)
	a.last = out
	return out, nil
}

// grant puts a container on a node with room. The caller holds mu.
func (f *fakeRM) grant(a *fakeApp, slot int64) *proto.ContainerProto {
	for _, n := range f.order {
		if n.room < 1024 && !(f.overfill && !f.fault["overfill"]) {
			continue
		}
		if n.room < 1024 {
			f.fault["overfill"] = true
		}
		n.room -= 1024
		a.next++
		id := &proto.ContainerIdProto{AppAttemptId: &proto.ApplicationAttemptIdProto{AttemptId: new(int32(1)),
			ApplicationId: &proto.ApplicationIdProto{Id: new(a.id), ClusterTimestamp: new(int64(1700000000000))}},
			Id: new(3<<40 | a.next)}
		n.running[id.String()] = a
		k := &proto.ContainerProto{Id: id, NodeId: gproto.Clone(n.id).(*proto.NodeIdProto),
			Resource: &proto.ResourceProto{Memory: new(int64(1024))}, AllocationRequestId: new(slot),
			ContainerToken: &proto.TokenProto{Identifier: []byte("i"), Password: []byte("p"), Kind: new("ContainerToken"),
				Service: new("s")}}
		if f.once(f.noToken, "noToken") {
			k.ContainerToken = nil
		}
		a.grantedLast = k
		return k
	}
	return nil
}
