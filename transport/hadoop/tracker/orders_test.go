package tracker

import (
	"context"
	"slices"
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// TestLostContainer checks a container that its node stops reporting without having reported its
// end.
func TestLostContainer(t *testing.T) {
	c, _, n := started(t)
	at, ids := c.app(c.slot(n.id), 3)
	n.running = ids
	n.beat()
	c.took()
	n.running = ids[:2]
	n.beat()
	wantInputs(t, c, "heartbeat(2 full) ")
	reply := c.must(&input.Allocate{Attempt: at, Response: 2}).(*input.AllocateReply)
	if len(reply.Completed) != 1 || reply.Completed[0].Container != ids[2] ||
		reply.Completed[0].ExitStatus != yarn.ExitAborted {
		t.Fatalf("the AM is told %+v", reply.Completed)
	}
	n.beat()
	wantInputs(t, c, "")
}

func TestUnknownContainerIsKilled(t *testing.T) {
	c, _, n := started(t)
	ghost := yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: 1700000000000, Seq: 99}, Attempt: 1, Number: 5}
	n.running = []yarn.ContainerID{ghost}
	if p := n.beat(); !slices.Equal(texts(p.ContainersToCleanup), n.running) {
		t.Fatalf("an unknown container is answered %v", p)
	}
	n.beat()
	wantInputs(t, c, "heartbeat(1) ")
	n.end(ghost)
	if p := n.beat(); !slices.Equal(texts(p.ContainersToBeRemovedFromNm), []yarn.ContainerID{ghost}) {
		t.Fatalf("its end is answered %v", p)
	}
}

// TestRegistrationWithContainers checks that the answer to the first heartbeat kills containers
// that the cluster does not know, and cleans up their applications.
func TestRegistrationWithContainers(t *testing.T) {
	c, _, n := started(t)
	_, ids := c.app(c.slot(n.id), 2)
	n.running = ids
	n.beat()
	old := yarn.ApplicationID{ClusterTimestamp: 1700000000000, Seq: 99}
	ghost := yarn.ContainerID{App: old, Attempt: 1, Number: 5}
	n.running = []yarn.ContainerID{ids[0], ghost}
	req := n.registration()
	req.RunningApplications = wire.ApplicationIDProtos([]yarn.ApplicationID{ids[0].App, old})
	if _, err := n.s.registerNodeManager(context.Background(), &ipc.Call{}, req); err != nil {
		t.Fatal(err)
	}
	if got := c.node(n.id); got.Count != 1 || !got.NodeManager {
		t.Fatalf("after the registration the node is %+v", got)
	}
	n.response = 0
	p := n.beat()
	if apps, _ := wire.ApplicationIDs(p.ApplicationsToCleanup); !slices.Equal(apps, []yarn.ApplicationID{old}) ||
		!slices.Contains(texts(p.ContainersToCleanup), ghost) {
		t.Fatalf("the first heartbeat is answered %v", p)
	}
	if p := n.beat(); p.ApplicationsToCleanup != nil || p.ContainersToCleanup != nil {
		t.Fatalf("the second heartbeat is answered %v", p)
	}
}

func TestSignals(t *testing.T) {
	c, _, n := started(t)
	_, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	n.beat()
	c.must(&input.SignalContainer{Container: ids[0], Command: 3})
	c.took()
	p := n.beat()
	if len(p.ContainersToSignal) != 1 ||
		p.ContainersToSignal[0].GetCommand() != proto.SignalContainerCommandProto_FORCEFUL_SHUTDOWN ||
		!slices.Equal(texts([]*proto.ContainerIdProto{p.ContainersToSignal[0].ContainerId}), ids) {
		t.Fatalf("the signal is missing in %v", p)
	}
	if p := n.beat(); p.ContainersToSignal != nil {
		t.Fatalf("the signal is told again in %v", p)
	}
	wantInputs(t, c, "heartbeat(0) heartbeat(0 signalled 1) ")
	n.beat()
	wantInputs(t, c, "")
}

func TestKeysRoll(t *testing.T) {
	c, _, n := started(t)
	before := n.keys
	c.nowMillis += 25 * 3600 * 1000
	c.must(&input.Tick{Entropy: slices.Repeat([]byte{7}, 32)})
	p := n.beat()
	if k := p.GetContainerTokenMasterKey(); k == nil || k.GetKeyId() == before[0] || len(k.GetBytes()) == 0 {
		t.Fatalf("the new container key is missing in %v", p)
	}
	if k := p.GetNmTokenMasterKey(); k == nil || k.GetKeyId() == before[1] || len(k.GetBytes()) == 0 {
		t.Fatalf("the new NM key is missing in %v", p)
	}
	if p := n.beat(); p.ContainerTokenMasterKey != nil || p.NmTokenMasterKey != nil {
		t.Fatalf("the keys are told again in %v", p)
	}
	wantInputs(t, c, "") // a new key is sent without an input
	// A node that registers now gets the key that signs tokens, and with its first heartbeat the
	// next one.
	m := newNM(t, n.s, "node2")
	m.register()
	if m.keys != before {
		t.Fatalf("a node that registers gets keys %v, tokens are signed with %v", m.keys, before)
	}
	m.beat()
	if m.keys != n.keys {
		t.Fatalf("after its first heartbeat it has %v, want %v", m.keys, n.keys)
	}
}

