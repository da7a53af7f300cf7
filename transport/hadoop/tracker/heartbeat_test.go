package tracker

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gproto "google.golang.org/protobuf/proto"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// started returns a cluster with one node that has registered and sent its first heartbeat.
func started(t testing.TB) (*cluster, *Service, *nm) {
	t.Helper()
	c := newCluster(t)
	s := newService(t, c)
	n := newNM(t, s, "node1")
	n.register()
	n.beat()
	c.took()
	return c, s, n
}

// TestExchange sends the calls of a recorded NodeManager. The node may forget its container when
// the container's AM has confirmed that it knows of the end.
func TestExchange(t *testing.T) {
	c := newCluster(t)
	s := newService(t, c)
	n := newNM(t, s, "node1")
	r := n.register()
	if r.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL || r.GetRmIdentifier() != 1700000000000 ||
		r.GetRmVersion() != "3.4.2" ||
		len(r.GetContainerTokenMasterKey().GetBytes()) == 0 || len(r.GetNmTokenMasterKey().GetBytes()) == 0 ||
		r.Resource != nil {
		t.Fatalf("registration is answered %v", r)
	}
	wantInputs(t, c, "RegisterNode ")

	p := n.beat()
	if p.GetNextHeartBeatInterval() != 1000 || p.GetTokenSequenceNo() != 1 || p.ContainerTokenMasterKey != nil ||
		p.NmTokenMasterKey != nil {
		t.Fatalf("the first heartbeat is answered %v", p)
	}
	wantInputs(t, c, "heartbeat(0 full) ")
	for range 3 {
		n.beat()
	}
	wantInputs(t, c, "")

	at, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	if p := n.beat(); len(p.ContainersToBeRemovedFromNm) != 0 {
		t.Fatalf("a running container is answered %v", p)
	}
	wantInputs(t, c, "heartbeat(1) ")
	for range 3 {
		n.beat()
	}
	wantInputs(t, c, "")

	n.end(ids[0])
	if p := n.beat(); len(p.ContainersToBeRemovedFromNm) != 0 {
		t.Fatalf("the end of %v is answered %v", ids, p)
	}
	wantInputs(t, c, "heartbeat(1) ")
	for last := range int32(2) { // the first answer reports the end, the second call confirms it
		c.must(&input.Allocate{Attempt: at, Response: 2 + last})
	}
	if p := n.beat(); !slices.Equal(texts(p.ContainersToBeRemovedFromNm), ids) {
		t.Fatalf("when the AM has heard of the end the answer is %v", p)
	}
	for range 3 {
		n.beat()
	}
	wantInputs(t, c, "")
	c.must(&input.FinishAttempt{Attempt: at, Final: yarn.FinalSucceeded})
	p = n.beat() // the heartbeat reports no containers
	if apps, _ := wire.ApplicationIDs(p.ApplicationsToCleanup); !slices.Equal(apps, []yarn.ApplicationID{at.App}) {
		t.Fatalf("after the application's end the answer is %v", p)
	}
	wantInputs(t, c, "heartbeat(0) ")
	n.beat()
	wantInputs(t, c, "heartbeat(0 told 1) ")
	if p := n.beat(); p.ApplicationsToCleanup != nil || c.node(n.id).PendingCleanups != 0 {
		t.Fatalf("the clean-up is told for ever: %v", p)
	}
	wantInputs(t, c, "")
}

func TestRepeatedHeartbeatIsAnsweredTheSame(t *testing.T) {
	c, s, n := started(t)
	at, ids := c.app(c.slot(n.id), 2)
	n.running = ids
	n.beat()
	c.must(&input.Allocate{Attempt: at, Response: 2, Releases: ids[:1]})
	c.took()
	first, err := n.try()
	if err != nil {
		t.Fatal(err)
	}
	again, err := n.try()
	if err != nil || !gproto.Equal(first, again) {
		t.Fatalf("the repeated heartbeat is answered %v, %v; the first was %v", again, err, first)
	}
	if !slices.Equal(texts(again.ContainersToCleanup), ids[:1]) {
		t.Fatalf("the order to kill %v is missing in %v", ids[0], again)
	}
	wantInputs(t, c, "heartbeat(0) ")
	n.accept(again)
	n.end(ids[0])
	n.beat()
	idle, err := n.try()
	if err != nil {
		t.Fatal(err)
	}
	again, err = n.try()
	if err != nil || !gproto.Equal(idle, again) {
		t.Fatalf("the repeated idle heartbeat is answered %v, %v; the first was %v", again, err, idle)
	}
	if got := s.idle.take(10); len(got) != 1 {
		t.Fatalf("heartbeats of nodes %v wait, want one", got)
	}
}

