package client

import (
	"context"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// clusterMetrics counts nodes. As in YARN, NumNodeManagers contains all nodes that send heartbeats,
// also those that cannot be scheduled on.
func (s *Service) clusterMetrics(ctx context.Context, c *ipc.Call,
	_ *proto.GetClusterMetricsRequestProto) (*proto.GetClusterMetricsResponseProto, error) {
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	var by [yarn.NodeShutdown + 1]int32
	v.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if int(n.State) < len(by) {
			by[n.State]++
		}
		return true
	})
	for _, n := range v.listedUnknown() {
		by[n.State]++
	}
	return &proto.GetClusterMetricsResponseProto{ClusterMetrics: &proto.YarnClusterMetricsProto{
		NumNodeManagers:       new(by[yarn.NodeRunning] + by[yarn.NodeUnhealthy] + by[yarn.NodeDecommissioning]),
		NumActiveNms:          new(by[yarn.NodeRunning]),
		NumUnhealthyNms:       new(by[yarn.NodeUnhealthy]),
		NumDecommissioningNms: new(by[yarn.NodeDecommissioning]),
		NumDecommissionedNms:  new(by[yarn.NodeDecommissioned]),
		NumLostNms:            new(by[yarn.NodeLost]),
		NumRebootedNms:        new(by[yarn.NodeRebooted]),
		NumShutdownNms:        new(by[yarn.NodeShutdown]),
	}}, nil
}

// clusterNodes returns the nodes in the requested states, or all nodes if no state is given.
func (s *Service) clusterNodes(ctx context.Context, c *ipc.Call,
	req *proto.GetClusterNodesRequestProto) (*proto.GetClusterNodesResponseProto, error) {
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	var want map[yarn.NodeState]bool
	for _, p := range req.GetNodeStates() {
		s, _ := wire.NodeState(p) // NEW gives 0, a state that no node has
		put(&want, s)
	}
	out := &proto.GetClusterNodesResponseProto{}
	v.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if want == nil || want[n.State] {
			out.NodeReports = append(out.NodeReports, v.nodeReport(n))
		}
		return true
	})
	for _, n := range v.listedUnknown() {
		if want == nil || want[n.State] {
			out.NodeReports = append(out.NodeReports, v.unknownReport(n))
		}
	}
	return out, nil
}

// listedUnknown returns the nodes of listed hosts that never registered.
func (v *view) listedUnknown() []*state.Node {
	return v.st.ListedUnknown(v.s.cfg.Queues.TrackUnregistered(v.st))
}

// unknownReport returns the report of a listed host that never registered. YARN gives its port as
// -1.
func (v *view) unknownReport(n *state.Node) *proto.NodeReportProto {
	r := v.nodeReport(n)
	r.NodeLabels = wire.NodeLabels(v.st, v.st.LabelledHosts.LabelOf(n.ID))
	r.NodeId.Port, r.HttpAddress, r.RackName = new(int32(-1)), new(n.ID.Host+":-1"), nil
	return r
}

func (v *view) nodeReport(n *state.Node) *proto.NodeReportProto {
	r := &proto.NodeReportProto{
		NodeId:               wire.NodeIDProto(n.ID),
		HttpAddress:          new(nodeHTTP(n)),
		RackName:             new(n.Rack),
		Used:                 wire.ResourceProto(n.Allocated, v.kinds),
		Capability:           wire.ResourceProto(n.Total, v.kinds),
		NumContainers:        new(n.Count),
		NodeState:            wire.NodeStateProto(n.State).Enum(),
		HealthReport:         new(n.Report),
		LastHealthReportTime: new(n.HeardMillis(v.now)),
		NodeLabels:           wire.NodeLabels(v.st, n.Label),
	}
	if left, ok := n.DrainMillis(v.now); ok {
		r.DecommissioningTimeout = new(wire.Seconds(left))
	}
	if v.s.cfg.Nodes == nil {
		return r
	}
	if u, ok := v.s.cfg.Nodes.Usage(n.ID); ok {
		r.ContainersUtilization, r.NodeUtilization = u.Containers, u.Node
		r.LastHealthReportTime = new(max(u.HealthMillis, n.Registered))
	}
	return r
}
