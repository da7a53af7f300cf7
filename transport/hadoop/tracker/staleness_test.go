package tracker

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"

	gproto "google.golang.org/protobuf/proto"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

func isStandby(err error) bool {
	var e *ipc.Error
	return errors.As(err, &e) && e.Class == ipc.ClassStandby
}

// TestReportThatArrivesLate delays a heartbeat between a replica and the leader. The node continues
// at another replica and starts a container there. The delayed heartbeat must not end this
// container.
func TestReportThatArrivesLate(t *testing.T) {
	for _, first := range []bool{true, false} { // whether the first replica has answered the node before
		c, a, n := started(t)
		if !first {
			a = newService(t, c)
			n.s = a
		}
		_, ids := c.app(c.slot(n.id), 2)
		n.running = ids[:1]
		var copied input.Input
		c.fail(func(in input.Input) error { copied = in; return errNoLeader }, nil)
		if _, err := n.try(); !isStandby(err) {
			t.Fatalf("without a leader: %v", err)
		}
		c.fail(nil, nil)
		b := newService(t, c)
		n.s = b
		n.running = ids
		n.beat()
		for range 3 {
			n.beat() // answered without the leader
		}
		c.took()
		late := c.must(copied).(*input.NodeHeartbeatReply)
		if got := c.node(n.id).Count; !late.Late || got != 2 {
			t.Fatalf("the late report is answered %+v, and %d containers are left", late, got)
		}
		n.beat()
		wantInputs(t, c, "") // the next heartbeat is idle

		// The node returns to the first replica, where its heartbeat failed, and continues there.
		n.s = a
		n.beat()
		n.end(ids[0])
		n.beat()
		if got := c.node(n.id).Count; got != 1 {
			t.Fatalf("%d containers are left", got)
		}
	}
}

// TestCopyOfAFailedHeartbeat repeats a failed heartbeat at the same replica with the same response
// id and more containers. A copy of the failed one then arrives and must be refused.
func TestCopyOfAFailedHeartbeat(t *testing.T) {
	c, _, n := started(t)
	_, ids := c.app(c.slot(n.id), 2)
	n.running = ids[:1]
	n.beat()
	n.running = nil // a missing container makes the replica forward the whole report
	var copied input.Input
	c.fail(func(in input.Input) error { copied = in; return errNoLeader }, nil)
	if _, err := n.try(); !isStandby(err) {
		t.Fatalf("without a leader: %v", err)
	}
	c.fail(nil, nil)
	n.running = ids
	n.beat()
	if late := c.must(copied).(*input.NodeHeartbeatReply); !late.Late || c.node(n.id).Count != 2 {
		t.Fatalf("the copy is answered %+v, and %d containers are left", late, c.node(n.id).Count)
	}
	n.beat()
}

// TestNodeReturnsToReplica moves a node to another replica, whose answer is lost, and back with the
// old response id. The first replica must forward the whole report and answer at once.
func TestNodeReturnsToReplica(t *testing.T) {
	c, a, n := started(t)
	n.beat()
	n.s = newService(t, c)
	if _, err := n.try(); err != nil { // the node does not receive the answer
		t.Fatal(err)
	}
	c.took()
	n.s = a
	n.beat()
	wantInputs(t, c, "heartbeat(0 full) ")
	n.beat()
	wantInputs(t, c, "")
}

// TestRegistrationThatArrivesLate checks that a late copy of a registration is refused.
func TestRegistrationThatArrivesLate(t *testing.T) {
	c, _, n := started(t)
	var copied input.Input
	c.fail(func(in input.Input) error { copied = in; return errNoLeader }, nil)
	if _, err := n.s.registerNodeManager(context.Background(), &ipc.Call{}, n.registration()); !isStandby(err) {
		t.Fatalf("without a leader: %v", err)
	}
	c.fail(nil, nil)
	n.s = newService(t, c)
	n.register()
	_, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	n.beat()
	reply, err := c.plan(copied)
	if err != nil || reply.Refused() == nil || reply.Refused().Reason != input.NodeElsewhere {
		t.Fatalf("the late registration is answered %+v, %v", reply, err)
	}
	if got := c.node(n.id).Count; got != 1 {
		t.Fatalf("%d containers are left", got)
	}
	n.beat()
}

