package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// TestHadoopFailover kills the leader, and then the replica to which an AM and a NodeManager are
// connected. NodeManagers and AMs that use Hadoop's protocols are connected to all replicas. Each
// of them must continue with its next response id, keep its containers and get more. A reservation
// must stay the same.
func TestHadoopFailover(t *testing.T) {
	t.Parallel()
	h := startHadoop(t, 3, "")
	leader := h.leader()
	lead := h.index(leader)
	left, right := (lead+1)%3, (lead+2)%3
	nodes := []*nodeManager{h.node(lead, "127.0.0.1"), h.node(left, "127.0.0.2"), h.node(right, "127.0.0.3")}

	first := h.registered(left, "ann", "a", nodes...)
	first.until(3, append(wants(1, 1, 5120, "127.0.0.2"), wants(2, 2, 1024, "127.0.0.3")...)...)
	waiting := h.registered(right, "bob", "b", nodes...)
	waiting.beat(wants(1, 1, 6144, "127.0.0.2")...)
	atLeader := h.registered(lead, "eve", "b", nodes...)
	atLeader.until(1, wants(1, 1, 512, "")...)
	h.await("a reservation is made", patience, func() bool { return len(h.reservations(leader)) == 1 })
	was := h.reservations(leader)[0]

	h.kill(leader)
	first.until(4, wants(3, 1, 512, "127.0.0.1")...)
	waiting.beat()
	atLeader.until(2, wants(1, 1, 512, "")...)
	h.held(nodes, first, atLeader)
	next := h.leader()
	if now := h.reservations(next); len(now) != 1 || now[0].ID != was.ID || now[0].Container != was.Container ||
		now[0].Node != was.Node || now[0].MadeMillis != was.MadeMillis {
		t.Fatalf("the reservation was %+v, and is %+v", was, now)
	}
	h.start(leader)
	h.awaitReady(leader)
	h.awaitInStep()

	connected := first.where() // the replica dies while the AM is connected, whether or not it leads
	h.kill(connected)
	first.until(5, wants(4, 1, 512, "127.0.0.3")...)
	if first.where() == connected {
		t.Error("the AM is still at the replica that was killed")
	}
	waiting.beat()
	atLeader.beat()
	h.held(nodes, first, atLeader)

	nodes[1].ends(first.container(0)) // frees the reserved node
	waiting.until(1)
	if got := waiting.container(0); got.String() != was.Container {
		t.Errorf("granted %s; %s was reserved", got, was.Container)
	}
	h.await("the AM is told of its container's end", patience, func() bool {
		first.beat()
		return first.ended[first.container(0)]
	})
	h.finish(first)
}

func (h *hadoopCluster) index(p *process) int {
	for i := range h.all {
		if h.all[i] == p {
			return i
		}
	}
	h.t.Fatalf("%s is none of them", p.id)
	return 0
}

// held checks that the nodes send heartbeats and that all allocated containers still run on their
// nodes.
func (h *hadoopCluster) held(nodes []*nodeManager, masters ...*master) {
	h.t.Helper()
	for _, n := range nodes {
		n.beating()
	}
	seen := map[yarn.ContainerID]bool{}
	for _, m := range masters {
		for i, c := range m.held {
			id := m.container(i)
			if seen[id] {
				h.t.Errorf("%s was given twice", id)
			}
			seen[id] = true
			if !m.nodes[c.GetNodeId().GetHost()].runs(id) || m.ended[id] {
				h.t.Errorf("%s does not run any more", id)
			}
		}
	}
}

// finish unregisters an AM like Hadoop's AMs: it calls until the reply says that it is
// unregistered.
func (h *hadoopCluster) finish(m *master) {
	h.t.Helper()
	h.await(m.id.String()+" has unregistered", patience, func() bool {
		var out proto.FinishApplicationMasterResponseProto
		if err := m.call("finishApplicationMaster",
			&proto.FinishApplicationMasterRequestProto{
				FinalApplicationStatus: proto.FinalApplicationStatusProto_APP_SUCCEEDED.Enum()}, &out); err != nil {
			h.t.Fatal(err)
		}
		return out.GetIsUnregistered()
	})
	var out proto.GetApplicationReportResponseProto
	h.must(h.at[m.where()].client, clientProtocol, "ann", "getApplicationReport",
		&proto.GetApplicationReportRequestProto{ApplicationId: wire.ApplicationIDProto(m.id.App)}, &out)
	if r := out.GetApplicationReport(); r.GetYarnApplicationState() != proto.YarnApplicationStateProto_FINISHED ||
		r.GetFinalApplicationStatus() != proto.FinalApplicationStatusProto_APP_SUCCEEDED {
		h.t.Errorf("it is %s, %s", r.GetYarnApplicationState(), r.GetFinalApplicationStatus())
	}
}

