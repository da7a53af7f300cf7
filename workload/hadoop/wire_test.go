package hadoop

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
)

func testRun(t *testing.T) *run {
	t.Helper()
	cfg := DefaultConfig(Allocations)
	s, err := newSizes(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addresses = Addresses{Tracker: []string{"h:1"}, Scheduler: []string{"h:2"}}
	return &run{cfg: cfg, sizes: s, epoch: time.Now()}
}

func TestHeartbeatIsAMessageOfHadoop(t *testing.T) {
	r := testRun(t)
	n := newNode(r, 70_000)
	if n.id.Host != "198.19.17.112" {
		t.Errorf("node 70000 is %s", n.id.Host)
	}
	n.containerKey, n.nmKey, n.response, n.sequence = []byte{8, 3}, []byte{8, 4}, 300, 1
	n.knowKeys()
	id,
		err := gproto.Marshal(&proto.ContainerIdProto{
		AppAttemptId: &proto.ApplicationAttemptIdProto{AttemptId: new(int32(1))}, Id: new(int64(5))})
	if err != nil {
		t.Fatal(err)
	}
	n.give(&container{id: id, mb: 1024})
	for beat, want := range []struct {
		state proto.ContainerStateProto
		exit  int32
		used  int64
	}{{proto.ContainerStateProto_C_RUNNING, -1000, 1024}, {proto.ContainerStateProto_C_COMPLETE, 0, 0},
		{proto.ContainerStateProto_C_COMPLETE, 0, 0}} {
		n.sent = int64(beat + 1)
		n.compose()
		var got proto.NodeHeartbeatRequestProto
		if err := (gproto.UnmarshalOptions{}).Unmarshal(n.bytes, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.ProtoReflect().GetUnknown())+len(got.NodeStatus.ProtoReflect().GetUnknown()) > 0 {
			t.Errorf("unknown fields: %v", &got)
		}
		s := got.GetNodeStatus()
		if s.GetResponseId() != 300 || s.GetNodeId().GetHost() != n.id.Host || s.GetNodeId().GetPort() != 45454 ||
			!s.GetNodeHealthStatus().GetIsNodeHealthy() ||
			got.GetLastKnownContainerTokenMasterKey().GetKeyId() != 3 || got.GetLastKnownNmTokenMasterKey().GetKeyId() != 4 ||
			got.GetTokenSequenceNo() != 1 {
			t.Errorf("beat %d: want response ID 300, node %s:45454, healthy, keys 3 and 4, sequence number 1; got %v",
				beat, n.id.Host, &got)
		}
		if len(s.GetContainersStatuses()) != 1 || n.used != want.used {
			t.Fatalf("beat %d: %d MB used, want %d and one container; got %v", beat, n.used, want.used, &got)
		}
		c := s.GetContainersStatuses()[0]
		if c.GetState() != want.state || c.GetExitStatus() != want.exit || c.GetContainerId().GetId() != 5 ||
			c.GetCapability().GetMemory() != 1024 || len(c.GetCapability().GetResourceValueMap()) != 2 {
			t.Errorf("beat %d: container %v, want state %s, exit status %d, ID 5, 1024 MB, 2 resources",
				beat, c, want.state, want.exit)
		}
	}
	n.processAnswer(&beatReply{response: 301}) // until here, heartbeats report the completion
	n.compose()
	var got proto.NodeHeartbeatRequestProto
	if err := gproto.Unmarshal(n.bytes, &got); err != nil || len(got.GetNodeStatus().GetContainersStatuses()) != 0 ||
		got.GetNodeStatus().GetResponseId() != 301 {
		t.Errorf("heartbeat after answer 301: decoding: %v, response ID %d, containers %v; want 301 and no container",
			err, got.GetNodeStatus().GetResponseId(), got.GetNodeStatus().GetContainersStatuses())
	}
}

func TestKilledContainerIsToldAsSuch(t *testing.T) {
	r := testRun(t)
	r.cfg.Run = time.Hour
	n := newNode(r, 0)
	c := &container{id: []byte{0x18, 9}, mb: 1024}
	n.give(c)
	n.compose()
	n.processAnswer(&beatReply{response: 1, kill: [][]byte{{0x18, 9}}})
	n.sent = 1
	n.compose()
	var got proto.NodeHeartbeatRequestProto
	if err := gproto.Unmarshal(n.bytes, &got); err != nil || len(got.GetNodeStatus().GetContainersStatuses()) != 1 ||
		got.GetNodeStatus().GetContainersStatuses()[0].GetExitStatus() != exitKilledRM {
		t.Errorf("heartbeat after a kill: decoding: %v, containers %v; want one with exit status %d",
			err, got.GetNodeStatus().GetContainersStatuses(), exitKilledRM)
	}
}

func TestAllocateIsAMessageOfHadoop(t *testing.T) {
	r := testRun(t)
	r.cfg.Batch, r.cfg.Outstanding = 1000, 2
	m := newMaster(r, 0)
	m.response = 77
	read := func() *proto.AllocateRequestProto {
		m.compose()
		got := new(proto.AllocateRequestProto)
		if err := gproto.Unmarshal(m.bytes, got); err != nil || got.GetResponseId() != 77 || got.GetProgress() != 0.5 {
			t.Fatalf("allocate request: decoding: %v, response ID %d, progress %v; want no error, 77, 0.5",
				err, got.GetResponseId(), got.GetProgress())
		}
		return got
	}
	for i, a := range read().GetAsk() {
		if a.GetNumContainers() != 1000 || a.GetAllocationRequestId() != int64(i) || a.GetResourceName() != "*" ||
			!a.GetRelaxLocality() || a.GetPriority().GetPriority() != 1 || a.GetCapability().GetVirtualCores() != 1 {
			t.Errorf("ask %d: %v", i, a)
		}
	}
	if got := read(); len(got.GetAsk()) != 0 {
		t.Errorf("asks again: %v", got)
	}
	m.slots[1].left, m.fresh = 3, true
	if got := read(); len(got.GetAsk()) != 2 || got.GetAsk()[1].GetNumContainers() != 3 {
		t.Errorf("all that is outstanding: %v", got)
	}
	r.draining.Store(true)
	if got := read(); len(got.GetAsk()) != 2 || got.GetAsk()[0].GetNumContainers() != 0 {
		t.Errorf("gives up: %v", got)
	}
	if got := read(); len(got.GetAsk()) != 0 {
		t.Errorf("gives up again: %v", got)
	}
}

// FuzzScan checks that no answer makes the scanners panic.
func FuzzScan(f *testing.F) {
	seed, err := gproto.Marshal(&proto.NodeHeartbeatResponseProto{ResponseId: new(int32(4)),
		NodeAction:          proto.NodeActionProto_NODE_ACTION_NORMAL.Enum(),
		ContainersToCleanup: []*proto.ContainerIdProto{{Id: new(int64(3))}}, TokenSequenceNo: new(int64(1))})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = new(beatReply).scan(b)
		_ = new(grant).scan(b)
		_ = new(ending).scan(b)
	})
}

func TestHistogramKeepsWithinThreePercent(t *testing.T) {
	for v := int64(0); v < 1<<40-1<<35; v = v*9/8 + 1 {
		got := valueOf(bucketOf(v))
		if d := math.Abs(float64(got - v)); d > float64(v)*0.03 || v < subBuckets && d != 0 {
			t.Fatalf("%d is kept as %d", v, got)
		}
	}
	var h histogram
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(1000) {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	x := h.times()
	if x.Count != 1000 || x.P50 < 485 || x.P50 > 515 || x.P99 < 960 || x.P99 > 1000 || x.Max != 1000 {
		t.Errorf("times of 1 to 1000 ms: %+v; want count 1000, P50 in 485 to 515, P99 in 960 to 1000, max 1000", x)
	}
	var none histogram
	if none.times() != (Times{}) {
		t.Errorf("times of an empty histogram: %+v, want zeros", none.times())
	}
}
