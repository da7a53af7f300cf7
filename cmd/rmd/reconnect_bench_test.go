package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/internal/gss"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// reconnectInterval is the time between two heartbeats of a node, Hadoop's default.
const reconnectInterval = time.Second

// BenchmarkReconnect kills the leader to which all NodeManagers are connected, each with a ticket of its
// own, and measures how long after the kill the last of them has an answer to a new heartbeat. The
// nodes run in this process, so that their half of each handshake is in the figure.
func BenchmarkReconnect(b *testing.B) {
	for _, quality := range []string{"authentication", "privacy"} {
		for _, nodes := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", quality, nodes), func(b *testing.B) {
				for b.Loop() {
					gaps := reconnect(b, quality, nodes)
					b.ReportMetric(gaps[len(gaps)/2].Seconds(), "s/median")
					b.ReportMetric(gaps[len(gaps)-1].Seconds(), "s/last")
				}
			})
		}
	}
}

// reconnect returns the gap of each node, the shortest first.
func reconnect(b *testing.B, quality string, nodes int) (gaps []time.Duration) {
	h := newSecured(b, 3, "hadoop.rpc.protection", quality)
	for _, p := range h.all {
		h.start(p)
	}
	h.awaitReady(h.all...)
	cfg := ipc.DefaultClientConfig()
	cfg.Logger = hclog.NewNullLogger()
	cfg.Protection = ipc.Authentication | ipc.Integrity | ipc.Privacy
	client, err := ipc.OpenClient(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	leader := h.leader()
	addresses := []string{h.at[leader].tracker}
	for _, p := range h.others(leader) {
		addresses = append(addresses, h.at[p].tracker)
	}

	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var all []*ticketNode
	for i := range nodes {
		principal := fmt.Sprintf("nm/node%d@TEST", i)
		all = append(all, &ticketNode{client: client, addresses: addresses, answered: make(chan time.Time, 1),
			id:        wire.NodeIDProto(yarn.NodeID{Host: fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&255, i&255), Port: 45454}),
			principal: principal, ticket: h.ticket(principal)})
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	registered := make(chan struct{}, nodes)
	for i, n := range all {
		wg.Go(func() {
			// as many nodes start in a second as there are heartbeats in it
			time.Sleep(reconnectInterval * time.Duration(i) / 1000)
			n.run(ctx, b, registered)
		})
	}
	for range all {
		<-registered
	}
	time.Sleep(3 * reconnectInterval)
	for _, n := range all {
		n.forget()
	}
	killed := time.Now()
	h.kill(leader)
	for _, n := range all {
		for at := range n.answered {
			if at.After(killed) {
				gaps = append(gaps, at.Sub(killed))
				break
			}
		}
	}
	if len(gaps) < nodes {
		b.Fatalf("%d of %d nodes have an answer", len(gaps), nodes)
	}
	slices.Sort(gaps)
	return gaps
}

// ticketNode is a NodeManager behind Kerberos that runs nothing.
type ticketNode struct {
	client    *ipc.Client
	addresses []string
	principal string
	ticket    func(service, host string) (gss.Ticket, error)
	id        *proto.NodeIdProto
	conn      *ipc.ClientConn
	at        int // index of the address
	response  int32
	keys      [2]*proto.MasterKeyProto // of containers and of NM tokens
	answered  chan time.Time           // the time of the last answer
}

// forget forgets what was answered.
func (n *ticketNode) forget() {
	select {
	case <-n.answered:
	default:
	}
}

// run registers the node and sends heartbeats until the context ends.
func (n *ticketNode) run(ctx context.Context, b *testing.B, registered chan<- struct{}) {
	defer close(n.answered)
	var is proto.RegisterNodeManagerResponseProto
	err := n.call(ctx, "registerNodeManager", &proto.RegisterNodeManagerRequestProto{NodeId: n.id,
		HttpPort: new(int32(8042)), NmVersion: new("3.4.2"),
		Resource: wire.ResourceProto(yarn.NewResource(8192, 8), yarn.DefaultKinds())}, &is)
	registered <- struct{}{}
	if err != nil || is.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL {
		b.Errorf("register %s: %v, %v", n.id, err, &is)
		return
	}
	n.keys = [2]*proto.MasterKeyProto{is.GetContainerTokenMasterKey(), is.GetNmTokenMasterKey()}
	for ; ctx.Err() == nil; time.Sleep(reconnectInterval) {
		var out proto.NodeHeartbeatResponseProto
		err := n.call(ctx, "nodeHeartbeat", &proto.NodeHeartbeatRequestProto{
			NodeStatus: &proto.NodeStatusProto{NodeId: n.id, ResponseId: &n.response,
				NodeHealthStatus: &proto.NodeHealthStatusProto{IsNodeHealthy: new(true), HealthReport: new("")}},
			LastKnownContainerTokenMasterKey: &proto.MasterKeyProto{KeyId: new(n.keys[0].GetKeyId())},
			LastKnownNmTokenMasterKey:        &proto.MasterKeyProto{KeyId: new(n.keys[1].GetKeyId())}}, &out)
		if ctx.Err() != nil {
			return
		}
		if err != nil || out.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL {
			b.Errorf("heartbeat of %s: %v, %v", n.id, err, &out)
			return
		}
		n.response = out.GetResponseId()
		n.forget()
		n.answered <- time.Now()
	}
}

// call calls a method at the replica to which the node is connected. As Hadoop's clients do, it
// repeats the call at the next one if that fails.
func (n *ticketNode) call(ctx context.Context, method string, req, reply gproto.Message) error {
	for ; ; n.at = (n.at + 1) % len(n.addresses) {
		err := n.tryCall(ctx, method, req, reply)
		var e *ipc.RemoteError
		if err == nil || ctx.Err() != nil || errors.As(err, &e) && e.Class != ipc.ClassStandby {
			return err
		}
		if n.conn != nil {
			_ = n.conn.Close()
			n.conn = nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (n *ticketNode) tryCall(ctx context.Context, method string, req, reply gproto.Message) (err error) {
	if n.conn == nil {
		n.conn, err = n.client.Connect(ctx, ipc.Target{Address: n.addresses[n.at], Protocol: trackerProtocol,
			User: n.principal, Ticket: n.ticket})
		if err != nil {
			n.conn = nil
			return err
		}
	}
	return n.conn.Call(ctx, method, req, reply)
}