// serviceState returns the HA state of a replica, as `yarn rmadmin` reads it.
func (h *hadoopCluster) serviceState(p *process) proto.HAServiceStateProto {
	h.t.Helper()
	var out proto.GetServiceStatusResponseProto
	h.must(h.at[p].admin, haProtocol, "ann", "getServiceStatus", &proto.GetServiceStatusRequestProto{}, &out)
	return out.GetState()
}

// TestHadoopAdministration makes the calls of rmadmin at a follower, and reloads files with SIGHUP.
func TestHadoopAdministration(t *testing.T) {
	t.Parallel()
	h := startHadoop(t, 3, "", "yarn.resourcemanager.store.class", "ZKRMStateStore",
		"yarn.resourcemanager.zk-address", "zk:2181")
	for _, p := range h.all {
		said := strings.Count(p.logged(), "keys of the Hadoop files are not honored")
		if said != 1 || !contain(p.logged(), "count=2") ||
			!contain(p.logged(), `keys="yarn.resourcemanager.store.class yarn.resourcemanager.zk-address"`) {
			t.Errorf("%s told %d times of keys that it does not honor:\n%s", p.id, said, p.log())
		}
	}
	contains(t, "conf get --ignored", h.done("conf", "get", "--ignored", "--conf-dir", h.conf),
		"yarn.resourcemanager.store.class", "replicated log", "yarn.resourcemanager.zk-address")
	leader := h.leader()
	follower := h.others(leader)[0]
	for _, p := range h.all {
		if active := h.serviceState(p) == proto.HAServiceStateProto_ACTIVE; active != (p == leader) {
			t.Errorf("%s says that active is %v", p.id, active)
		}
	}
	admin := h.at[follower].admin
	refusedWith(t, h.call(admin, haProtocol, "ann", "transitionToActive",
		&proto.TransitionToActiveRequestProto{ReqInfo: &proto.HAStateChangeRequestInfoProto{
			ReqSource: proto.HARequestSource_REQUEST_BY_USER.Enum()}}, &proto.TransitionToActiveResponseProto{}),
		"org.apache.hadoop.ha.ServiceFailedException", "rmd cluster transfer")
	h.node(1, "127.0.0.4")
	h.write("capacity-scheduler.xml", "yarn.scheduler.capacity.root.queues", "a,b",
		"yarn.scheduler.capacity.root.a.capacity", "25", "yarn.scheduler.capacity.root.b.capacity", "75")
	h.must(admin, adminProtocol, "ann", "refreshQueues", &proto.RefreshQueuesRequestProto{},
		&proto.RefreshQueuesResponseProto{})
	var queue proto.GetQueueInfoResponseProto
	h.must(h.at[leader].client, clientProtocol, "ann", "getQueueInfo",
		&proto.GetQueueInfoRequestProto{QueueName: new("b")}, &queue)
	if queue.GetQueueInfo().GetCapacity() != 0.75 {
		t.Errorf("queue b has %v", queue.GetQueueInfo().GetCapacity())
	}
	id := wire.NodeIDProto(yarn.NodeID{Host: "127.0.0.4", Port: 45454})
	h.must(admin, adminProtocol, "ann", "updateNodeResource",
		&proto.UpdateNodeResourceRequestProto{NodeResourceMap: []*proto.NodeResourceMapProto{
			{NodeId: id, ResourceOption: &proto.ResourceOptionProto{
				Resource: wire.ResourceProto(yarn.NewResource(2048, 2), yarn.DefaultKinds())}}}},
		&proto.UpdateNodeResourceResponseProto{})
	var nodes proto.GetClusterNodesResponseProto
	h.must(h.at[leader].client, clientProtocol, "ann", "getClusterNodes", &proto.GetClusterNodesRequestProto{}, &nodes)
	if n := nodes.GetNodeReports(); len(n) != 1 || n[0].GetCapability().GetMemory() != 2048 {
		t.Errorf("the nodes are %v", n)
	}

	excluded := filepath.Join(h.conf, "exclude.xml")
	if err := os.WriteFile(excluded, []byte("<hosts><host><name>127.0.0.8</name></host></hosts>"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must(h.at[leader].tracker, trackerProtocol, "yarn", "registerNodeManager",
		&proto.RegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(yarn.NodeID{Host: "127.0.0.8", Port: 1}),
			HttpPort: new(int32(2)), NmVersion: new("3.4.2"),
			Resource: wire.ResourceProto(yarn.NewResource(1024, 1), yarn.DefaultKinds())},
		&proto.RegisterNodeManagerResponseProto{})
	h.writeSite("yarn.resourcemanager.nodes.exclude-path", excluded)
	h.must(admin, adminProtocol, "ann", "refreshNodes", &proto.RefreshNodesRequestProto{},
		&proto.RefreshNodesResponseProto{})
	h.must(h.at[follower].client, clientProtocol, "ann", "getClusterNodes",
		&proto.GetClusterNodesRequestProto{NodeStates: []proto.NodeStateProto{proto.NodeStateProto_NS_DECOMMISSIONED}},
		&nodes)
	if n := nodes.GetNodeReports(); len(n) != 1 || n[0].GetNodeId().GetHost() != "127.0.0.8" {
		t.Errorf("decommissioned are %v", n)
	}

	refresh := func() error {
		return h.call(admin, adminProtocol, "eve", "refreshNodes", &proto.RefreshNodesRequestProto{},
			&proto.RefreshNodesResponseProto{})
	}
	if err := refresh(); err != nil {
		t.Error(err)
	}
	h.writeSite("yarn.admin.acl", "ann")
	follower.signal(t, syscall.SIGHUP)
	h.await("the files are read again", patience, func() bool { return contain(follower.logged(), "from Hadoop's files") })
	refusedWith(t, refresh(), ipc.ClassYarn, "User eve doesn't have permission to call 'refreshNodes'")
}

// TestHadoopStandby checks that followers answer like YARN's standby ResourceManagers at every
// stage of a connection, and that the leader serves calls.
func TestHadoopStandby(t *testing.T) {
	t.Parallel()
	h := startHadoop(t, 3, "standby: refuse\n")
	leader := h.leader()
	node := h.node(h.index(leader), "127.0.0.5")
	am := h.registered(h.index(leader), "ann", "a", node)
	am.until(1, wants(1, 1, 512, "")...)
	for _, p := range h.others(leader) {
		at, says := h.at[p], "ResourceManager "+p.id+" is not Active!"
		refusedWith(t, h.call(at.client, clientProtocol, "ann", "getNewApplication", &proto.GetNewApplicationRequestProto{},
			&proto.GetNewApplicationResponseProto{}), ipc.ClassStandby, says)
		refusedWith(t, h.call(at.tracker, trackerProtocol, "yarn", "nodeHeartbeat", &proto.NodeHeartbeatRequestProto{},
			&proto.NodeHeartbeatResponseProto{}), ipc.ClassStandby, says)
		refusedWith(t, h.call(at.admin, adminProtocol, "ann", "refreshQueues", &proto.RefreshQueuesRequestProto{},
			&proto.RefreshQueuesResponseProto{}), ipc.ClassStandby, says)
		err := h.ipc.Call(t.Context(), ipc.Target{Address: at.scheduler, Protocol: masterProtocol, Token: am.token},
			"allocate", &proto.AllocateRequestProto{}, &proto.AllocateResponseProto{})
		refusedWith(t, err, ipc.ClassStandby, says) // during authentication
		err = h.ipc.Call(t.Context(), ipc.Target{Address: at.client, Protocol: clientProtocol, User: "ann", Sasl: true},
			"getNewApplication", &proto.GetNewApplicationRequestProto{}, &proto.GetNewApplicationResponseProto{})
		refusedWith(t, err, ipc.ClassStandby, says)
		if s := h.serviceState(p); s != proto.HAServiceStateProto_STANDBY {
			t.Errorf("%s is %s", p.id, s)
		}
	}
	h.kill(leader)
	am.until(2, wants(1, 1, 512, "")...) // the clients try the replicas in turn until they find the new leader
	node.beating()
	h.held([]*nodeManager{node}, am)
	if now := h.leader(); am.where() != now || node.where() != now {
		t.Errorf("the AM is at %s, the node at %s, and %s leads", am.where().id, node.where().id, now.id)
	}
}