func TestResponseIDs(t *testing.T) {
	for _, c := range []struct {
		name    string
		shift   int32 // difference from the expected id
		prepare func(*session)
		resync  bool
	}{
		{name: "ahead on the same connection", shift: 3, resync: true},
		{name: "behind", shift: -3, resync: true},
		{name: "behind over another connection", shift: -3, prepare: func(ss *session) { ss.conn = 7 }, resync: true},
		{name: "ahead over another connection", shift: 3, prepare: func(ss *session) { ss.conn = 7 }},
		{name: "ahead after a failure", shift: 3, prepare: func(ss *session) { ss.failed = true }},
		{name: "ahead after a pause", shift: 3, prepare: func(ss *session) { ss.lastHeartbeat -= time.Minute }},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s, n := started(t)
			for range 5 {
				n.beat()
			}
			n.response += c.shift
			if c.prepare != nil {
				c.prepare(s.session(n.id))
			}
			if !c.resync {
				n.beat()
				return
			}
			for range 2 {
				p, err := n.try()
				if err != nil || p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_RESYNC || p.GetDiagnosticsMessage() == "" {
					t.Fatalf("it is answered %v, %v", p, err)
				}
			}
			n.register()
			n.beat()
		})
	}
}

func TestResponseIDsWrap(t *testing.T) {
	c := newCluster(t)
	a := newService(t, c)
	n := newNM(t, a, "node1")
	n.register()
	n.s, n.response = newService(t, c), responseMax-1
	n.beat()
	n.beat()
	if n.response != 0 {
		t.Fatalf("after the largest id comes %d", n.response)
	}
	n.beat()
}

func TestUnknownNodeMustRegister(t *testing.T) {
	c := newCluster(t)
	n := newNM(t, newService(t, c), "node1")
	p, err := n.try()
	if err != nil || p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_RESYNC ||
		!strings.Contains(p.GetDiagnosticsMessage(), "node1:45454") {
		t.Fatalf("it is answered %v, %v", p, err)
	}
	if c.currents == 0 {
		t.Fatal("the leader was not asked whether the node is known")
	}
	wantInputs(t, c, "")
}

// TestNodeMovesBetweenReplicas moves a node from one replica to another and back.
func TestNodeMovesBetweenReplicas(t *testing.T) {
	c, a, n := started(t)
	_, ids := c.app(c.slot(n.id), 2)
	n.running = ids
	n.beat()
	n.beat()
	c.took()

	n.s = newService(t, c)
	n.beat()
	wantInputs(t, c, "heartbeat(2 full) ")
	n.end(ids[0])
	n.beat()
	wantInputs(t, c, "heartbeat(1) ")
	n.beat()
	wantInputs(t, c, "")

	a.session(n.id).conn = 7 // the node returns on another connection
	n.s = a
	n.beat()
	wantInputs(t, c, "heartbeat(1 full) ")
	if got := c.node(n.id).Count; got != 1 {
		t.Fatalf("%d containers are on the node, want 1", got)
	}
}

// TestKeptAnswerNotShared checks that the caller of nodeHeartbeat may overwrite the answer.
func TestKeptAnswerNotShared(t *testing.T) {
	c, s, n := started(t)
	_, ids := c.app(c.slot(n.id), 1)
	n.end(ids[0])
	body, first := n.bytes(), []byte(nil)
	for i := range 3 {
		out, err := s.nodeHeartbeat(context.Background(), &ipc.Call{}, body)
		if err != nil || (i > 0 && !bytes.Equal(out, first)) {
			t.Fatalf("answer %d is %x, %v, the first was %x", i, out, err, first)
		}
		first = bytes.Clone(out)
		clear(out)
	}
}

// TestEndIsReportedTwice checks that a node that reports an end again, with the next response id,
// is told again to forget the container.
func TestEndIsReportedTwice(t *testing.T) {
	c, _, n := started(t)
	at, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	n.beat()
	n.end(ids[0])
	n.beat()
	for last := range int32(2) {
		c.must(&input.Allocate{Attempt: at, Response: 2 + last})
	}
	for range 2 {
		n.running, n.ended = nil, ids
		if p := n.beat(); !slices.Equal(slices.Compact(texts(p.ContainersToBeRemovedFromNm)), ids) {
			t.Fatalf("an end is answered %v", p)
		}
	}
}

