package tracker

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// TestOverTheWire sends a node's calls through a real port. A heartbeat that waits for a commit
// must not delay the next call on its connection.
func TestOverTheWire(t *testing.T) {
	c := newCluster(t)
	s := newService(t, c)
	cfg := ipc.DefaultConfig()
	cfg.Logger, cfg.Protocols = hclog.NewNullLogger(), []ipc.Protocol{s.Protocol()}
	server, err := ipc.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ccfg := ipc.DefaultClientConfig()
	ccfg.Logger = hclog.NewNullLogger()
	client, err := ipc.OpenClient(ccfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := client.Connect(ctx, ipc.Target{Address: server.Addr().String(), Protocol: protocolName, User: "yarn"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	a, b := newNM(t, s, "node1"), newNM(t, s, "node2")
	for _, n := range []*nm{a, b} {
		var out proto.RegisterNodeManagerResponseProto
		if err := conn.Call(ctx, "registerNodeManager", n.registration(), &out); err != nil {
			t.Fatal(err)
		}
		n.keys = [2]int32{out.GetContainerTokenMasterKey().GetKeyId(), out.GetNmTokenMasterKey().GetKeyId()}
	}
	beat := func(n *nm) {
		t.Helper()
		var out proto.NodeHeartbeatResponseProto
		if err := conn.Call(ctx, "nodeHeartbeat", n.request(), &out); err != nil || out.GetResponseId() != n.response+1 {
			t.Fatalf("heartbeat of %s: %v, %v", n.id, &out, err)
		}
		n.accept(&out)
	}
	beat(a)
	beat(b)

	hold, held := make(chan struct{}), make(chan struct{})
	c.fail(func(in input.Input) error {
		if h, ok := in.(*input.NodeHeartbeat); ok && h.ID == a.id {
			close(held)
			<-hold
		}
		return nil
	}, nil)
	a.healthy = false
	answer := make(chan error, 1)
	go func() {
		var out proto.NodeHeartbeatResponseProto
		answer <- conn.Call(ctx, "nodeHeartbeat", a.request(), &out)
	}()
	<-held
	for range 5 {
		beat(b)
	}
	close(hold)
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if s.session(b.id).conn == 0 {
		t.Error("the session does not know its connection")
	}
}
