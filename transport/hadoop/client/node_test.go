package client

import (
	"context"
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// park returns a fixture with nodes in four states.
func park(t testing.TB) *fixture {
	h := newFixture(t)
	h.node(t, "up")
	sick, lost, left := h.node(t, "sick"), h.node(t, "lost"), h.node(t, "left")
	h.must(t, &input.NodeHeartbeat{ID: sick, Unhealthy: true, Report: "disk full"})
	h.must(t, &input.ExpireNode{ID: lost})
	h.must(t, &input.UnregisterNode{ID: left})
	return h
}

func TestClusterMetrics(t *testing.T) {
	h := park(t)
	r, err := h.svc.clusterMetrics(context.Background(), as("ann"), &proto.GetClusterMetricsRequestProto{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "cluster-metrics", r)
}

func TestClusterNodes(t *testing.T) {
	h := park(t)
	id := h.app(t, "ann", nil)
	h.launch(t, id)
	h.usage[yarn.NodeID{Host: "up", Port: 45454}] = NodeUsage{HealthMillis: birth + 999,
		Node: &proto.ResourceUtilizationProto{Pmem: new(int32(700)), Vmem: new(int32(900)), Cpu: new(float32(0.5))}}
	list := func(states ...proto.NodeStateProto) *proto.GetClusterNodesResponseProto {
		r, err := h.svc.clusterNodes(context.Background(), as("ann"), &proto.GetClusterNodesRequestProto{NodeStates: states})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	golden(t, "nodes-all", list())
	for state, want := range map[proto.NodeStateProto]int{
		proto.NodeStateProto_NS_RUNNING: 1, proto.NodeStateProto_NS_UNHEALTHY: 1, proto.NodeStateProto_NS_LOST: 1,
		proto.NodeStateProto_NS_SHUTDOWN: 1,
		proto.NodeStateProto_NS_NEW:      0, proto.NodeStateProto_NS_DECOMMISSIONED: 0,
	} {
		got := list(state).GetNodeReports()
		if len(got) != want || (want > 0 && got[0].GetNodeState() != state) {
			t.Errorf("clusterNodes in %s: %v, want %d nodes, all in that state", state, got, want)
		}
	}
	if n := len(list(proto.NodeStateProto_NS_RUNNING, proto.NodeStateProto_NS_LOST).GetNodeReports()); n != 2 {
		t.Errorf("%d nodes run or are lost", n)
	}
}

// TestIncludedHostsReported checks that a host that may register and never did is reported as LOST,
// if the key is set.
func TestIncludedHostsReported(t *testing.T) {
	for set, want := range map[string]int{"true": 1, "false": 0} {
		h := newFixture(t, "yarn.resourcemanager.enable-tracking-for-unregistered-nodes", set)
		h.must(t, &input.SetHosts{Include: []string{"never"}})
		r, err := h.svc.clusterNodes(context.Background(), as("ann"),
			&proto.GetClusterNodesRequestProto{NodeStates: []proto.NodeStateProto{proto.NodeStateProto_NS_LOST}})
		if err != nil || len(r.GetNodeReports()) != want || want == 1 && r.GetNodeReports()[0].GetNodeId().GetPort() != -1 {
			t.Errorf("%s: clusterNodes in NS_LOST = %v, %v, want %d nodes with port -1", set, r, err, want)
		}
		m, err := h.svc.clusterMetrics(context.Background(), as("ann"), &proto.GetClusterMetricsRequestProto{})
		if err != nil || int(m.GetClusterMetrics().GetNumLostNms()) != want {
			t.Errorf("%s: clusterMetrics = %v, %v, want %d lost NodeManagers", set, m, err, want)
		}
	}
}

// TestExcludedHostsReported checks that an excluded host that never registered is reported as
// DECOMMISSIONED with port -1.
func TestExcludedHostsReported(t *testing.T) {
	h := park(t)
	h.must(t, &input.SetHosts{Exclude: []string{"never"}})
	r, err := h.svc.clusterNodes(context.Background(), as("ann"),
		&proto.GetClusterNodesRequestProto{NodeStates: []proto.NodeStateProto{proto.NodeStateProto_NS_DECOMMISSIONED}})
	if err != nil || len(r.GetNodeReports()) != 1 {
		t.Fatalf("clusterNodes in NS_DECOMMISSIONED = %v, %v, want one node", r, err)
	}
	if n := r.GetNodeReports()[0]; n.GetNodeId().GetHost() != "never" || n.GetNodeId().GetPort() != -1 ||
		n.GetHttpAddress() != "never:-1" || n.RackName != nil {
		t.Errorf("report of the excluded host = %v, want never:-1 without a rack", n)
	}
	m, err := h.svc.clusterMetrics(context.Background(), as("ann"), &proto.GetClusterMetricsRequestProto{})
	if err != nil || m.GetClusterMetrics().GetNumDecommissionedNms() != 1 {
		t.Errorf("clusterMetrics = %v, %v, want one decommissioned NodeManager", m, err)
	}
}