// TestUnregistrationThatArrivesLate checks a late copy of an unregistration, when the node has been
// started again.
func TestUnregistrationThatArrivesLate(t *testing.T) {
	c, s, n := started(t)
	leave := func() error {
		_, err := n.s.unRegisterNodeManager(context.Background(), &ipc.Call{},
			&proto.UnRegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(n.id)})
		return err
	}
	var copied input.Input
	c.fail(func(in input.Input) error { copied = in; return errNoLeader }, nil)
	if err := leave(); !isStandby(err) {
		t.Fatalf("without a leader: %v", err)
	}
	c.fail(nil, nil)
	n.register()
	n.beat()
	reply, err := c.plan(copied)
	if err != nil || reply.Refused() == nil || reply.Refused().Reason != input.NodeElsewhere ||
		c.node(n.id).State != yarn.NodeRunning {
		t.Fatalf("it is answered %+v, %v, and the node is %v", reply, err, c.node(n.id).State)
	}
	// An unregistration fails if the leader processes a heartbeat of the node just before it.
	c.fail(func(in input.Input) error {
		if _, ok := in.(*input.UnregisterNode); ok {
			c.must(&input.NodeHeartbeat{ID: n.id, HeartbeatSession: 5, PrevSession: c.node(n.id).HeartbeatSession})
		}
		return nil
	}, nil)
	if err := leave(); !isStandby(err) || s.sessionsKept() != 1 {
		t.Fatalf("it is answered %v", err)
	}
	c.fail(nil, nil)
	if err := leave(); err != nil || c.node(n.id).State != yarn.NodeShutdown {
		t.Fatalf("%v, and the node is %v", err, c.node(n.id).State)
	}
}

// TestHeartbeatProcessedElsewhere checks that a replica does not answer a heartbeat if another
// replica has processed one of the same node in the meantime. The node then continues at any
// replica.
func TestHeartbeatProcessedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a, n := started(t)
		_, ids := c.app(c.slot(n.id), 1)
		n.running = ids
		hold := make(chan struct{})
		held := false
		c.fail(func(input.Input) error {
			if !held {
				held = true
				<-hold
			}
			return nil
		}, nil)
		errs := make(chan error)
		go func() {
			_, err := n.try()
			errs <- err
		}()
		synctest.Wait()
		other := *n
		other.s = newService(t, c)
		other.beat()
		close(hold)
		if err := <-errs; !isStandby(err) {
			t.Fatalf("the replica that the node has left answers %v", err)
		}
		other.s = a
		other.beat()
		if got := c.node(n.id).Count; got != 1 {
			t.Fatalf("%d containers are left", got)
		}
	})
}

// from returns a call from an address.
func from(address string) *ipc.Call {
	return &ipc.Call{Caller: &ipc.Caller{User: "yarn", Kind: ipc.KindSimple,
		Address: netip.AddrPortFrom(netip.MustParseAddr(address), 40000)}}
}

// send sends the node's next heartbeat from an address.
func (n *nm) send(s *Service, address string) *proto.NodeHeartbeatResponseProto {
	n.tb.Helper()
	out, err := s.nodeHeartbeat(context.Background(), from(address), n.bytes())
	if err != nil {
		n.tb.Fatal(err)
	}
	p := new(proto.NodeHeartbeatResponseProto)
	if err := gproto.Unmarshal(out, p); err != nil {
		n.tb.Fatal(err)
	}
	return p
}