// TestRepeatOfUnansweredHeartbeat checks that a node must register again if it repeats a heartbeat
// that this replica has not answered.
func TestRepeatOfUnansweredHeartbeat(t *testing.T) {
	c, _, n := started(t)
	n.s, n.response = newService(t, c), 10
	c.fail(always(errNoLeader), nil)
	if _, err := n.try(); err == nil {
		t.Fatal("without a leader a node is adopted")
	}
	c.fail(nil, nil)
	n.response = 9
	if p, err := n.try(); err != nil || p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_RESYNC {
		t.Fatalf("it is answered %v, %v", p, err)
	}
}

// TestRegistrationElsewhereIsSeen checks that a replica notices that its node has registered at
// another one. The response ids have started again, so they do not show this.
func TestRegistrationElsewhereIsSeen(t *testing.T) {
	for _, shift := range []int32{-3, -1, 0, 3} { // the node's response id minus that of this replica's session
		c, a, n := started(t)
		for range 5 {
			n.beat()
		}
		n.s = newService(t, c)
		n.register()
		for n.response != a.session(n.id).last+shift {
			n.beat()
		}
		c.took()
		n.s = a
		n.beat()
		n.beat()
		wantInputs(t, c, "heartbeat(0 full) ")
	}
}

func TestFailedHeartbeatIsProcessedAgain(t *testing.T) {
	for _, effect := range []bool{false, true} {
		t.Run(map[bool]string{false: "nothing happened", true: "outcome unknown"}[effect], func(t *testing.T) {
			c, _, n := started(t)
			_, ids := c.app(c.slot(n.id), 2)
			n.running = ids
			n.beat()
			c.took()
			if effect {
				c.fail(nil, always(errNoLeader))
			} else {
				c.fail(always(errNoLeader), nil)
			}
			n.end(ids[1])
			_, err := n.try()
			var e *ipc.Error
			if !errors.As(err, &e) || e.Class != ipc.ClassStandby {
				t.Fatalf("without a leader the error is %v", err)
			}
			c.fail(nil, nil)
			c.took()
			n.beat()
			wantInputs(t, c, "heartbeat(2 full) ")
			if got := c.node(n.id).Count; got != 1 {
				t.Fatalf("%d containers are on the node, want 1", got)
			}
			n.beat()
			wantInputs(t, c, "")
		})
	}
}

// TestOneHeartbeatAtATime checks that a second heartbeat waits for the first one and is answered as
// its repetition.
func TestOneHeartbeatAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, n := started(t)
		_, ids := c.app(c.slot(n.id), 1)
		n.running = ids
		hold := make(chan struct{})
		c.fail(func(input.Input) error { <-hold; return nil }, nil)
		answers := make(chan *proto.NodeHeartbeatResponseProto, 2)
		for range 2 {
			go func() {
				p, err := n.try()
				if err != nil {
					t.Error(err)
				}
				answers <- p
			}()
		}
		synctest.Wait()
		close(hold)
		if a, b := <-answers, <-answers; !gproto.Equal(a, b) || a.GetResponseId() != next(n.response) {
			t.Fatalf("the answers are %v and %v", a, b)
		}
		wantInputs(t, c, "heartbeat(1) ")
	})
}

// TestWaitEndsWithTheConnection checks that a heartbeat that waits for another one ends with its
// connection, and that the session remains usable.
func TestWaitEndsWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, n := started(t)
		_, ids := c.app(c.slot(n.id), 1)
		n.running = ids
		hold := make(chan struct{})
		c.fail(func(input.Input) error { <-hold; return errNoLeader }, nil)
		first := make(chan error, 1)
		go func() { _, err := n.try(); first <- err }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() { _, err := s.nodeHeartbeat(ctx, &ipc.Call{}, n.bytes()); second <- err }()
		synctest.Wait()
		cancel()
		if err := <-second; err == nil {
			t.Fatal("a heartbeat whose connection ended is answered")
		}
		close(hold)
		if err := <-first; err == nil {
			t.Fatal("a heartbeat without a leader is answered")
		}
		c.fail(nil, nil)
		n.beat()
		wantInputs(t, c, "heartbeat(1 full) ")
	})
}

// TestPanicInSubmitterFreesSession checks that a session is not busy after a panic, which the
// server answers with an error.
func TestPanicInSubmitterFreesSession(t *testing.T) {
	c, _, n := started(t)
	_, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	c.fail(func(input.Input) error { panic("submitter") }, nil)
	func() {
		defer func() { _ = recover() }()
		_, _ = n.try()
	}()
	c.fail(nil, nil)
	n.beat()
}