// TestMissingKeySent checks that a node that lacks one of the two keys gets only that key.
func TestMissingKeySent(t *testing.T) {
	for i := range 2 {
		_, _, n := started(t)
		n.beat()
		n.keys[i] += 100
		p := n.beat()
		if got := [2]bool{p.ContainerTokenMasterKey != nil, p.NmTokenMasterKey != nil}; got != [2]bool{i == 0, i == 1} {
			t.Errorf("without key %d the answer is %v", i, p)
		}
	}
}

func TestResourceThatAnAdministratorSet(t *testing.T) {
	c, s, n := started(t)
	c.must(&input.SetNodeResource{ID: n.id, Total: yarn.NewResource(4096, 4)})
	c.took()
	if p := n.beat(); p.GetResource().GetMemory() != 4096 || p.GetResource().GetVirtualCores() != 4 {
		t.Fatalf("the new total is missing in %v", p)
	}
	if p := n.beat(); p.Resource != nil {
		t.Fatalf("the total is told again in %v", p)
	}
	wantInputs(t, c, "")
	n.s = newService(t, c)
	if p := n.beat(); p.GetResource().GetMemory() != 4096 {
		t.Fatalf("another replica does not tell the total: %v", p)
	}
	n.s = s
	if r := n.register(); r.GetResource().GetMemory() != 4096 {
		t.Fatalf("a registration is answered %v", r)
	}
	if p := n.beat(); p.Resource != nil {
		t.Fatalf("after the registration the total is told again in %v", p)
	}
}

func TestHealth(t *testing.T) {
	c, s, n := started(t)
	at, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	n.beat()
	c.took()
	n.healthy = false
	n.change = func(p *proto.NodeHeartbeatRequestProto) {
		p.NodeStatus.NodeHealthStatus.HealthReport = new("disks failed")
	}
	n.beat()
	if got := c.node(n.id); got.State != yarn.NodeUnhealthy || got.Report != "disks failed" {
		t.Fatalf("the node is %v, %q", got.State, got.Report)
	}
	c.must(&input.Allocate{Attempt: at, Response: 2})
	c.must(&input.Allocate{Attempt: at, Response: 3})
	if p := n.beat(); !slices.Equal(texts(p.ContainersToCleanup), ids) {
		t.Fatalf("what runs on a node that was given up is answered %v", p)
	}
	n.healthy = true
	n.end(ids[0])
	n.beat()
	if got := c.node(n.id); got.State != yarn.NodeRunning {
		t.Fatalf("the node is %v", got.State)
	}
	c.took()
	n.beat()
	wantInputs(t, c, "")
	if got := s.idle.take(9); len(got) != 1 {
		t.Fatalf("heartbeats of %v wait", got)
	}
}

// TestKillContainerEndedByCluster checks that a node is told to kill a container that the cluster
// has ended and remembers only for its AM.
func TestKillContainerEndedByCluster(t *testing.T) {
	c, _, n := started(t)
	_, ids := c.app(c.slot(n.id), 2)
	n.running = ids[:1]
	n.beat()
	n.healthy = false
	n.beat()
	n.healthy = true
	if p := n.beat(); !slices.Equal(texts(p.ContainersToCleanup), ids[:1]) {
		t.Fatalf("what runs on a node that is healthy again is answered %v", p)
	}
	n.end(ids[0])
	n.beat()
	_, more := c.app(c.slot(n.id), 1)
	c.must(&input.ExpireContainers{Containers: more})
	n.running = more // the node started them because their tokens have not expired
	if p := n.beat(); !slices.Equal(texts(p.ContainersToCleanup), more) {
		t.Fatalf("a container that had expired is answered %v", p)
	}
}

// TestLostAndExcludedNodeAnswers checks the answers to a lost and to an excluded node. They come
// from the planner.
func TestLostAndExcludedNodeAnswers(t *testing.T) {
	c, s, n := started(t)
	c.must(&input.ExpireNode{ID: n.id})
	if p, err := n.try(); err != nil || p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_RESYNC {
		t.Fatalf("a lost node is answered %v, %v", p, err)
	}
	n.register()
	n.beat()
	c.must(&input.SetHosts{Exclude: []string{"node1"}})
	if p, err := n.try(); err != nil || p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_SHUTDOWN ||
		p.GetDiagnosticsMessage() == "" {
		t.Fatalf("an excluded node is answered %v, %v", p, err)
	}
	if s.sessionsKept() != 0 {
		t.Fatal("the session of a node that was shut down is kept")
	}
	c.must(&input.SetHosts{})
	if p, err := n.try(); err != nil || p.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_RESYNC {
		t.Fatalf("a node that may come back is answered %v, %v", p, err)
	}
}
