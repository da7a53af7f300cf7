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

// TestReportThatArrivesLate: a node's heartbeat hangs on its way from one replica
// to the leader, the node goes on at another one and starts a container there.
// The copy that comes through at last must not end it.
func TestReportThatArrivesLate(t *testing.T) {
	for _, first := range []bool{true, false} { // the node was at the first replica before, or not
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
		wantInputs(t, c, "") // nobody has noticed

		// It comes back to the first replica, which has failed it, and goes on there.
		n.s = a
		n.beat()
		n.end(ids[0])
		n.beat()
		if got := c.node(n.id).Count; got != 1 {
			t.Fatalf("%d containers are left", got)
		}
	}
}

// TestCopyOfAFailedHeartbeat: the node tries again at the same replica, under the
// same response id, with more to say; then the first copy comes through.
func TestCopyOfAFailedHeartbeat(t *testing.T) {
	c, _, n := started(t)
	_, ids := c.app(c.slot(n.id), 2)
	n.running = ids[:1]
	n.beat()
	n.running = nil // for a moment it has lost sight of it: the report is passed on whole
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

// TestNodeComesBack: it was at another replica, which did not manage to answer,
// and goes on at the first one with the id that it has from there. What it says is
// told to the cluster whole, and it is answered at once.
func TestNodeComesBack(t *testing.T) {
	c, a, n := started(t)
	n.beat()
	n.s = newService(t, c)
	if _, err := n.try(); err != nil { // the answer is lost
		t.Fatal(err)
	}
	c.took()
	n.s = a
	n.beat()
	wantInputs(t, c, "heartbeat(0 full) ")
	n.beat()
	wantInputs(t, c, "")
}

// TestRegistrationThatArrivesLate: so a registration.
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

// TestUnregistrationThatArrivesLate: the node stopped, and was started again.
func TestUnregistrationThatArrivesLate(t *testing.T) {
	c, s, n := started(t)
	leave := func() error {
		_, err := n.s.unRegisterNodeManager(context.Background(), &ipc.Call{}, &proto.UnRegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(n.id)})
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
	if err != nil || reply.Refused() == nil || reply.Refused().Reason != input.NodeElsewhere || c.node(n.id).State != yarn.NodeRunning {
		t.Fatalf("it is answered %+v, %v, and the node is %v", reply, err, c.node(n.id).State)
	}
	// One that meets with a heartbeat is not taken for the node's last word.
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

// TestNodeIsHeardElsewhere: a replica whose node was heard by another one
// meanwhile does not answer for it: the node finds its way by itself.
func TestNodeIsHeardElsewhere(t *testing.T) {
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

// from is a call from an address.
func from(address string) *ipc.Call {
	return &ipc.Call{Caller: &ipc.Caller{User: "yarn", Kind: ipc.KindSimple, Address: netip.AddrPortFrom(netip.MustParseAddr(address), 40000)}}
}

// send sends a node's next heartbeat from an address.
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

// TestStrangerDoesNotTouchANode: a caller that speaks for a node from another address
// is told to register, and the node itself notices nothing: with any response id,
// at its own replica and at another.
func TestStrangerDoesNotTouchANode(t *testing.T) {
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
			if p := liar.send(at, away); p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_RESYNC || p.GetContainerTokenMasterKey() != nil {
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
	if _, err := s.unRegisterNodeManager(context.Background(), from(away), &proto.UnRegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(n.id)}); err == nil || c.node(n.id).State != yarn.NodeRunning {
		t.Errorf("another address unregisters the node: %v, it is %v", err, c.node(n.id).State)
	}
	own()

	// The node's own address has changed: it registers from the new one.
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
	if _, err := s.unRegisterNodeManager(context.Background(), from(away), &proto.UnRegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(n.id)}); err != nil || c.node(n.id).State != yarn.NodeShutdown {
		t.Errorf("the node unregisters: %v, it is %v", err, c.node(n.id).State)
	}
}

// TestUnhealthyAtRegistration: what a node says of its health when it registers
// counts.
func TestUnhealthyAtRegistration(t *testing.T) {
	c := newCluster(t)
	s := newService(t, c)
	n := newNM(t, s, "node1")
	req := n.registration()
	req.NodeStatus.NodeHealthStatus = &proto.NodeHealthStatusProto{IsNodeHealthy: new(false), HealthReport: new("1/1 local-dirs are bad")}
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
	n.register() // without a word of its health
	if got := c.node(n.id); got.State != yarn.NodeRunning {
		t.Fatalf("the node is %v", got.State)
	}
}