// TestHeartbeatFromOtherAddress checks that a heartbeat from another address than the node's is
// answered with RESYNC and does not affect the node, with any response id, at the node's replica
// and at another one.
func TestHeartbeatFromOtherAddress(t *testing.T) {
	const home, away = "10.0.0.7", "::ffff:10.0.0.66"
	c := newCluster(t)
	s := newService(t, c)
	n := newNM(t, s, "node1")
	out, err := s.registerNodeManager(context.Background(), from(home), n.registration())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.node(n.id).Address; got != home {
		t.Fatalf("registered from %q", got)
	}
	n.keys = [2]int32{out.GetContainerTokenMasterKey().GetKeyId(), out.GetNmTokenMasterKey().GetKeyId()}
	own := func() {
		t.Helper()
		p := n.send(s, home)
		if p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL || p.GetResponseId() != next(n.response) {
			t.Fatalf("the node itself is answered %v", p)
		}
		n.accept(p)
	}
	own()
	_, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	own()
	own()
	c.took()
	for _, at := range []*Service{s, newService(t, c)} {
		for _, shift := range []int32{-1, 0, 3, -2, 1000} {
			liar := *n
			liar.running, liar.response = nil, n.response+shift
			if p := liar.send(at, away); p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_RESYNC ||
				p.GetContainerTokenMasterKey() != nil {
				t.Errorf("the other caller's response id %d is answered %v", liar.response, p)
			}
		}
		if at != s && at.sessionsKept() != 0 {
			t.Error("a session is kept for the other caller")
		}
	}
	wantInputs(t, c, "")
	own()
	if got := c.node(n.id).Count; got != 1 {
		t.Errorf("%d containers are left", got)
	}
	if _, err := s.unRegisterNodeManager(context.Background(), from(away),
		&proto.UnRegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(n.id)}); err == nil ||
		c.node(n.id).State != yarn.NodeRunning {
		t.Errorf("another address unregisters the node: %v, it is %v", err, c.node(n.id).State)
	}
	own()

	// If the node's own address has changed, the node registers from the new one.
	if p := n.send(s, away); p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_RESYNC {
		t.Fatalf("from a new address: %v", p)
	}
	if _, err := s.registerNodeManager(context.Background(), from(away), n.registration()); err != nil {
		t.Fatal(err)
	}
	n.response = 0
	if p := n.send(s, away); p.GetResponseId() != 1 {
		t.Errorf("after the registration: %v", p)
	}
	if p := n.send(newService(t, c), "127.0.0.1"); p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL {
		t.Errorf("from the replica's own machine: %v", p)
	}
	if _, err := s.unRegisterNodeManager(context.Background(), from(away),
		&proto.UnRegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(n.id)}); err != nil ||
		c.node(n.id).State != yarn.NodeShutdown {
		t.Errorf("the node unregisters: %v, it is %v", err, c.node(n.id).State)
	}
}

// TestUnhealthyAtRegistration checks that the health in a registration counts.
func TestUnhealthyAtRegistration(t *testing.T) {
	c := newCluster(t)
	s := newService(t, c)
	n := newNM(t, s, "node1")
	req := n.registration()
	req.NodeStatus.NodeHealthStatus = &proto.NodeHealthStatusProto{IsNodeHealthy: new(false),
		HealthReport: new("1/1 local-dirs are bad")}
	out, err := s.registerNodeManager(context.Background(), &ipc.Call{}, req)
	if err != nil || out.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL {
		t.Fatalf("it is answered %v, %v", out, err)
	}
	if got := c.node(n.id); got.State != yarn.NodeUnhealthy || got.Report != "1/1 local-dirs are bad" {
		t.Fatalf("the node is %v, %q", got.State, got.Report)
	}
	n.keys = [2]int32{out.GetContainerTokenMasterKey().GetKeyId(), out.GetNmTokenMasterKey().GetKeyId()}
	n.beat()
	if got := c.node(n.id); got.State != yarn.NodeRunning {
		t.Fatalf("a heartbeat that says it is well leaves it %v", got.State)
	}
	n.register() // the registration has no health status
	if got := c.node(n.id); got.State != yarn.NodeRunning {
		t.Fatalf("the node is %v", got.State)
	}
}
