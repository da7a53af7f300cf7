package tracker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// hostBytesMax limits a host name, and versionBytesMax a NodeManager's version.
const (
	hostBytesMax    = 255
	versionBytesMax = 128
)

// lookupTime limits the lookup of a host name.
const lookupTime = 5 * time.Second

// refusal is the reason why a node may not register. The NodeManager exits with it.
type refusal string

// Error returns the text that the node is told.
func (r refusal) Error() string { return string(r) }

func refusef(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// registerNodeManager registers a node with the containers that it still has.
func (s *Service) registerNodeManager(ctx context.Context, call *ipc.Call,
	req *proto.RegisterNodeManagerRequestProto) (*proto.RegisterNodeManagerResponseProto, error) {
	// The checks must use a state at least as new as what the leader has committed.
	if err := s.current(ctx); err != nil {
		return nil, err
	}
	st := s.cfg.Reader.Fork()
	if st.Versions.Current() == nil {
		return nil, ipc.Standby("this cluster is not initialized")
	}
	in, err := s.registration(st, req)
	if err == nil {
		err = s.mayRegister(ctx, st, in)
	}
	var reply *input.RegisterNodeReply
	if err == nil {
		in.Rack = s.cfg.Racks.Rack(ctx, in.ID.Host)
		in.HeartbeatSession = newHeartbeatSession()
		if from := address(call); from.IsValid() {
			in.Address = from.String()
		}
		reply, err = s.register(ctx, in)
	}
	if no, ok := err.(refusal); ok {
		s.cfg.Logger.Warn("node refused", "node", in.ID, "reason", string(no))
		return &proto.RegisterNodeManagerResponseProto{
			NodeAction:         proto.NodeActionProto_NODE_ACTION_SHUTDOWN.Enum(),
			DiagnosticsMessage: new(string(no)),
			RmVersion:          new(s.cfg.Version),
		}, nil
	}
	if err != nil {
		return nil, err
	}
	ss := &session{id: in.ID}
	if call.Conn != nil {
		ss.conn = call.Conn.ID()
	}
	labels, err := s.labelNode(ctx, in.ID, req.GetNodeLabels())
	if err != nil {
		return nil, err
	}
	return s.registered(in, reply, ss, labels)
}

// registration decodes a request.
func (s *Service) registration(st *state.State,
	req *proto.RegisterNodeManagerRequestProto) (*input.RegisterNode, error) {
	id, err := wire.NodeID(req.GetNodeId())
	if err != nil {
		return nil, invalid("registerNodeManager: %v", err)
	}
	in := &input.RegisterNode{ID: id, Version: s.text(req.GetNmVersion()), NodeManager: true}
	if h := req.GetNodeStatus().GetNodeHealthStatus(); h != nil {
		in.Unhealthy, in.Report = !h.GetIsNodeHealthy(), s.text(h.GetHealthReport())
	}
	if slot := st.Nodes.Find(id); slot != 0 {
		in.PrevSession = st.Nodes.Get(slot).HeartbeatSession
	}
	if !validHost(id.Host) || len(in.Version) > versionBytesMax {
		return in, invalid("registerNodeManager: %q is no host's name, or version %.40q none", clip(id.Host), in.Version)
	}
	if p := req.GetHttpPort(); p < 0 || p > 65535 {
		return in, invalid("registerNodeManager: HTTP port %d of node %s is none", p, id)
	}
	in.HTTPPort = uint16(req.GetHttpPort())
	if in.Total, err = wire.Resource(req.GetResource(), st.Versions.Kinds()); err != nil {
		return in, invalid("registerNodeManager: node %s: %v", id, err)
	}
	containers, running := req.GetContainerStatuses(), req.GetRunningApplications()
	if len(containers) > s.cfg.ContainersMax || len(running) > s.cfg.ApplicationsMax {
		return in, invalid("registerNodeManager: %d containers and %d applications of node %s, at most %d and %d are taken",
			len(containers), len(running), id, s.cfg.ContainersMax, s.cfg.ApplicationsMax)
	}
	if in.Running, err = wire.ApplicationIDs(running); err != nil {
		return in, invalid("registerNodeManager: node %s: %v", id, err)
	}
	in.Containers = make([]input.ContainerStatus, len(containers))
	for i, p := range containers {
		if in.Containers[i], err = wire.NMContainerStatus(p); err != nil {
			return in, invalid("registerNodeManager: node %s: %v", id, err)
		}
		s.trim(&in.Containers[i])
	}
	return in, s.recovered(st, in, containers)
}

// recovered decodes the additional facts about a node's containers that a taken-over cluster needs
// when the node registers for the first time.
func (s *Service) recovered(st *state.State, in *input.RegisterNode, containers []*proto.NMContainerStatusProto) error {
	if st.Meta.ImportEpoch == 0 || st.Nodes.Find(in.ID) != 0 {
		return nil
	}
	in.Recovered = make([]input.RecoveredContainer, len(containers))
	for i, p := range containers {
		size, err := wire.Resource(p.GetResource(), st.Versions.Kinds())
		if err != nil {
			return invalid("registerNodeManager: node %s: %v", in.ID, err)
		}
		in.Recovered[i] = input.RecoveredContainer{Container: in.Containers[i].Container, Size: size,
			StartedMillis: p.GetCreationTime(),
			Key:           yarn.SchedulerKey{Priority: wire.Priority(p.GetPriority()), AllocationID: p.GetAllocationRequestId()}}
	}
	return nil
}

// validHost reports whether a text can be the name or address of a host. The text is an argument of
// the operator's script, and is shown.
func validHost(host string) bool {
	if len(host) > hostBytesMax || host[0] == '-' {
		return false
	}
	for i := range len(host) {
		c := host[i]
		if !digit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune("-._:[]%", rune(c)) {
			return false
		}
	}
	return true
}

func clip(text string) string { return text[:min(len(text), 80)] }

// mayRegister makes the checks that this replica can make by itself. The planner checks the lists
// of hosts.
func (s *Service) mayRegister(ctx context.Context, st *state.State, in *input.RegisterNode) error {
	least := s.cfg.MinimumVersion
	if least == EqualToRM {
		least = s.cfg.Version
	}
	if least != AnyVersion && (in.Version == "" || compareVersions(in.Version, least) < 0) {
		return refusef("NodeManager version %q of %s is older than %s, the minimum", in.Version, in.ID, least)
	}
	if s.cfg.CheckHost {
		ctx, cancel := context.WithTimeout(ctx, lookupTime)
		defer cancel()
		if _, err := s.cfg.Lookup(ctx, in.ID.Host); err != nil {
			return refusef("host %s of the node cannot be resolved here: %v", in.ID.Host, err)
		}
	}
	var smallest yarn.Resource // zero if this replica cannot read the configuration yet
	if conf := s.queues.Of(st); conf != nil {
		smallest = conf.MinAlloc
	}
	if in.Total[yarn.Memory] < smallest[yarn.Memory] || in.Total[yarn.VCores] < smallest[yarn.VCores] {
		return refusef("node %s does not satisfy the minimum allocations: it has <memory:%d, vCores:%d>, the smallest container is %d MB and %d vcores",
			in.ID, in.Total[yarn.Memory], in.Total[yarn.VCores], smallest[yarn.Memory], smallest[yarn.VCores])
	}
	return nil
}

// register plans the registration.
func (s *Service) register(ctx context.Context, in *input.RegisterNode) (*input.RegisterNodeReply, error) {
	reply, err := s.do(ctx, in)
	if err != nil {
		return nil, err
	}
	if f := reply.Refused(); f != nil {
		switch f.Reason {
		case input.HostRefused:
			return nil, refusal(f.What)
		case input.NotAllowed:
			return nil, refusal(f.Error())
		case input.NodeElsewhere:
			return nil, ipc.Standby(f.Error())
		}
		return nil, invalid("registerNodeManager of %s: %v", in.ID, f)
	}
	out, ok := reply.(*input.RegisterNodeReply)
	if !ok {
		return nil, ipc.Standby("the leader's answer is of another kind")
	}
	return out, nil
}

// registered begins the session of a registered node and returns the answer.
func (s *Service) registered(in *input.RegisterNode, reply *input.RegisterNodeReply, ss *session,
	labels *labelAnswer) (*proto.RegisterNodeManagerResponseProto, error) {
	now := s.now()
	v := s.fresh(now)
	ring := token.NewRing(v.st)
	containerKey, err := ring.AtRegistration(yarn.KeyContainer)
	if err != nil {
		return nil, ipc.Standby(err.Error())
	}
	nmKey, err := ring.AtRegistration(yarn.KeyNM)
	if err != nil {
		return nil, ipc.Standby(err.Error())
	}
	number := v.st.Nodes.Find(in.ID)
	if number == 0 {
		return nil, ipc.Standby("the registration of " + in.ID.String() + " has not arrived here yet")
	}
	ss.number, ss.lastHeartbeat = number, now
	ss.reset(v.st, v.st.Nodes.Get(number), 0)
	_, remove := split(v.st, number, in.Containers)
	if len(reply.Kill) > 0 || len(reply.CleanUp) > 0 || len(remove) > 0 {
		ss.pending = &pendingOrders{kill: reply.Kill, cleanUp: reply.CleanUp, remove: remove}
	}
	ss.total = reply.Total
	s.mu.Lock()
	s.sessions[in.ID] = ss
	s.mu.Unlock()

	out := &proto.RegisterNodeManagerResponseProto{
		ContainerTokenMasterKey: containerKey,
		NmTokenMasterKey:        nmKey,
		NodeAction:              proto.NodeActionProto_NODE_ACTION_NORMAL.Enum(),
		RmIdentifier:            new(v.st.Meta.ClusterTimestamp),
		RmVersion:               new(s.cfg.Version),
	}
	if !reply.Total.IsZero() {
		out.Resource = wire.ResourceProto(reply.Total, v.st.Versions.Kinds())
	}
	if labels != nil {
		out.AreNodeLabelsAcceptedByRM, out.DiagnosticsMessage = &labels.accepted, wire.Optional(labels.diagnostics)
	}
	s.cfg.Logger.Info("node registered", "node", in.ID, "total", v.st.Versions.Kinds().Format(in.Total), "rack", in.Rack,
		"version", in.Version,
		"containers", len(in.Containers), "kill", len(reply.Kill))
	return out, nil
}

// unRegisterNodeManager handles a node's shutdown. It also succeeds for an unknown node.
func (s *Service) unRegisterNodeManager(ctx context.Context, call *ipc.Call,
	req *proto.UnRegisterNodeManagerRequestProto) (*proto.UnRegisterNodeManagerResponseProto, error) {
	id, err := wire.NodeID(req.GetNodeId())
	if err != nil {
		return nil, invalid("unRegisterNodeManager: %v", err)
	}
	stay, err := s.checkAddress(ctx, call, id)
	if err != nil {
		return nil, err
	}
	reply, err := s.do(ctx, &input.UnregisterNode{ID: id, HeartbeatSession: stay})
	if err != nil {
		return nil, err
	}
	switch f := reply.Refused(); {
	case f == nil, f.Reason == input.NoSuchNode:
	case f.Reason == input.NodeElsewhere:
		return nil, ipc.Standby(f.Error())
	default:
		return nil, invalid("unRegisterNodeManager of %s: %v", id, f)
	}
	if ss := s.session(id); ss != nil {
		s.forget(ss)
	}
	s.cfg.Logger.Info("node unregistered", "node", id)
	return &proto.UnRegisterNodeManagerResponseProto{}, nil
}
