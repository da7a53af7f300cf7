package tracker

import (
	"bytes"
	"context"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	gproto "google.golang.org/protobuf/proto"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// decoded returns the result that scan must have, by the generated code.
func decoded(p *proto.NodeHeartbeatRequestProto) beat {
	st := p.GetNodeStatus()
	usage := func(u *proto.ResourceUtilizationProto) Usage { return Usage{u.GetPmem(), u.GetVmem(), u.GetCpu()} }
	o := st.GetOpportunisticContainersStatus()
	return beat{
		host: []byte(st.GetNodeId().GetHost()), port: st.GetNodeId().GetPort(), response: st.GetResponseId() & responseMax,
		unhealthy:  st.GetNodeHealthStatus() != nil && !st.GetNodeHealthStatus().GetIsNodeHealthy(),
		containers: len(st.GetContainersStatuses()), more: len(p.GetLogAggregationReportsForApps()) > 0,
		containerKey: p.GetLastKnownContainerTokenMasterKey().GetKeyId(), nmKey: p.GetLastKnownNmTokenMasterKey().GetKeyId(),
		use: Utilization{Containers: usage(st.GetContainersUtilization()), Node: usage(st.GetNodeUtilization()),
			Opportunistic: Opportunistic{Running: o.GetRunningOpportContainers(), MemoryMB: o.GetOpportMemoryUsed(),
				VCores: o.GetOpportCoresUsed(),
				Queued: o.GetQueuedOpportContainers(), WaitQueue: o.GetWaitQueueLength(),
				EstimatedWaitMillis: o.GetEstimatedQueueWaitTime(), QueueCapacity: o.GetOpportQueueCapacity()}},
	}
}

// sameBeat compares two results, except for the hash. NaN is equal to NaN.
func sameBeat(a, b beat) bool {
	host := bytes.Equal(a.host, b.host)
	a.host, b.host, a.hash, b.hash = nil, nil, 0, 0
	for _, u := range []*Usage{&a.use.Containers, &a.use.Node, &b.use.Containers, &b.use.Node} {
		if math.IsNaN(float64(u.CPU)) {
			u.CPU = -1
		}
	}
	x, y := a, b
	return host && x.port == y.port && x.response == y.response && x.unhealthy == y.unhealthy &&
		x.containers == y.containers &&
		x.more == y.more && x.containerKey == y.containerKey && x.nmKey == y.nmKey && x.use == y.use
}

func samples(tb testing.TB) [][]byte {
	n := newNM(tb, nil, "node1")
	out := [][]byte{n.bytes()}
	app := yarn.ApplicationID{ClusterTimestamp: 1700000000000, Seq: 3}
	n.running = []yarn.ContainerID{{App: app, Attempt: 1, Number: 2}, {App: app, Attempt: 1, Number: 3}}
	n.ended = []yarn.ContainerID{{App: app, Attempt: 1, Number: 4}}
	n.response, n.keys, n.healthy = 77, [2]int32{3, 4}, false
	n.change = func(p *proto.NodeHeartbeatRequestProto) {
		p.NodeLabels = &proto.NodeLabelsProto{}
		p.LogAggregationReportsForApps = []*proto.LogAggregationReportProto{{Diagnostics: new("x")}}
		p.NodeStatus.OpportunisticContainersStatus = &proto.OpportunisticContainersStatusProto{
			RunningOpportContainers: new(int32(1)),
			OpportMemoryUsed:        new(int64(2)), OpportCoresUsed: new(int32(3)), QueuedOpportContainers: new(int32(4)),
			WaitQueueLength:        new(int32(5)),
			EstimatedQueueWaitTime: new(int32(-6)), OpportQueueCapacity: new(int32(7))}
	}
	return append(out, n.bytes())
}

func TestScanAgreesWithTheGeneratedCode(t *testing.T) {
	for i, data := range samples(t) {
		var b beat
		var p proto.NodeHeartbeatRequestProto
		if err := gproto.Unmarshal(data, &p); err != nil {
			t.Fatal(err)
		}
		if err := b.scan(data); err != nil || !sameBeat(b, decoded(&p)) {
			t.Errorf("sample %d: scan finds %+v, %v; the generated code %+v", i, b, err, decoded(&p))
		}
		for cut := range data {
			var b beat
			_ = b.scan(data[:cut])
		}
	}
}

func TestHashTellsStatusesApart(t *testing.T) {
	app := yarn.ApplicationID{ClusterTimestamp: 1, Seq: 3}
	hash := func(ids ...yarn.ContainerID) uint64 {
		n := newNM(t, nil, "node1")
		n.running = ids
		var b beat
		if err := b.scan(n.bytes()); err != nil {
			t.Fatal(err)
		}
		return b.hash
	}
	one, two := yarn.ContainerID{App: app, Attempt: 1, Number: 1}, yarn.ContainerID{App: app, Attempt: 1, Number: 2}
	seen := map[uint64]bool{hash(): true, hash(one): true, hash(two): true, hash(one, two): true, hash(two, one): true,
		hash(one, one): true}
	if again := hash(one, two); len(seen) != 6 || !seen[again] {
		t.Fatalf("%d different hashes of six lists", len(seen))
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b beat
		scanned := b.scan(data)
		var p proto.NodeHeartbeatRequestProto
		if err := (gproto.UnmarshalOptions{AllowPartial: true}).Unmarshal(data, &p); err != nil || scanned != nil {
			return
		}
		if want := decoded(&p); !sameBeat(b, want) {
			t.Fatalf("scan finds %+v, the generated code %+v", b, want)
		}
	})
}

// FuzzHeartbeat sends any bytes as heartbeats to a service with a real planner. They must not
// affect another node.
func FuzzHeartbeat(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s, uint8(0))
		f.Add(s, uint8(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, mode uint8) {
		c := newCluster(t)
		s := newService(t, c)
		good, bad := newNM(t, s, "good"), newNM(t, s, "node1")
		good.register()
		_, ids := c.app(c.slot(good.id), 2)
		good.running = ids
		good.beat()
		if mode%2 == 1 {
			bad.register()
		}
		var b beat
		if b.scan(data) == nil && string(b.host) == "good" {
			return // it claims to be the other node, which cannot be detected
		}
		for range 3 {
			out, err := s.nodeHeartbeat(context.Background(), &ipc.Call{}, bytes.Clone(data))
			if err != nil {
				break
			}
			var p proto.NodeHeartbeatResponseProto
			if err := gproto.Unmarshal(out, &p); err != nil || p.NodeAction == nil {
				t.Fatalf("the answer is %v, %v", &p, err)
			}
		}
		if p := good.beat(); p.ContainersToCleanup != nil {
			t.Fatalf("another node's heartbeats end containers: %v", p)
		}
		c.must(&input.NodesHeard{Nodes: s.idle.take(10)})
		if got := c.node(good.id).Count; got != 2 {
			t.Fatalf("%d containers are left on a node that nobody spoke of", got)
		}
	})
}

func TestFieldsOfOtherTypes(t *testing.T) {
	var b []byte
	for num := protowire.Number(1); num <= 20; num++ {
		b = protowire.AppendTag(b, num, protowire.VarintType)
		b = protowire.AppendVarint(b, 5)
		b = protowire.AppendTag(b, num, protowire.Fixed32Type)
		b = protowire.AppendFixed32(b, 5)
		b = protowire.AppendTag(b, num, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, 5)
	}
	for _, data := range [][]byte{b, protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), b)} {
		var x beat
		if err := x.scan(data); err != errNoNode || x.more && len(data) > len(b) {
			t.Fatalf("scan says %v, %+v", err, x)
		}
	}
}