func TestBadHeartbeats(t *testing.T) {
	_, s, n := started(t)
	for name, change := range map[string]func(*proto.NodeHeartbeatRequestProto){
		"no status": func(p *proto.NodeHeartbeatRequestProto) { p.NodeStatus = nil },
		"no node":   func(p *proto.NodeHeartbeatRequestProto) { p.NodeStatus.NodeId = nil },
		"no host":   func(p *proto.NodeHeartbeatRequestProto) { p.NodeStatus.NodeId.Host = nil },
		"no port":   func(p *proto.NodeHeartbeatRequestProto) { p.NodeStatus.NodeId.Port = nil },
		"bad port":  func(p *proto.NodeHeartbeatRequestProto) { p.NodeStatus.NodeId.Port = new(int32(70000)) },
		"empty container": func(p *proto.NodeHeartbeatRequestProto) {
			p.NodeStatus.ContainersStatuses = []*proto.ContainerStatusProto{{}}
		},
		"too many containers": func(p *proto.NodeHeartbeatRequestProto) {
			p.NodeStatus.ContainersStatuses = make([]*proto.ContainerStatusProto, s.cfg.ContainersMax+1)
			for i := range p.NodeStatus.ContainersStatuses {
				p.NodeStatus.ContainersStatuses[i] = &proto.ContainerStatusProto{}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n.change = change
			_, err := n.try()
			var e *ipc.Error
			if !errors.As(err, &e) || e.Class != ipc.ClassYarn {
				t.Fatalf("the error is %v", err)
			}
		})
	}
	n.change = nil
	n.beat()
}

func TestDiagnosticsAreBounded(t *testing.T) {
	c, _, n := started(t)
	_, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	n.beat()
	c.took()
	n.end(ids[0])
	n.change = func(p *proto.NodeHeartbeatRequestProto) {
		p.NodeStatus.ContainersStatuses[0].Diagnostics = new(strings.Repeat("x", 1<<20) + "\xff the end")
	}
	n.beat()
	in := c.took()[0].(*input.NodeHeartbeat)
	if d := in.Statuses[0].Diagnostics; len(d) > DefaultConfig().DiagnosticsMax+2 ||
		!strings.HasSuffix(d, "\uFFFD the end") {
		t.Fatalf("%d bytes of diagnostics, ending in %q", len(d), d[len(d)-12:])
	}
}

func TestUtilization(t *testing.T) {
	_, s, n := started(t)
	want := Utilization{Containers: Usage{100, 200, 0.5}, Node: Usage{1000, 2000, 2.5},
		Opportunistic: Opportunistic{QueueCapacity: 7}}
	n.beat()
	u, ok := s.Utilization(n.id)
	if u.Age = 0; !ok || u != want {
		t.Fatalf("the use is %+v, want %+v", u, want)
	}
	if _, ok := s.Utilization(yarn.NodeID{Host: "other", Port: 1}); ok {
		t.Fatal("a node that is not known has a use")
	}
}

// TestOldViewCommandsLate checks that a view of age ViewFor delays a command, but does not lose it.
func TestOldViewCommandsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		s := newService(t, c, func(cfg *Config) { cfg.ViewFor = 10 * time.Millisecond })
		n := newNM(t, s, "node1")
		n.register()
		n.beat()
		n.beat()
		c.must(&input.SetNodeResource{ID: n.id, Total: yarn.NewResource(4096, 4)})
		if p := n.beat(); p.Resource != nil {
			t.Fatal("the view was not kept")
		}
		time.Sleep(10 * time.Millisecond)
		if p := n.beat(); p.GetResource().GetMemory() != 4096 {
			t.Fatalf("the view was kept for ever: %v", p)
		}
	})
}

// TestKeepAlive checks that a draining node is not told to stop while it reports applications whose
// logs it collects.
func TestKeepAlive(t *testing.T) {
	c, _, n := started(t)
	over := yarn.ApplicationID{ClusterTimestamp: 5, Seq: 1}
	c.must(&input.DrainNode{ID: n.id})
	n.change = func(p *proto.NodeHeartbeatRequestProto) {
		p.NodeStatus.KeepAliveApplications = []*proto.ApplicationIdProto{wire.ApplicationIDProto(over)}
	}
	for range 2 {
		if p := n.beat(); p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL {
			t.Fatalf("it keeps %s alive and is answered %v", over, p)
		}
	}
	n.change = nil
	if p, err := n.try(); err != nil || p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_SHUTDOWN {
		t.Errorf("then it is answered %v, %v", p, err)
	}
}
