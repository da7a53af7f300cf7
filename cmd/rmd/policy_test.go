package main

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// TestServicePolicy checks at the leader and at a follower, whose calls the leader carries out, that
// hadoop-policy.xml decides who may use a port, and that -refreshServiceAcl reads it again.
func TestServicePolicy(t *testing.T) {
	t.Parallel()
	h := newHadoop(t, 3, "", "hadoop.security.authorization", "true", "hadoop.user.group.static.mapping.overrides",
		"ann=;eve=;yarn=nodes")
	policy := func(clients, blockedAddress string) {
		h.write("hadoop-policy.xml", "security.applicationclient.protocol.acl", clients,
			"security.resourcetracker.protocol.acl", " nodes",
			"security.resourcemanager-administration.protocol.hosts.blocked", blockedAddress)
	}
	policy("ann,operator", "")
	for _, p := range h.all {
		h.start(p)
	}
	h.awaitReady(h.all...)
	leader := h.leader()
	follower := h.others(leader)[0]
	apply := func(at *process, user string) error {
		return h.call(h.at[at].client, clientProtocol, user, "getNewApplication", &proto.GetNewApplicationRequestProto{},
			&proto.GetNewApplicationResponseProto{})
	}
	register := func(at *process, user string) error {
		return h.call(h.at[at].tracker, trackerProtocol, user, "registerNodeManager", &proto.RegisterNodeManagerRequestProto{
			NodeId: wire.NodeIDProto(yarn.NodeID{Host: "127.0.0.8", Port: 1}), HttpPort: new(int32(2)), NmVersion: new("3.4.2"),
			Resource: wire.ResourceProto(yarn.NewResource(1024, 1), yarn.DefaultKinds())},
			&proto.RegisterNodeManagerResponseProto{})
	}
	const denied = " is not authorized for protocol interface "
	for _, p := range []*process{leader, follower} {
		if err := apply(p, "ann"); err != nil {
			t.Errorf("ann at %s: %v", p.id, err)
		}
		refusedWith(t, apply(p, "eve"), ipc.ClassAuthorization,
			"User eve (auth:SIMPLE)"+denied+clientProtocol+": denied by configured ACL")
		refusedWith(t, register(p, "eve"), ipc.ClassAuthorization,
			"User eve (auth:SIMPLE)"+denied+trackerProtocol+": denied by configured ACL")
		if err := register(p, "yarn"); err != nil {
			t.Errorf("a node at %s: %v", p.id, err)
		}
	}
	var nodes proto.GetClusterNodesResponseProto
	h.must(h.at[leader].client, clientProtocol, "ann", "getClusterNodes", &proto.GetClusterNodesRequestProto{}, &nodes)
	if n := len(nodes.GetNodeReports()); n != 1 {
		t.Errorf("%d nodes, want the one of yarn", n)
	}
	am := h.registered(h.index(follower), "ann", "a")
	am.beat()

	policy("eve", "127.0.0.0/8")
	refresh := func() error {
		return h.call(h.at[follower].admin, adminProtocol, "ann", "refreshServiceAcls",
			&proto.RefreshServiceAclsRequestProto{}, &proto.RefreshServiceAclsResponseProto{})
	}
	if err := refresh(); err != nil {
		t.Fatal(err)
	}
	if err := apply(follower, "eve"); err != nil {
		t.Errorf("eve, when the policy allows it: %v", err)
	}
	if err := apply(follower, "ann"); err != nil {
		t.Errorf("an open connection: %v", err)
	}
	cfg := ipc.DefaultClientConfig()
	cfg.Logger = hclog.NewNullLogger()
	var err error
	if h.ipc, err = ipc.OpenClient(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.ipc.Close() })
	refusedWith(t, apply(follower, "ann"), ipc.ClassAuthorization, "User ann (auth:SIMPLE)"+denied+clientProtocol)
	refusedWith(t, refresh(), ipc.ClassAuthorization, "Host 127.0.0.1"+denied+adminProtocol)
	if err := apply(leader, "ann"); err != nil {
		t.Errorf("at a replica that has not read the new file: %v", err)
	}
}
